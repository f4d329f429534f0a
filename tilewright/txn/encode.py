"""Operations -> TXN words."""

from __future__ import annotations

import numpy as np

from tilewright.txn.decode import HEADER_WORDS, spread
from tilewright.txn.opcodes import WORD_BYTES
from tilewright.txn.stream import Header, Indices, Stream, Words


def encode(stream: Stream) -> Words:
    """The words of a `stream`, header included. Sizes and counts are computed, everything else is fields."""
    starts, end = lay_out(stream)
    words = np.zeros(end, dtype=np.uint32)
    for opcode, group in stream.groups.items():
        at = starts[group.positions]
        columns: dict[int, Words] = {0: np.full(len(at), opcode, dtype=np.uint32)}
        for name, bits in group.layout.fields.items():
            column = group.fields[name]
            if bits.lo:
                column = column << np.uint32(bits.lo)
            columns[bits.word] = columns[bits.word] | column if bits.word in columns else column
        lengths = np.diff(group.payload_starts)
        if group.layout.size_word is not None:
            columns[group.layout.size_word] = ((lengths + group.layout.fixed_words) * WORD_BYTES).astype(np.uint32)
        for index, column in columns.items():
            words[at + index] = column
        if len(group.payload):
            words[spread(at + group.layout.fixed_words, lengths, group.payload_starts)] = group.payload
    words[:HEADER_WORDS] = header_words(stream.header, len(stream.opcodes), end * WORD_BYTES)
    return words


def header_words(header: Header, operations: int, size_bytes: int) -> list[int]:
    first = header.rows << 24 | header.device_generation << 16 | header.minor << 8 | header.major
    return [first, header.pad << 16 | header.mem_tile_rows << 8 | header.columns, operations, size_bytes]


def lay_out(stream: Stream) -> tuple[Indices, int]:
    """Word offset of each operation, and the end of the stream."""
    lengths = np.zeros(len(stream.opcodes), dtype=np.int64)
    for group in stream.groups.values():
        lengths[group.positions] = np.diff(group.payload_starts) + group.layout.fixed_words
    ends = np.cumsum(lengths) + HEADER_WORDS
    return ends - lengths, int(ends[-1]) if len(ends) else HEADER_WORDS
