"""TXN words -> operations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tilewright.txn.errors import TxnError
from tilewright.txn.opcodes import WORD_BYTES, Layout, opcode_name
from tilewright.txn.stream import Group, Header, Indices, Stream, Words, layouts_of

HEADER_WORDS = 4


def decode(data: bytes | bytearray | npt.ArrayLike) -> Stream:
    """Read a whole TXN stream; TxnError with the offset if it is not one, or a damaged one."""
    words = as_words(data)
    header, count = _header(words)
    layouts = layouts_of(header)
    starts = _operation_starts(words, layouts)
    if len(starts) != count:
        raise TxnError(8, f"the header announces {count} operations, the stream has {len(starts)}")
    opcodes = (words[starts] & 0xFF).astype(np.uint8)
    ends = np.append(starts[1:], len(words))
    groups: dict[int, Group] = {}
    for opcode in np.unique(opcodes).tolist():
        positions = np.flatnonzero(opcodes == opcode)
        groups[opcode] = _group(words, opcode, layouts[opcode], positions, starts[positions], ends[positions])
    return Stream(header, opcodes, groups)


def as_words(data: bytes | bytearray | npt.ArrayLike) -> Words:
    """Little-endian bytes or integers as 32-bit words."""
    if not isinstance(data, bytes | bytearray):
        return _integers(data)
    words = np.frombuffer(data, dtype="<u4", count=len(data) // WORD_BYTES)
    if len(data) % WORD_BYTES:
        if len(words) >= HEADER_WORDS:
            _header(words, len(data))
        raise TxnError(words.nbytes, f"{len(data)} bytes are not a whole number of 32-bit words")
    return words


def _integers(data: npt.ArrayLike) -> Words:
    values = np.asarray(data)
    if values.ndim != 1 or values.dtype.kind not in "ui":
        raise TxnError(0, f"a stream is bytes or a list of 32-bit words, not {values.ndim}-dimensional {values.dtype}")
    outside = np.flatnonzero((values < 0) | (values > 0xFFFFFFFF))
    if len(outside):
        raise TxnError(int(outside[0]) * WORD_BYTES, f"{values[outside[0]]} is no 32-bit word")
    return np.ascontiguousarray(values, dtype=np.uint32)


def _header(words: Words, size_bytes: int | None = None) -> tuple[Header, int]:
    """The header and the number of operations that it announces."""
    size_bytes = len(words) * WORD_BYTES if size_bytes is None else size_bytes
    if len(words) < HEADER_WORDS:
        raise TxnError(0, f"{size_bytes} bytes are too few for the 16-byte TXN header")
    first, second, count, size = words[:HEADER_WORDS].tolist()
    header = Header(first & 0xFF, first >> 8 & 0xFF, first >> 16 & 0xFF, first >> 24, second & 0xFF, second >> 8 & 0xFF,
                    second >> 16)  # fmt: skip
    layouts_of(header)
    if size != size_bytes:
        raise TxnError(12, f"the header's size word says {size} bytes, the stream has {size_bytes}")
    return header, count


def _operation_starts(words: Words, layouts: Mapping[int, Layout]) -> Indices:
    """Word offset of each operation: the one walk that has to go operation by operation."""
    size_word = [-1] * 256
    fixed = [0] * 256
    for opcode, layout in layouts.items():
        size_word[opcode] = 0 if layout.size_word is None else layout.size_word
        fixed[opcode] = layout.fixed_words
    view, end = words.data, len(words)
    starts: list[int] = []
    add = starts.append
    at = HEADER_WORDS
    try:
        while at < end:
            add(at)
            opcode = view[at] & 0xFF
            where = size_word[opcode]
            if where > 0:
                size = view[at + where]
                if size & 3 or size >> 2 < fixed[opcode]:
                    raise _bad_size(at, opcode, where, size, fixed[opcode])
                at += size >> 2
            elif where == 0:
                at += fixed[opcode]
            else:
                raise TxnError(at * WORD_BYTES, f"opcode {opcode} ({opcode_name(opcode)}) has no known layout")
    except IndexError:
        raise _truncated(starts[-1], int(view[starts[-1]]) & 0xFF, end) from None
    if at != end:
        raise _truncated(starts[-1], int(view[starts[-1]]) & 0xFF, end)
    return np.array(starts, dtype=np.int64)


def _bad_size(at: int, opcode: int, where: int, size: int, fixed_words: int) -> TxnError:
    least = fixed_words * WORD_BYTES
    return TxnError(
        (at + where) * WORD_BYTES, f"size {size} of {opcode_name(opcode)} must be a multiple of 4, at least {least}"
    )


def _truncated(at: int, opcode: int, end: int) -> TxnError:
    return TxnError(
        at * WORD_BYTES, f"{opcode_name(opcode)} runs past the end of the stream at byte {end * WORD_BYTES}"
    )


def _group(words: Words, opcode: int, layout: Layout, positions: Indices, starts: Indices, ends: Indices) -> Group:
    columns: dict[int, Words] = {}
    fields: dict[str, Words] = {}
    for name, bits in layout.fields.items():
        if bits.word not in columns:
            columns[bits.word] = words[starts + bits.word]
        column = columns[bits.word]
        if bits.hi < 31:
            column = column & np.uint32(bits.mask)
        fields[name] = column >> np.uint32(bits.lo) if bits.lo else column
    payload_begin = starts + layout.fixed_words
    lengths = ends - payload_begin
    payload_starts = np.concatenate(([0], np.cumsum(lengths)))
    return Group(layout, positions, fields, words[spread(payload_begin, lengths, payload_starts)], payload_starts)


def spread(begins: Indices, lengths: Indices, offsets: Indices) -> Indices:
    """For each i the indices begins[i] .. begins[i] + lengths[i], in one array; offsets is the lengths' running sum."""
    return np.repeat(begins - offsets[:-1], lengths) + np.arange(int(offsets[-1]), dtype=np.int64)
