"""Knowledge at one point of a runtime sequence: tasks in flight, pools, what values stand for, their known bits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.device import TileId
from tilewright.device.hazards import Bits, InFlight
from tilewright.dialects import arith
from tilewright.dialects.aie.data_layout import INDEX_BITS
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aiex.tasks import DmaBdPoolPopOp

OLDEST = 16
"""Descriptors that one operation took so much earlier are not told apart: no tile has as many for one loop to use."""


class DrawnBd(NamedTuple):
    """A descriptor that is taken from a pool at run time: by which operation, and how many more it took since."""

    op: DmaBdPoolPopOp
    age: int = 0


Handle: TypeAlias = DrawnBd | Operation
"""What a value stands for: a descriptor, or a task by the operation that configures it."""
Handles: TypeAlias = frozenset[Handle]
PoolKey: TypeAlias = tuple[TileId, Sequence[int]]
NameT = TypeVar("NameT", bound=Hashable)


@dataclass
class LintState:
    in_flight: InFlight[Operation] = field(default_factory=InFlight[Operation])
    handles: dict[SSAValue, Handles] = field(default_factory=dict[SSAValue, Handles])
    pools: dict[PoolKey, tuple[Handles, ...]] = field(default_factory=dict[PoolKey, tuple[Handles, ...]])
    """Descriptors that were given back, the next one to be taken last."""

    def copy(self) -> LintState:
        return LintState(self.in_flight.copy(), dict(self.handles), dict(self.pools))

    def key(self) -> Hashable:
        """Equal for states from which a loop goes on in the same way."""
        return self.in_flight.key(), frozenset(self.pools.items())

    def take(self, op: DmaBdPoolPopOp, pool: PoolKey) -> None:
        """Take the descriptor that was given back last, or one that has not been used."""
        *others, last = self.pools.get(pool, ()) or (Handles(),)
        if last:
            self.pools[pool] = tuple(others)
            self.handles[op.bd_id] = last
        else:
            self._grow_older(op)
            self.handles[op.bd_id] = frozenset({DrawnBd(op)})

    def give_back(self, pool: PoolKey, bds: Handles) -> None:
        self.pools[pool] = (*self.pools.get(pool, ()), bds)[-OLDEST:]

    def _grow_older(self, op: DmaBdPoolPopOp) -> None:
        """Tell what an operation took before from what it takes now."""

        def older(name: NameT) -> NameT | DrawnBd:
            if isinstance(name, DrawnBd) and name.op is op:
                return DrawnBd(op, min(name.age + 1, OLDEST))
            return name

        renamed = self._renamed(older)
        self.in_flight, self.handles, self.pools = renamed.in_flight, renamed.handles, renamed.pools

    def _renamed(self, rename: Callable[[Any], Any]) -> LintState:
        handles = {value: frozenset(map(rename, handles)) for value, handles in self.handles.items()}
        pools = {pool: tuple(frozenset(map(rename, bds)) for bds in free) for pool, free in self.pools.items()}
        return LintState(self.in_flight.renamed(rename), handles, pools)

    def join(self, other: LintState) -> LintState:
        """What may be going on where two ways meet.

        Names of descriptors only tell them apart. Those that the next takers get on either way get one name, or a
        taker would seem to get any of several, and two takers the same.
        """
        other = other._renamed(_alignment(self, other))
        nothing = Handles()
        handles = {
            v: self.handles.get(v, nothing) | other.handles.get(v, nothing) for v in self.handles | other.handles
        }
        pools = {p: _joined(self.pools.get(p, ()), other.pools.get(p, ())) for p in self.pools | other.pools}
        return LintState(self.in_flight.join(other.in_flight), handles, pools)


def _alignment(first: LintState, second: LintState) -> Callable[[Any], Any]:
    """Other names for descriptors of `second`, so that what lies in pools is called as in `first`; as far as can be."""
    names = dict[Handle, Handle]()
    for pool in first.pools.keys() & second.pools.keys():
        for ours, theirs in zip(reversed(first.pools[pool]), reversed(second.pools[pool]), strict=False):
            if len(ours) == len(theirs) == 1 and theirs.isdisjoint(names) and ours.isdisjoint(names.values()):
                names[next(iter(theirs))] = next(iter(ours))
    given = [name for name in names.values() if name not in names]
    taken = [name for name in names if name not in names.values()]
    free = {handle for pool in second.pools.values() for bds in pool for handle in bds}
    known = {handle for handles in second.handles.values() for handle in handles}
    if not (known - free).isdisjoint(given):  # one that is not free on both ways keeps its name
        return lambda name: name
    names |= dict(zip(given, taken, strict=True))
    return lambda name: names.get(name, name)


def _joined(first: tuple[Handles, ...], second: tuple[Handles, ...]) -> tuple[Handles, ...]:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    kept = len(longer) - len(shorter)
    return (*longer[:kept], *(a | b for a, b in zip(longer[kept:], shorter, strict=True)))


UNKNOWN = Bits(0, 0)


class KnownValues:
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
        kind: Attribute = value.type
        width = (1 << (kind.bitwidth if isinstance(kind, IntegerType) else INDEX_BITS)) - 1
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


def _or(a: Bits, b: Bits, _: int) -> Bits:
    ones = a.value & a.known | b.value & b.known
    return Bits(ones, a.known & b.known | ones)


def _and(a: Bits, b: Bits, _: int) -> Bits:
    zeros = a.known & ~a.value | b.known & ~b.value
    return Bits(a.value & b.value & a.known & b.known, a.known & b.known | zeros)


def _shift_left(a: Bits, b: Bits, width: int) -> Bits:
    # A shift by an unknown number: any bit may be anything.
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
