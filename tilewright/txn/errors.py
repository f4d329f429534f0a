"""What is wrong with a TXN stream."""

from __future__ import annotations

from tilewright.errors import Error


class TxnError(Error, ValueError):
    """A stream that is no TXN stream, or a damaged one; `offset` is the byte at which that shows, if it has one."""

    def __init__(self, offset: int | None, reason: str, file: str | None = None):
        self.offset, self.reason, self.file = offset, reason, file
        super().__init__(f"{_place(file, offset)}{reason}")

    def with_file(self, file: str) -> TxnError:
        return TxnError(self.offset, self.reason, file)


def _place(file: str | None, offset: int | None) -> str:
    parts = [file] if file else []
    if offset is not None:
        parts.append(f"at byte {offset} ({offset:#x})")
    return ": ".join(parts) + ": " if parts else ""
