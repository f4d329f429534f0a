"""Bits of operations that nothing reads: tools leave in them what lay in memory before."""

from __future__ import annotations

import numpy as np

from tilewright.device.layout import WORD_MASK
from tilewright.txn.opcodes import Opcode, OperationLayout
from tilewright.txn.stream import Stream, Words

_FIELDS = ("op_column", "op_row", "op_pad", "pad", "pad2", "pad3", "pad4", "action", "tile_pad", "count_pad")
_OF_OPCODE: dict[int, tuple[str, ...]] = {Opcode.BLOCKWRITE: ("column", "row")}
_PADDED = (Opcode.WRITE, Opcode.MASKWRITE, Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY, Opcode.DDR_PATCH)
"""Operations whose payload is padding."""


def unused_bits(opcode: int, layout: OperationLayout, length: int) -> Words:
    """Which bits of an operation of so many words nothing reads."""
    masks = np.zeros(length, dtype=np.uint32)
    for name, bits in layout.fields.items():
        if name in _FIELDS or name in _OF_OPCODE.get(opcode, ()):
            masks[bits.word] |= np.uint32(bits.mask)
    if opcode in _PADDED:
        masks[layout.fixed_words :] = WORD_MASK
    return masks


def unused_mask(stream: Stream, starts: list[int], length: int) -> Words:
    """The same for a whole stream, whose operations start at these words."""
    masks = np.zeros(length, dtype=np.uint32)
    known = dict[tuple[int, int], Words]()
    ends = [*starts[1:], length]
    for opcode, start, end in zip(stream.opcodes.tolist(), starts, ends, strict=True):
        key = opcode, end - start
        if key not in known:
            known[key] = unused_bits(opcode, stream.groups[opcode].layout, end - start)
        masks[start:end] = known[key]
    return masks
