"""TXN words <-> operations."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tilewright.device.layout import WORD_BITS, WORD_BYTES, Field
from tilewright.txn.opcodes import LONG_PATCH_LAYOUTS, Opcode, OperationLayout, opcode_name, unread_bits
from tilewright.txn.stream import HEADER_WORDS, Header, Indices, OpcodeGroup, Stream, TxnError, Words, layouts_of

if TYPE_CHECKING:
    from tilewright.txn import columns as native_columns

NATIVE_WORDS = 1 << 20
"""Streams of so many words are worth the fifth of a second that native code takes to be there."""
NATIVE_WORDS_WARM = 1 << 12
"""The same where something else has loaded the compiler already."""


def decode(data: bytes | bytearray | npt.ArrayLike) -> Stream:
    """Read a whole TXN stream from `data`, bytes or words; `TxnError` with the offset if it is none, or damaged."""
    words = as_words(data)
    header, count = _header(words)
    return _told_by_size(words, read_operations(words, header, count))


def read_operations(words: Words, header: Header, count: int) -> Stream:
    """The stream of so many operations in `words`, behind room for the `header`; `TxnError` if they are not there."""
    layouts = layouts_of(header)
    native = _native(len(words))
    if native and (found := native.split(words, count, layouts)):
        opcodes, parts = found
        return Stream(header, opcodes, {opcode: _group_of(part) for opcode, part in parts.items()})
    starts = _operation_starts(words, layouts)
    if len(starts) != count:
        raise TxnError(8, f"the header announces {count} operations, the stream has {len(starts)}")
    opcodes = (words[starts] & 0xFF).astype(np.uint8)
    ends = np.append(starts[1:], len(words))
    groups: dict[int, OpcodeGroup] = {}
    for opcode in np.unique(opcodes).tolist():
        positions = np.flatnonzero(opcodes == opcode)
        groups[opcode] = _group(words, layouts[opcode], positions, starts[positions], ends[positions])
    return Stream(header, opcodes, groups)


def _told_by_size(words: Words, stream: Stream) -> Stream:
    """The stream with its address patches read by the longer of two layouts, where they have the words for it."""
    header, patches = stream.header, stream.groups.get(Opcode.DDR_PATCH)
    long = LONG_PATCH_LAYOUTS[header.version][Opcode.DDR_PATCH]
    if patches is None or patches.layout is long:
        return stream
    is_long = np.diff(patches.payload_starts) >= long.fixed_words - patches.layout.fixed_words
    if not is_long.any():
        return stream
    starts, end = lay_out(stream)
    starts, ends = starts[patches.positions], np.append(starts[1:], end)[patches.positions]
    if not is_long.all():
        other = int(starts[np.flatnonzero(is_long != is_long[0])[0]]) * WORD_BYTES
        raise TxnError(other, "an address patch of another form than those before: a stream has short or long ones")
    group = _group(words, long, patches.positions, starts, ends)
    return Stream(replace(header, long_patches=1), stream.opcodes, stream.groups | {Opcode.DDR_PATCH: group})


def _native(words: int, least: int = NATIVE_WORDS) -> ModuleType | None:
    """The native functions, where they are to be had and a stream is long enough for them."""
    if words < (NATIVE_WORDS_WARM if "llvmlite.binding" in sys.modules else least):
        return None
    return _columns()


def has_native(words: int, least: int) -> bool:
    """Whether native code is to be had, and worth its while for so many words; cold from `least` on."""
    return _native(words, least) is not None


@cache
def _columns() -> ModuleType | None:
    try:
        from tilewright.txn import columns
    except ImportError:  # a platform without LLVM
        return None
    return columns


def _group_of(found: native_columns.OpcodeWords) -> OpcodeGroup:
    fields = {name: _bits(found.heads[bits.word], bits) for name, bits in found.layout.fields.items()}
    return OpcodeGroup(found.layout, found.positions, fields, found.payload, found.payload_starts)


def _bits(column: Words, bits: Field) -> Words:
    if bits.hi < 31:
        column = column & np.uint32(bits.mask)
    return column >> np.uint32(bits.lo) if bits.lo else column


def as_words(data: bytes | bytearray | npt.ArrayLike) -> Words:
    """Little-endian bytes or integers as 32-bit words."""
    # Of any item size: only its bytes count.
    if isinstance(data, memoryview):
        data = data.tobytes()
    if not isinstance(data, bytes | bytearray):
        return _integers(data)
    words = np.frombuffer(data, dtype="<u4", count=len(data) // WORD_BYTES)
    if len(data) % WORD_BYTES:
        if len(words) >= HEADER_WORDS:
            _header(words, len(data))  # a size word that is wrong says more than a part of a word
        raise TxnError(words.nbytes, f"{len(data)} bytes are not a whole number of 32-bit words")
    return words


def _integers(data: npt.ArrayLike) -> Words:
    try:
        values = np.asarray(data)
    except ValueError:  # lists of lists of several lengths
        raise TxnError(0, "a stream is bytes or a list of 32-bit words") from None
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
    # Before the size word: in another version that word may mean something else.
    layouts_of(header)
    if size != size_bytes:
        raise TxnError(12, f"the header's size word says {size} bytes, the stream has {size_bytes}")
    return header, count


def _operation_starts(words: Words, layouts: Mapping[int, OperationLayout]) -> Indices:
    """Word offset of each operation: the one walk that has to go operation by operation."""
    size_word, fixed = _lengths(layouts)
    # bytes and a buffer: an element of a NumPy array costs several times as much to read
    opcodes, view, end = words.astype(np.uint8).tobytes(), words.data, len(words)
    starts: list[int] = []
    add = starts.append  # looked up once: streams have hundreds of thousands of operations
    at, step = HEADER_WORDS, 1
    try:
        while at < end and step:  # an operation of no words would go on for ever
            add(at)
            opcode = opcodes[at]
            where = size_word[opcode]
            step = view[at + where] >> 2 if where else fixed[opcode]
            at += step
    except IndexError:  # the size word itself is behind the end
        at = end + 1
    found = np.array(starts, dtype=np.int64)
    _check_operations(words, layouts, found)
    if at != end:
        raise _truncated(starts[-1], opcodes[starts[-1]], end)
    return found


def _lengths(layouts: Mapping[int, OperationLayout]) -> tuple[list[int], list[int]]:
    """By opcode: which word gives the size (0: none does), and the words of an operation that has no such word."""
    size_word, fixed = [0] * 256, [0] * 256
    for opcode, layout in layouts.items():
        size_word[opcode] = layout.size_word or 0
        fixed[opcode] = layout.fixed_words
    return size_word, fixed


def _check_operations(words: Words, layouts: Mapping[int, OperationLayout], starts: Indices) -> None:
    """Raise for the first operation whose opcode is unknown or whose size is impossible."""
    opcodes = words[starts] & 0xFF
    faults: list[TxnError] = []
    for opcode in np.unique(opcodes).tolist():
        at = starts[opcodes == opcode]
        layout = layouts.get(opcode)
        if layout is None:
            name = opcode_name(opcode)
            faults.append(TxnError(int(at[0]) * WORD_BYTES, f"opcode {opcode} ({name}) has no known layout"))
            continue
        if layout.size_word is None:
            continue
        at = at[at + layout.size_word < len(words)] + layout.size_word
        sizes = words[at]
        wrong = np.flatnonzero((sizes & 3 != 0) | (sizes >> 2 < layout.fixed_words))
        if len(wrong):
            size, least = sizes[wrong[0]], layout.fixed_words * WORD_BYTES
            text = f"size {size} of {opcode_name(opcode)} must be a multiple of 4, at least {least}"
            faults.append(TxnError(int(at[wrong[0]]) * WORD_BYTES, text))
    if faults:
        raise min(faults, key=lambda fault: fault.offset or 0)  # opcode by opcode is not the order of the stream


def _truncated(at: int, opcode: int, end: int) -> TxnError:
    return TxnError(
        at * WORD_BYTES, f"{opcode_name(opcode)} runs past the end of the stream at byte {end * WORD_BYTES}"
    )


def _group(words: Words, layout: OperationLayout, positions: Indices, starts: Indices, ends: Indices) -> OpcodeGroup:
    columns: dict[int, Words] = {}
    fields: dict[str, Words] = {}
    for name, bits in layout.fields.items():
        if bits.word not in columns:
            columns[bits.word] = words[starts + bits.word]
        fields[name] = _bits(columns[bits.word], bits)
    payload_begin = starts + layout.fixed_words
    lengths = ends - payload_begin
    payload_starts = np.concatenate(([0], np.cumsum(lengths)))
    return OpcodeGroup(layout, positions, fields, words[spread(payload_begin, lengths, payload_starts)], payload_starts)


def spread(begins: Indices, lengths: Indices, offsets: Indices) -> Indices:
    """For each i the indices begins[i] .. begins[i] + lengths[i], in one array; offsets is the lengths' running sum."""
    return np.repeat(begins - offsets[:-1], lengths) + np.arange(int(offsets[-1]), dtype=np.int64)


