"""The firmware's scratchpad: numbers of the host that sequences add to pairs of registers.

A sequence creates it once, which copies the host's numbers. The firmware adds to the 48-bit address in two words and
forces the low two bits to zero; hosts therefore shift what is for a core, and lowered cores shift it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import add, mul, sub
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, IntegerType

from tilewright.device.bd import ShimBd
from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.dialects.aiex.attributes import ParameterKind, StateTableFunction
from tilewright.dialects.aiex.firmware import STATE_TABLE_ENTRIES
from tilewright.dialects.aiex.scratchpad import ScratchpadParameterOp
from tilewright.errors import ArgumentError

LOW_MASK, HIGH_MASK = WORD_MASK & -WORD_BYTES, ShimBd.address_high.mask
"""The bits of the two words that hold an address."""
CORE_SHIFT = 2
CORE_BITS = 30
FUNCTIONS = {StateTableFunction.mul: mul, StateTableFunction.incr: add, StateTableFunction.decr: sub}

Number: TypeAlias = "int | float"


class ScratchpadError(ArgumentError):
    """A parameter that does not exist, or a value that it cannot have; or an entry that is not there."""


class Scratchpad:
    """What the firmware has of the host's numbers; nothing before a sequence creates it."""

    def __init__(self, entries: Sequence[int] = ()):
        self.host = list(entries)
        self.entries: list[int] = []

    def create(self, size_bytes: int) -> None:
        count = size_bytes // WORD_BYTES
        if count > STATE_TABLE_ENTRIES:
            most = STATE_TABLE_ENTRIES * WORD_BYTES
            raise ScratchpadError(f"a scratchpad of {size_bytes} bytes; the firmware has {most}")
        # The copy is what the firmware works on: numbers that a host changes later are not seen.
        self.entries = [*self.host, *[0] * count][:count]

    def amount(self, index: int, function: int, argument: int) -> int:
        """What an update adds: an entry, combined with the argument."""
        if index >= len(self.entries):
            raise ScratchpadError(f"entry {index} of a scratchpad that has {len(self.entries)}")
        if function not in StateTableFunction._value2member_map_:
            raise ScratchpadError(f"function {function}, which the firmware does not have")
        return FUNCTIONS[StateTableFunction(function)](self.entries[index], argument)


def updated(low: int, high: int, amount: int) -> tuple[int, int]:
    """Two words after an amount was added to the address in them."""
    total = ((high & HIGH_MASK) << 32 | low & LOW_MASK) + amount
    return total & LOW_MASK, high & ~HIGH_MASK | total >> 32 & HIGH_MASK


def host_entries(parameters: Iterable[ScratchpadParameterOp], values: Mapping[str, Number]) -> list[int]:
    """The numbers that a host passes for parameters; those without a value are 0."""
    known = {parameter.sym_name.data: parameter for parameter in parameters}
    if not isinstance(values, Mapping):
        raise ScratchpadError(f"scratchpad has values by the names of parameters, got {values!r:.80}")
    if unknown := [name for name in values if name not in known]:
        listed = ", ".join(known) or "none"
        raise ScratchpadError(f"there is no scratchpad parameter {unknown[0]}; there is {listed}")
    entries = [0] * len(known)
    for name, value in values.items():
        parameter = known[name]
        index = parameter.state_table_idx.value.data if parameter.state_table_idx is not None else 0
        entries[index] = _entry(parameter, value)
    return entries


def _entry(parameter: ScratchpadParameterOp, value: Number) -> int:
    name = parameter.sym_name.data
    if parameter.usage is ParameterKind.addr:
        return _word(name, value, 32)
    match parameter.type:
        case BFloat16Type():
            return _bfloat16(value) << CORE_SHIFT
        case IntegerType() as type:
            bits = _word(name, value, type.bitwidth)
        case type:
            raise ScratchpadError(f"scratchpad parameter {name} is of type {type}, which cannot be passed")
    if bits >> CORE_BITS:
        raise ScratchpadError(f"scratchpad parameter {name} is {value}; the firmware passes {CORE_BITS} bits to cores")
    return bits << CORE_SHIFT


def _word(name: str, value: Number, width: int) -> int:
    """The bits of an integer, signed or not."""
    low, high = -(1 << width - 1), (1 << width) - 1
    if not isinstance(value, int) or not low <= value <= high:
        raise ScratchpadError(f"scratchpad parameter {name} takes an integer in [{low}, {high}], got {value}")
    return value & high & WORD_MASK


def _bfloat16(value: Number) -> int:
    """The nearest bfloat16, ties to even."""
    bits = int(np.float32(value).view(np.uint32))
    # Half of the last bit that stays, less where that bit is 0: ties go to even.
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16 & 0xFFFF
