"""The operations of a TXN stream: one table for encoder, decoder, text form, tools and the C++ header.

Sources: the word layouts of mlir-aie's TXN encoding header; the op headers of the public AIE driver (`xaie_txn.h`, also
those behind version 1.0's compact forms); and what 5,256 production streams contain. The opcode is the low byte of an
operation's first word. An operation with a size word may be longer than its fixed part: what follows is its payload
(data of a block write, padding of the longer mask writes that AMD's own tools emit).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from tilewright.device.layout import WORD_MASK, Field

FIRST_FOLDED_ARGUMENT = 5  # the firmware translates the addresses of the first five host buffers itself
FOLDED_OFFSET = 0x80000000  # where the array sees host memory


class Opcode(IntEnum):
    """Opcode numbers of the firmware's format (not those of the older driver enumeration)."""

    WRITE = 0
    BLOCKWRITE = 1
    BLOCKSET = 2
    MASKWRITE = 3
    MASKPOLL = 4
    NOOP = 5
    PREEMPT = 6
    MASKPOLL_BUSY = 7
    LOADPDI = 8
    LOAD_PM_START = 9
    CREATE_SCRATCHPAD = 10
    UPDATE_STATE_TABLE = 11
    UPDATE_REG = 12
    UPDATE_SCRATCH = 13
    CONFIG_SHIMDMA_BD = 14
    CONFIG_SHIMDMA_DMABUF_BD = 15
    TCT = 0x80
    DDR_PATCH = 0x81
    READ_REGS = 0x82
    RECORD_TIMER = 0x83
    MERGE_SYNC = 0x84
    CUSTOM_OP_NEXT = 0x85
    CUSTOM_86 = 0x86
    LOAD_PM_END_INTERNAL = 200


def _word(index: int) -> Field:
    """A field that is a whole word."""
    return Field(index, 31, 0)


@dataclass(frozen=True)
class OperationLayout:
    """How one operation lies in the stream; bits that no field names do not exist."""

    fixed_words: int
    """Words before the payload."""
    size_word: int | None
    """Index of the word that gives the operation's size in bytes; None where the length is always `fixed_words`."""
    fields: Mapping[str, Field] = field(default_factory=dict[str, Field])
    default_payload_words: int = 0
    """Payload that an operation gets when none is given: zeros up to the length that the compiler emits."""


def _op_header(**fields: Field) -> dict[str, Field]:
    """Version 0.1 ops begin with opcode, column, row, a pad byte and (to align the 64-bit address) a pad word."""
    return {"op_column": Field(0, 15, 8), "op_row": Field(0, 23, 16), "op_pad": Field(0, 31, 24), **fields}


_REGISTER = {"address": _word(2), "address_high": _word(3), "value": _word(4)}
_WRITE = OperationLayout(6, 5, _op_header(pad=_word(1), **_REGISTER))
_MASK = OperationLayout(7, 6, _op_header(pad=_word(1), **_REGISTER, mask=_word(5)))
_BLOCKWRITE = OperationLayout(
    4,
    3,
    _op_header(column=Field(1, 7, 0), row=Field(1, 15, 8), pad=Field(1, 31, 16), address=_word(2)),
)
_PADDED = {"op_pad": Field(0, 31, 8)}
_CUSTOM = OperationLayout(2, 1, _PADDED)
_MERGE_SYNC = {**_PADDED, "value": _word(2)}
_STATE_TABLE = {
    "state_table_index": Field(0, 15, 8),
    "function": Field(0, 23, 16),
    "op_pad": Field(0, 31, 24),
    "function_argument": _word(1),
}

# What both versions share: fixed-length control operations, and custom operations with their size in word 1.
_COMMON: dict[int, OperationLayout] = {
    Opcode.NOOP: OperationLayout(1, None, _PADDED),
    Opcode.PREEMPT: OperationLayout(1, None, {"level": Field(0, 15, 8), "op_pad": Field(0, 31, 16)}),
    Opcode.LOADPDI: OperationLayout(
        4,
        None,
        {
            "op_pad": Field(0, 15, 8),
            "id": Field(0, 31, 16),
            "pdi_bytes": _word(1),
            "address": _word(2),
            "address_high": _word(3),
        },
    ),
    Opcode.LOAD_PM_START: OperationLayout(2, None, {"sequence_count": Field(0, 31, 8), "id": _word(1)}),
    Opcode.CREATE_SCRATCHPAD: OperationLayout(
        4,
        None,
        {
            "usage_type": Field(0, 15, 8),
            "op_pad": Field(0, 31, 16),
            "scratchpad_bytes": _word(1),
            "address": _word(2),
            "address_high": _word(3),
        },
    ),
    Opcode.UPDATE_STATE_TABLE: OperationLayout(2, None, _STATE_TABLE),
    Opcode.UPDATE_REG: OperationLayout(3, None, {**_STATE_TABLE, "address": _word(2)}),
    Opcode.UPDATE_SCRATCH: OperationLayout(1, None, _PADDED),
    Opcode.TCT: OperationLayout(
        4,
        1,
        {
            **_PADDED,
            "direction": Field(2, 7, 0),
            "row": Field(2, 15, 8),
            "column": Field(2, 23, 16),
            "tile_pad": Field(2, 31, 24),
            "count_pad": Field(3, 7, 0),
            "row_count": Field(3, 15, 8),
            "column_count": Field(3, 23, 16),
            "channel": Field(3, 31, 24),
        },
    ),
    Opcode.DDR_PATCH: OperationLayout(
        11,
        1,
        {
            **_PADDED,
            "pad2": _word(2),
            "pad3": _word(3),
            "action": _word(4),
            "pad5": _word(5),
            "address": _word(6),
            "address_high": _word(7),
            "argument_index": _word(8),
            "argument_index_high": _word(9),
            "argument_offset": _word(10),
        },
        default_payload_words=1,
    ),
    Opcode.RECORD_TIMER: OperationLayout(3, 1, {**_PADDED, "id": _word(2)}),
    Opcode.MERGE_SYNC: OperationLayout(3, 1, _MERGE_SYNC, default_payload_words=1),
    **dict.fromkeys(range(Opcode.CUSTOM_OP_NEXT, Opcode.LOAD_PM_END_INTERNAL), _CUSTOM),
    Opcode.READ_REGS: _CUSTOM,
}