def encode(stream: Stream) -> Words:
    """The words of a `stream`, header included. Sizes and counts are computed, everything else is fields."""
    end = HEADER_WORDS + sum(
        group.layout.fixed_words * len(group.positions) + len(group.payload) for group in stream.groups.values()
    )
    words = _joined(stream, end)
    if words is None:
        starts, end = lay_out(stream)
        words = np.zeros(end, dtype=np.uint32)
        for opcode, group in stream.groups.items():
            _scatter(words, starts[group.positions], opcode, group)
    words[:HEADER_WORDS] = header_words(stream.header, len(stream.opcodes), end * WORD_BYTES)
    return words


def _joined(stream: Stream, end: int) -> Words | None:
    """The words from native code; None where that is not to be had, or something is wrong with the columns."""
    native = _native(end)
    if native is None:
        return None
    try:
        parts = {opcode: _words_of(native, opcode, group) for opcode, group in stream.groups.items()}
    except ValueError:  # columns of several lengths, which NumPy refuses below
        return None
    return native.join(end, np.ascontiguousarray(stream.opcodes, dtype=np.uint8), parts)


def _words_of(native: ModuleType, opcode: int, group: OpcodeGroup) -> native_columns.OpcodeWords:
    layout, count = group.layout, len(group.positions)
    if len(group.payload_starts) != count + 1:
        raise ValueError("a payload for each operation")
    heads = np.zeros((layout.fixed_words, count), dtype=np.uint32)
    heads[0] = opcode
    for name, bits in layout.fields.items():
        column = group.fields[name]
        if column.shape != (count,) or column.dtype != np.uint32:
            raise ValueError("a word for each operation")
        if bits.width == WORD_BITS:
            heads[bits.word] = column
        else:
            heads[bits.word] |= column << np.uint32(bits.lo)
    positions, starts = (np.ascontiguousarray(them, dtype=np.int64) for them in (group.positions, group.payload_starts))
    payload = np.ascontiguousarray(group.payload, dtype=np.uint32)
    return native.OpcodeWords(layout, positions, heads, payload, starts)


