"""TXN streams for property tests: operations of any opcode, with anything in their fields."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tilewright import txn
from tilewright.txn.opcodes import LAYOUTS, Opcode
from tilewright.txn.stream import layouts_of

FORMATS = [*(txn.Header(*version) for version in LAYOUTS), txn.Header(1, 0, long_patches=1)]
"""A header for each way in which operations lie in a stream."""
MOST_PAYLOAD = 9
WORD = st.integers(0, 2**32 - 1)
PADDING = re.compile(r"op_\w+|pad\d?|\w+_pad")
"""Names of fields that compilers leave at 0, as they do the upper halves of addresses."""


def is_left(name: str) -> bool:
    return PADDING.fullmatch(name) is not None or name.endswith("_high")


@st.composite
def operations(draw: st.DrawFn, header: txn.Header = FORMATS[0]) -> txn.Operation:
    """An operation: as a compiler writes it, or with something in every bit that the format has."""
    layouts = layouts_of(header)
    opcode = draw(st.sampled_from([it for it in Opcode if it in layouts]) | st.sampled_from(sorted(layouts)))
    layout, is_plain = layouts[opcode], draw(st.booleans())
    fields = {
        name: 0 if is_plain and is_left(name) else draw(st.integers(0, bits.limits[-1]))
        for name, bits in layout.fields.items()
    }
    # one word more, and a short address patch is a long one
    longest = MOST_PAYLOAD if opcode != Opcode.DDR_PATCH else 5
    least, most = layout.default_payload_words, longest if layout.size_word is not None else 0
    if is_plain and opcode != Opcode.BLOCKWRITE:
        return txn.Operation(opcode, [0] * least, **fields)
    return txn.Operation(opcode, draw(st.lists(WORD, min_size=least, max_size=most)), **fields)


@st.composite
def streams(draw: st.DrawFn) -> Any:
    """The words of a stream of any format, for a device that there is or one with other columns."""
    format = draw(st.sampled_from(FORMATS))
    generation, columns = draw(st.sampled_from([(3, 1), (3, 4), (4, 2), (4, 8), (4, 5)]))
    header = replace(format, device_generation=generation, columns=columns)
    return txn.encode(txn.Stream.of(header, draw(st.lists(operations(header), max_size=6))))
