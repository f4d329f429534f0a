"""TXN streams for property tests: operations of any opcode, with anything in their fields."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from tilewright import txn
from tilewright.txn.opcodes import LAYOUTS, Opcode

WORD = st.integers(0, 2**32 - 1)
PADDING = re.compile(r"op_\w+|pad\d?|\w+_pad|action")
"""Names of fields that compilers leave at 0, as they do the upper halves of addresses."""


def is_left(name: str) -> bool:
    return PADDING.fullmatch(name) is not None or name.endswith("_high")


@st.composite
def operations(draw: st.DrawFn, version: tuple[int, int] = (0, 1)) -> txn.Operation:
    """An operation: as a compiler writes it, or with something in every bit that the format has."""
    layouts = LAYOUTS[version]
    opcode = draw(st.sampled_from([it for it in Opcode if it in layouts]) | st.sampled_from(sorted(layouts)))
    layout, is_plain = layouts[opcode], draw(st.booleans())
    fields = {
        name: 0 if is_plain and is_left(name) else draw(st.integers(0, bits.limits[-1]))
        for name, bits in layout.fields.items()
    }
    least, most = layout.default_payload_words, 9 if layout.size_word is not None else 0
    if is_plain and opcode != Opcode.BLOCKWRITE:
        return txn.Operation(opcode, [0] * least, **fields)
    return txn.Operation(opcode, draw(st.lists(WORD, min_size=least, max_size=most)), **fields)


@st.composite
def streams(draw: st.DrawFn) -> Any:
    """The words of a stream of either version, for a device that there is or one with other columns."""
    version = draw(st.sampled_from(sorted(LAYOUTS)))
    generation, columns = draw(st.sampled_from([(3, 1), (3, 4), (4, 2), (4, 8), (4, 5)]))
    header = txn.Header(*version, generation, columns=columns)
    return txn.encode(txn.Stream.of(header, draw(st.lists(operations(version), max_size=6))))
