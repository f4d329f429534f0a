"""Journal of a sweep: a line for each row as soon as it is known, so that a sweep that ended early can go on.

Lines are only ever added, each with a checksum, and are on the disk before a row counts. What a crash leaves of a last
line is cut off; a line that was damaged later is left out, and its point is computed again.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from tilewright.errors import ArgumentError, InUseError
from tilewright.sweeps.rows import Status, SweepRow

FORMAT = 1


class Journal:
    """The journal of one sweep, open for adding rows; no other process can have it open."""

    def __init__(self, path: Path, definition: str, describe: Mapping[str, Any], fresh: bool = False):
        """Open or begin a journal.

        Args:
            path: the file
            definition: digest of everything that rows depend on beside the values of parameters
            describe: what the sweep is, for people who read the file
            fresh: begin anew, whatever is there
        """
        self.path, self.rows = path, dict[str, SweepRow]()
        self.damaged = 0
        """Lines that could not be read."""
        self._file: BinaryIO = open(path, "a+b", buffering=0)  # noqa: SIM115, until `close`
        try:
            _lock(self._file, path)
            if fresh:
                self._file.truncate(0)
            self._read(definition)
            if not self._file.tell():
                self._add({"format": FORMAT, "definition": definition, **describe})
        except BaseException:
            self._file.close()
            raise

    def _read(self, definition: str) -> None:
        self._file.seek(0)
        data, end = self._file.read(), 0
        for number, line in enumerate(data.splitlines(keepends=True)):
            found = _checked(line)
            if not line.endswith(b"\n") or (found is None and end + len(line) == len(data)):
                break  # the last line, of which a crash left a part
            end += len(line)
            if number == 0:
                self._check_head(found, definition)
            elif found is None or (row := _row(found)) is None:
                self.damaged += 1
            else:
                self.rows[_key(row)] = row
        self._file.truncate(end)  # what is added next begins a line
        self._file.seek(end)

    def _check_head(self, head: Mapping[str, Any] | None, definition: str) -> None:
        if head is None or head.get("format") != FORMAT:
            raise ArgumentError(f"{self.path} is no journal of a sweep; name another folder")
        if head.get("definition") != definition:
            raise ArgumentError(
                f"{self.path} is of another sweep, or of a design, options or a tilewright that have changed since: "
                "begin anew with --fresh, or name another folder with --out"
            )

    def add(self, row: SweepRow) -> None:
        """Keep a row; it is on the disk when this returns."""
        self.rows[_key(row)] = row
        if row.status is not Status.LOST:  # another time there may be enough memory for it
            self._add({**row.to_json(), "seconds": round(row.seconds, 4)})

    def _add(self, found: Mapping[str, Any]) -> None:
        text = json.dumps(found, separators=(",", ":")).encode()
        self._file.write(b"%08x %b\n" % (zlib.crc32(text), text))
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _key(row: SweepRow) -> str:
    return json.dumps(row.values, sort_keys=True)


def _checked(line: bytes) -> Mapping[str, Any] | None:
    """What a line says; None if it is damaged."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        found: Any = json.loads(text)
    except ValueError:
        return None
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else None


def _row(found: Mapping[str, Any]) -> SweepRow | None:
    try:
        return SweepRow.of_json(found)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InUseError(f"{path} is in use by another sweep; wait for it, or name another folder") from error
