"""Long streams between words and columns in native code: the same as `codec` does with NumPy, some ten times as fast.

A walk over a stream has to go operation by operation, as each says where the next begins; and NumPy touches every word
several times. These functions touch each once. They take only what is whole: anything else is left to `codec`, which
says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.device.layout import WORD_BYTES
from tilewright.native.compiled_python import CompiledFunctions, load8, load32, load64, store8, store32, store64
from tilewright.native.shared_state import NUMBER_BYTES, Column, Number, SharedState
from tilewright.txn.opcodes import OperationLayout
from tilewright.txn.stream import HEADER_WORDS, Indices, Words

Opcodes = npt.NDArray[np.uint8]
OPCODES = 256
BROKEN = -1


class StreamState(SharedState):
    """One stream and its columns; the columns of the state itself have a number for each opcode."""

    words: Number
    """Address of the stream, its header first."""
    end: Number
    """Words of the stream."""
    count: Number
    """Operations that it has."""
    opcodes: Number
    """Address of a byte for each operation."""
    size_word: Column
    fixed: Column
    """Words before the payload; 0 where there is no such operation."""
    operations: Column
    payload_words: Column
    rows: Column
    """Operations dealt with so far."""
    heads: Column
    """Address of the words before the payloads: all first words, then all second ones, and so on."""
    payloads: Column
    """Address of the payloads, one after the other."""
    payload_starts: Column
    """Address of where each payload begins among them, with one more at the end."""
    positions: Column
    """Address of the numbers that these operations have in the stream."""


functions = CompiledFunctions(StreamState)


@functions
def operation_words(state: StreamState, at: int) -> int:
    """How long the operation at a word is; 0 if it is not whole."""
    opcode = load32(state.words + WORD_BYTES * at) & 255
    fixed = state.fixed[opcode]
    where = state.size_word[opcode]
    if fixed == 0 or at + fixed > state.end:
        return 0
    if where == 0:
        return fixed
    size = load32(state.words + WORD_BYTES * (at + where))
    if size & 3 or size < WORD_BYTES * fixed or WORD_BYTES * (state.end - at) < size:
        return 0
    return size // WORD_BYTES


@functions.entry
def count_operations(state: StreamState) -> int:
    """Count them by opcode, and the words of their payloads; BROKEN if they are not as many as announced or whole."""
    at = HEADER_WORDS
    number = 0
    while at < state.end:
        length = operation_words(state, at)
        if length == 0 or number == state.count:
            return BROKEN
        opcode = load32(state.words + WORD_BYTES * at) & 255
        store8(state.opcodes + number, opcode)
        state.operations[opcode] += 1
        state.payload_words[opcode] += length - state.fixed[opcode]
        at += length
        number += 1
    return 0 if number == state.count else BROKEN


@functions
def copy_words(state: StreamState, source: int, target: int, count: int) -> None:
    for word in range(count):
        store32(target + WORD_BYTES * word, load32(source + WORD_BYTES * word))


@functions.entry
def take_apart(state: StreamState) -> int:
    """Fill columns and payloads from words that were counted before."""
    place = HEADER_WORDS
    for number in range(state.count):
        opcode = load8(state.opcodes + number)
        fixed = state.fixed[opcode]
        length = operation_words(state, place) - fixed
        row = state.rows[opcode]
        at = state.words + WORD_BYTES * place
        head = state.heads[opcode] + WORD_BYTES * row
        stride = WORD_BYTES * state.operations[opcode]
        for word in range(fixed):
            store32(head, load32(at + WORD_BYTES * word))
            head += stride
        store64(state.positions[opcode] + NUMBER_BYTES * row, number)
        starts = state.payload_starts[opcode] + NUMBER_BYTES * row
        begin = load64(starts)
        store64(starts + NUMBER_BYTES, begin + length)
        copy_words(state, at + WORD_BYTES * fixed, state.payloads[opcode] + WORD_BYTES * begin, length)
        state.rows[opcode] = row + 1
        place += fixed + length
    return 0


@functions.entry
def put_together(state: StreamState) -> int:
    """Fill the words from columns and payloads; BROKEN if these do not fit each other."""
    place = HEADER_WORDS
    for number in range(state.count):
        opcode = load8(state.opcodes + number)
        fixed = state.fixed[opcode]
        row = state.rows[opcode]
        if row >= state.operations[opcode] or load64(state.positions[opcode] + NUMBER_BYTES * row) != number:
            return BROKEN
        begin = load64(state.payload_starts[opcode] + NUMBER_BYTES * row)
        length = load64(state.payload_starts[opcode] + NUMBER_BYTES * (row + 1)) - begin
        if begin < 0 or length < 0 or begin + length > state.payload_words[opcode]:
            return BROKEN
        if place + fixed + length > state.end:
            return BROKEN
        at = state.words + WORD_BYTES * place
        head = state.heads[opcode] + WORD_BYTES * row
        stride = WORD_BYTES * state.operations[opcode]
        for word in range(fixed):
            store32(at + WORD_BYTES * word, load32(head))
            head += stride
        if state.size_word[opcode]:
            store32(at + WORD_BYTES * state.size_word[opcode], WORD_BYTES * (fixed + length))
        copy_words(state, state.payloads[opcode] + WORD_BYTES * begin, at + WORD_BYTES * fixed, length)
        state.rows[opcode] = row + 1
        place += fixed + length
    return 0 if place == state.end else BROKEN


@dataclass
class OpcodeWords:
    """The words of all operations of one opcode."""

    layout: OperationLayout
    positions: Indices
    heads: Words
    """Row by row the first words of all, the second ones, and so on up to the payload."""
    payload: Words
    payload_starts: Indices


def split(
    words: Words, count: int, layouts: Mapping[int, OperationLayout]
) -> tuple[Opcodes, dict[int, OpcodeWords]] | None:
    """The opcodes of a stream and the words of each; None if something is wrong with it."""
    # Each has a word at least: a header that announces more must not ask for memory.
    if count > len(words):
        return None
    state = _state(layouts)
    opcodes = np.empty(count, dtype=np.uint8)
    state.words, state.end, state.count, state.opcodes = words.ctypes.data, len(words), count, opcodes.ctypes.data
    if functions[count_operations](state.address) == BROKEN:
        return None
    groups: dict[int, OpcodeWords] = {}
    found: list[int] = np.flatnonzero(state.array("operations")).tolist()
    for opcode in found:
        operations, layout = state.operations[opcode], layouts[opcode]
        groups[opcode] = OpcodeWords(
            layout,
            np.empty(operations, dtype=np.int64),
            np.empty((layout.fixed_words, operations), dtype=np.uint32),
            np.empty(state.payload_words[opcode], dtype=np.uint32),
            np.zeros(operations + 1, dtype=np.int64),
        )
        _place(state, opcode, groups[opcode])
    functions[take_apart](state.address)
    return opcodes, groups


def join(end: int, opcodes: Opcodes, groups: Mapping[int, OpcodeWords]) -> Words | None:
    """A stream of so many words, room for its header first; None if its parts do not fit each other."""
    state = _state({opcode: group.layout for opcode, group in groups.items()})
    words = np.empty(end, dtype=np.uint32)
    state.words, state.end, state.count, state.opcodes = words.ctypes.data, end, len(opcodes), opcodes.ctypes.data
    for opcode, group in groups.items():
        state.operations[opcode], state.payload_words[opcode] = len(group.positions), len(group.payload)
        _place(state, opcode, group)
    return None if functions[put_together](state.address) == BROKEN else words


def _state(layouts: Mapping[int, OperationLayout]) -> StreamState:
    state = StreamState(**dict.fromkeys(StreamState.columns(), OPCODES))
    fill_layouts(state, layouts)
    return state


def fill_layouts(state: StreamState, layouts: Mapping[int, OperationLayout]) -> None:
    """Tell a state how long operations are."""
    numbers = [*layouts]
    state.array("size_word")[numbers] = [layout.size_word or 0 for layout in layouts.values()]
    state.array("fixed")[numbers] = [layout.fixed_words for layout in layouts.values()]


def _place(state: StreamState, opcode: int, group: OpcodeWords) -> None:
    state.positions[opcode], state.payload_starts[opcode] = (
        group.positions.ctypes.data,
        group.payload_starts.ctypes.data,
    )
    state.heads[opcode], state.payloads[opcode] = group.heads.ctypes.data, group.payload.ctypes.data