def _scatter(words: Words, at: Indices, opcode: int, group: OpcodeGroup) -> None:
    columns: dict[int, Words] = {0: np.full(len(at), opcode, dtype=np.uint32)}
    for name, bits in group.layout.fields.items():
        column = group.fields[name] << np.uint32(bits.lo)
        columns[bits.word] = columns[bits.word] | column if bits.word in columns else column
    lengths = np.diff(group.payload_starts)
    if group.layout.size_word is not None:
        columns[group.layout.size_word] = ((lengths + group.layout.fixed_words) * WORD_BYTES).astype(np.uint32)
    for index, column in columns.items():
        words[at + index] = column
    if len(group.payload):
        words[spread(at + group.layout.fixed_words, lengths, group.payload_starts)] = group.payload


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


def without_unread(words: Words) -> Words:
    """The words of a stream with 0 in all bits that nothing reads."""
    return words & ~unread_mask(decode(words))


def unread_mask(stream: Stream) -> Words:
    """The bits of a stream's words that nothing reads."""
    starts, end = lay_out(stream)
    masks = np.zeros(end, dtype=np.uint32)
    known = dict[tuple[int, int], list[int]]()
    for opcode, (start, stop) in zip(stream.opcodes.tolist(), pairwise([*starts.tolist(), end]), strict=True):
        key = opcode, stop - start
        if key not in known:
            known[key] = unread_bits(opcode, stream.groups[opcode].layout, stop - start)
        masks[start:stop] = known[key]
    return masks
