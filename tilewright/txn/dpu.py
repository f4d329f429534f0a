"""DPU words: the instruction streams of NPU tools before TXN, in files of Riallto and of mlir-aie up to mid 2024.

Sources: `AIETargetIPU.cpp` of mlir-aie then, and `sequence.py` of Riallto. After a prolog of 17 words come operations;
the top byte of the first word says which. They write registers, wait for DMA channels and set descriptors of shim
tiles, so that a TXN stream can do the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from tilewright.device import DEVICES, DeviceName
from tilewright.device.layout import WORD_BYTES, Field, Layout
from tilewright.txn.stream import (
    Header,
    Operation,
    Stream,
    TxnError,
    Words,
    address_patch,
    block_write,
    sync,
    write,
)

PROLOG_START = (0x11, 0x01000405, 0x01000100, 0x0B590100, 0x55FF, 1, 0x10)
PROLOG_END = (0x07BD9630, 0x55FF)
NAME_WORDS = 8
PROLOG_WORDS = len(PROLOG_START) + NAME_WORDS + len(PROLOG_END)
NAME = (0x314E5A5F, 0x635F5F31, 0x676E696C, 0x39354E5F, 0x6E693131, 0x5F727473, 0x64726F77, 0x4573)
"""A symbol of the tool that made the first such file; all others have it too."""
DEVICE = DEVICES[DeviceName.npu1]
"""The device that had such streams."""


class DpuOpcode(IntEnum):
    """Operations that a TXN stream can do as well."""

    WRITE = 2
    SYNC = 3
    SHIM_BD = 6


class DpuWrite(Layout, words=3):
    """Set a register of a tile."""

    pad = Field(0, 7, 0)
    row = Field(0, 15, 8)
    column = Field(0, 23, 16)
    offset = Field(1, 31, 0)
    value = Field(2, 31, 0)


class DpuSync(Layout, words=2):
    """Wait for a task of a DMA channel."""

    direction = Field(0, 7, 0)
    row = Field(0, 15, 8)
    column = Field(0, 23, 16)
    pad = Field(1, 7, 0)
    rows = Field(1, 15, 8)
    columns = Field(1, 23, 16)
    channel = Field(1, 31, 24)


class DpuShimBd(Layout, words=10):
    """Set a descriptor of a shim tile: a transfer of a buffer."""

    bd = Field(0, 3, 0)
    buffer = Field(0, 7, 4)
    column_count = Field(0, 15, 8)
    column = Field(0, 23, 16)
    pad = Field(1, 31, 0)
    length_words = Field(2, 31, 0)
    offset = Field(3, 31, 0)
    packet = Field(4, 31, 0)
    d0 = Field(5, 31, 0)
    d1 = Field(6, 31, 0)
    d2 = Field(7, 31, 0)
    iteration = Field(8, 31, 0)
    control = Field(9, 31, 0)


LAYOUTS: Mapping[int, type[Layout]] = {
    DpuOpcode.WRITE: DpuWrite,
    DpuOpcode.SYNC: DpuSync,
    DpuOpcode.SHIM_BD: DpuShimBd,
}
OPCODE_BITS = Field(0, 31, 24)
LENGTHS = {0: 1, 1: 9, 2: 3, 3: 2, 4: 11, 5: 10, 6: 10, 7: 11, 8: 11, 10: 2, 11: 9, 12: 9, 13: 3}
"""Words of each operation, those without a layout too."""


@dataclass
class DpuOperation:
    """One operation: fields by name, or the words of one that is only known by its length."""

    opcode: int
    fields: dict[str, int] = field(default_factory=dict[str, int])
    rest: tuple[int, ...] = ()
    at: int | None = field(default=None, compare=False)

    def words(self) -> list[int]:
        if self.opcode not in LAYOUTS:
            return [*self.rest]
        words = LAYOUTS[self.opcode].encode(**self.fields)
        words[0] |= OPCODE_BITS.place(self.opcode)
        return words

    def to_json(self) -> dict[str, Any]:
        if self.opcode not in LAYOUTS:
            return {"opcode": f"dpu_{self.opcode}", "words": self.rest}
        return {"opcode": DpuOpcode(self.opcode).name.lower(), **self.fields}


@dataclass
class DpuSequence:
    """A stream of DPU words."""

    operations: list[DpuOperation]
    name: tuple[int, ...] = NAME

    @classmethod
    def read(cls, words: Words) -> DpuSequence:
        """All of a stream; `TxnError` with the offset where it is damaged."""
        numbers: list[int] = words.tolist()
        if not _has_prolog(numbers):
            raise TxnError(0, "no DPU words: they begin with another prolog")
        return cls([*_operations(numbers)], tuple(numbers[len(PROLOG_START) : len(PROLOG_START) + NAME_WORDS]))

    def words(self) -> Words:
        prolog = [*PROLOG_START, *self.name, *PROLOG_END]
        return np.array([*prolog, *(word for op in self.operations for word in op.words())], dtype=np.uint32)

    def stream(self) -> Stream:
        """The TXN stream that does the same."""
        return Stream.of(Header.of(DEVICE), [made for op in self.operations for made in _as_txn(op)])


def is_dpu(data: bytes) -> bool:
    """Whether bytes begin as a stream of DPU words does."""
    start = PROLOG_WORDS * WORD_BYTES
    return len(data) >= start and _has_prolog(np.frombuffer(data[:start], dtype="<u4").tolist())


def _has_prolog(words: list[int]) -> bool:
    end = len(PROLOG_START) + NAME_WORDS
    return (*words[: len(PROLOG_START)], *words[end:PROLOG_WORDS]) == (*PROLOG_START, *PROLOG_END)


def _operations(words: list[int]) -> Iterator[DpuOperation]:
    at = PROLOG_WORDS
    while at < len(words):
        opcode = OPCODE_BITS.get(words[at:])
        if opcode not in LENGTHS:
            raise TxnError(at * WORD_BYTES, f"DPU operation {opcode} is none that is known")
        own = words[at : at + LENGTHS[opcode]]
        if len(own) < LENGTHS[opcode]:
            raise TxnError(
                at * WORD_BYTES, f"DPU operation {opcode} takes {LENGTHS[opcode]} words, {len(own)} are left"
            )
        if opcode in LAYOUTS:
            yield DpuOperation(opcode, LAYOUTS[opcode].decode(own), at=at * WORD_BYTES)
        else:
            yield DpuOperation(opcode, rest=tuple(own), at=at * WORD_BYTES)
        at += len(own)


def _as_txn(op: DpuOperation) -> Iterator[Operation]:
    fields = op.fields
    match op.opcode:
        case DpuOpcode.WRITE:
            yield write(_address(op, fields["column"], fields["row"], fields["offset"]), fields["value"])
        case DpuOpcode.SYNC:
            yield sync(**{name: fields[name] for name in ("column", "row", "direction", "channel", "columns", "rows")})
        case DpuOpcode.SHIM_BD:
            address = _address(op, fields["column"], 0, DEVICE.registers(fields["column"], 0).bds[fields["bd"]])
            rest = [fields[name] for name in ("packet", "d0", "d1", "d2", "iteration", "control")]
            yield block_write(address, [fields["length_words"], 0, *rest], column=fields["column"])
            yield address_patch(address + WORD_BYTES, fields["buffer"], fields["offset"])
        case _:
            raise TxnError(op.at, f"DPU operation {op.opcode} has no counterpart among TXN operations")


def _address(op: DpuOperation, column: int, row: int, offset: int) -> int:
    if not DEVICE.is_valid_tile(column, row):
        raise TxnError(op.at, f"{DEVICE} has no tile ({column}, {row})")
    return DEVICE.tile_address(column, row, offset)