LAYOUTS: dict[tuple[int, int], dict[int, OperationLayout]] = {
    (0, 1): {
        Opcode.WRITE: _WRITE,
        Opcode.BLOCKWRITE: _BLOCKWRITE,
        Opcode.MASKWRITE: _MASK,
        Opcode.MASKPOLL: _MASK,
        Opcode.MASKPOLL_BUSY: _MASK,
        **_COMMON,
    },
    (1, 0): {
        Opcode.WRITE: OperationLayout(3, None, {**_PADDED, "address": _word(1), "value": _word(2)}),
        Opcode.BLOCKWRITE: OperationLayout(3, 2, {**_PADDED, "address": _word(1)}),
        **{
            number: OperationLayout(4, None, {**_PADDED, "address": _word(1), "value": _word(2), "mask": _word(3)})
            for number in (Opcode.MASKWRITE, Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY)
        },
        **_COMMON,
        Opcode.DDR_PATCH: OperationLayout(
            5,
            1,
            {**_PADDED, "address": _word(2), "argument_index": _word(3), "argument_offset": _word(4)},
            default_payload_words=1,
        ),
        # as the driver writes it, for code that saves the array: without the last word
        Opcode.MERGE_SYNC: OperationLayout(3, 1, _MERGE_SYNC),
    },
}
"""Layouts by stream version (major, minor), then by opcode."""
VERSION = (0, 1)
"""The version that mlir-aie writes, and so do its instructions here; others are read, and written as they were."""
LONG_PATCH_LAYOUTS = {
    version: {**layouts, Opcode.DDR_PATCH: LAYOUTS[VERSION][Opcode.DDR_PATCH]} for version, layouts in LAYOUTS.items()
}
"""Those of streams whose address patches are as in version 0.1: the AIE driver writes them so in 1.0 too.

It copies custom operations as they are (`XAie_AddCustomTxnOp`, in aiebu's `gen-preemption.cpp`), and aiebu reads none
but these; mlir-aie, while it wrote 1.0, had the short ones.
"""

# The AIE driver fills C structures member by member, in memory that `malloc` gave it (`_XAie_AppendWrite32` and its
# like): padding between members keeps what lay there before, and so do the first members of a patch, which its callers
# leave alone. Column and row of an op are not those of its tile: `_XAie_GetColfromRegOff` gives the row, and
# `_XAie_GetRowfromRegOff` the low byte of the address; other tools have zeros there.
_UNREAD = {"op_column", "op_row", "op_pad", "pad", "pad2", "pad3", "pad5", "tile_pad", "count_pad"}
_UNREAD_OF: dict[int, set[str]] = {Opcode.BLOCKWRITE: {"column", "row"}}
_PADDED_TO_SIZE = {Opcode.WRITE, Opcode.MASKWRITE, Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY, Opcode.DDR_PATCH}
"""Operations whose payload is padding."""


def unread_bits(opcode: int, layout: OperationLayout, length: int) -> list[int]:
    """Which bits of an operation of so many words nothing reads, as a mask for each word."""
    masks = [0] * layout.fixed_words
    for name in layout.fields.keys() & (_UNREAD | _UNREAD_OF.get(opcode, set())):
        masks[layout.fields[name].word] |= layout.fields[name].mask
    return masks + [WORD_MASK if opcode in _PADDED_TO_SIZE else 0] * (length - layout.fixed_words)


def opcode_name(number: int) -> str:
    return Opcode(number).name if number in Opcode._value2member_map_ else f"CUSTOM_{number:02X}"


def opcode_number(name: str) -> int:
    """The opcode called `name`; KeyError if there is none."""
    if name in Opcode.__members__:
        return Opcode[name]
    if name.startswith("CUSTOM_") and len(name) == 9:
        return int(name[7:], 16)
    raise KeyError(name)


def address_offset(argument: int, *, fold: bool) -> int:
    """What an address patch for a host buffer must add to its offset."""
    return FOLDED_OFFSET if fold and argument >= FIRST_FOLDED_ARGUMENT else 0


def largest_offset(argument: int) -> int:
    """The largest offset into a host buffer that the 32 bits of an address patch hold, after any translation."""
    return 0xFFFFFFFF - address_offset(argument, fold=True)
