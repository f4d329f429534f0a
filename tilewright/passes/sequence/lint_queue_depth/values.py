"""Values as far as they are known without running the program: bits of register words, and where numbers came from."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.device.hazard_reader import Bits
from tilewright.dialects import arith
from tilewright.dialects.aie.data_layout import INDEX_BITS
from tilewright.dialects.aie.lookup import constant_value

UNKNOWN = Bits(0, 0)


class Values:
    """Answers about values; each is looked at once."""

    def __init__(self) -> None:
        self._bits: dict[SSAValue, Bits] = {}
        self._sources: dict[SSAValue, frozenset[SSAValue]] = {}

    def bits(self, value: SSAValue) -> Bits:
        """The bits of a value that are known."""
        if value not in self._bits:
            self._bits[value] = UNKNOWN  # until it is known, for values that depend on themselves
            self._bits[value] = self._find_bits(value)
        return self._bits[value]

    def _find_bits(self, value: SSAValue) -> Bits:
        width = (1 << _bit_count(value.type)) - 1
        if (constant := constant_value(value)) is not None:
            return Bits(constant & width, width)
        compute = _KNOWN_BITS.get(type(value.owner)) if isinstance(value.owner, Operation) else None
        if compute is None or not isinstance(value.owner, Operation):
            return UNKNOWN
        found = compute(*map(self.bits, value.owner.operands), width)
        return Bits(found.value & width, found.known & width)

    def sources(self, value: SSAValue) -> frozenset[SSAValue]:
        """The values from which a value is computed, where computing starts: arguments, and what acts give."""
        if value not in self._sources:
            self._sources[value] = frozenset()
            self._sources[value] = self._find_sources(value)
        return self._sources[value]

    def _find_sources(self, value: SSAValue) -> frozenset[SSAValue]:
        owner = value.owner
        if isinstance(value, BlockArgument) or not isinstance(owner, Operation) or not owner.name.startswith("arith."):
            return frozenset({value})
        return frozenset[SSAValue]().union(*map(self.sources, owner.operands))


def _bit_count(type: Attribute) -> int:
    return type.bitwidth if isinstance(type, IntegerType) else INDEX_BITS


def _or(a: Bits, b: Bits, _: int) -> Bits:
    ones = a.value & a.known | b.value & b.known
    return Bits(ones, a.known & b.known | ones)


def _and(a: Bits, b: Bits, _: int) -> Bits:
    zeros = a.known & ~a.value | b.known & ~b.value
    return Bits(a.value & b.value & a.known & b.known, a.known & b.known | zeros)


def _shift_left(a: Bits, b: Bits, width: int) -> Bits:
    if b.known != width or b.value >= width.bit_length():  # by how much is not known, or more than is defined
        return UNKNOWN
    return Bits(a.value << b.value, a.known << b.value | (1 << b.value) - 1)


def _same(a: Bits, _: int) -> Bits:
    return a


_KNOWN_BITS: dict[type[Operation], Callable[..., Bits]] = {
    arith.AndIOp: _and,
    arith.OrIOp: _or,
    arith.ShLIOp: _shift_left,
    arith.TruncIOp: _same,
}
