"""What the C++ code that makes TXN words looks like where there is a choice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tilewright.ir.symbols import FreeNames


class StyleName(StrEnum):
    """The styles by the name that the option of the pass has for them."""

    UPSTREAM = "upstream"
    DRAFT = "draft"
    READABLE = "readable"


# g++ -Wextra finds upstream's way to return the stream redundant.
_PRAGMAS = (
    ("#pragma GCC diagnostic push", '#pragma GCC diagnostic ignored "-Wredundant-move"'),
    ("#pragma GCC diagnostic pop",),
)


@dataclass(frozen=True)
class Style:
    """How functions are named and divided, how operations are counted, how values reach the header's functions."""

    function: str = "generate_txn_{device}_{sequence}"
    counter: str = "__opcount"
    increment: str = "++{};"
    always_count: bool = False
    """Count at run time even where the number of operations is known."""
    returned: str = "std::move(txn)"
    pragmas: tuple[Sequence[str], Sequence[str]] = _PRAGMAS
    """Lines before and after all functions."""
    cast_words: bool = False
    """Cast what goes into a word to `uint32_t` rather than leave that to the call."""
    any_address: bool = False
    """Take a register address that is an argument of the sequence, as the native generator does."""
    readable: bool = False
    """For people: known outcomes left out, comments, and a function of its own that appends the operations.

    Such a function is run twice, to count and to write, so that the stream is allocated once.
    """

    @property
    def refuse(self) -> str:
        """The statement that gives up."""
        return "return false;" if self.readable else "return std::nullopt;"

    def function_name(self, device: str, sequence: str) -> str:
        parts = re.split(r"(\{device\}|\{sequence\})", self.function)
        known = {"{device}": device, "{sequence}": sequence}
        return re.sub(r"\W", "_", "".join(known.get(part, part) for part in parts), flags=re.ASCII)

    def function_names(self, sequences: Iterable[tuple[str, str]]) -> list[str]:
        """Names for all functions of a program, from devices and sequences: each a different one."""
        names = FreeNames(set())
        return [names.like(self.function_name(device, sequence)) for device, sequence in sequences]


STYLES = {
    StyleName.UPSTREAM: Style(),
    StyleName.DRAFT: Style(
        function="generate_txn_{sequence}",
        counter="op_count",
        increment="{}++;",
        always_count=True,
        returned="txn",
        pragmas=((), ()),
        cast_words=True,
        any_address=True,
    ),
    StyleName.READABLE: Style(pragmas=((), ()), cast_words=True, any_address=True, readable=True),
}
