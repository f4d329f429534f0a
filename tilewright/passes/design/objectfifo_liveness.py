"""Refuses broadcasts that would deadlock: more copies under way, over all repetitions, than the FIFOs hold.

FIFOs that meet at a tile hold each other up. A broadcast that is repeated while its consumers still wait for others in
such a group needs room for what is outstanding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import DevicePass, ops_of


class ObjectFifoLivenessPass(DevicePass):
    name = "aie-objectfifo-liveness"

    def apply_to(self, device: DeviceOp) -> None:
        fifos = [fifo for fifo in ops_of(all_operations(device), ObjectFifoOp) if isinstance(fifo.depth, IntegerAttr)]
        cycles = _cycles(fifos)
        trips: dict[int, int] = {}
        for fifo, cycle in cycles.items():
            trips[cycle] = max(trips.get(cycle, 1), _repeats(fifo))
        for broadcast in _broadcasts(cycles):
            broadcast.check(max(trips[cycle] for cycle in broadcast.cycles))


def _repeats(fifo: ObjectFifoOp) -> int:
    return fifo.repeat_count.value.data if fifo.repeat_count is not None else 1


def _cycles(fifos: Sequence[ObjectFifoOp]) -> dict[ObjectFifoOp, int]:
    """The FIFOs that wait for others, each with the number of its group; an input and an output of a tile are one."""
    groups = _Groups(len(fifos))
    produced, consumed = dict[SSAValue, list[int]](), dict[SSAValue, list[int]]()
    for number, fifo in enumerate(fifos):
        produced.setdefault(fifo.producer, []).append(number)
        for consumer in fifo.consumers:
            consumed.setdefault(consumer, []).append(number)
    for tile in produced.keys() & consumed.keys():
        first, *others = (*produced[tile], *consumed[tile])
        for other in others:
            groups.join(first, other)
    found = [groups.find(number) for number in range(len(fifos))]
    sizes = Counter(found)  # a FIFO that is alone waits for no other
    return {fifo: group for fifo, group in zip(fifos, found, strict=True) if sizes[group] > 1}


class _Groups:
    """Numbers that belong together."""

    def __init__(self, count: int):
        self._parent = list(range(count))

    def find(self, number: int) -> int:
        while self._parent[number] != number:
            self._parent[number] = number = self._parent[self._parent[number]]  # path halving
        return number

    def join(self, first: int, second: int) -> None:
        self._parent[self.find(first)] = self.find(second)


@dataclass
class _Broadcast:
    """One broadcast, though it may be split over several FIFOs."""

    first: ObjectFifoOp
    name: str
    cycles: set[int] = field(default_factory=set[int])
    consumers: list[SSAValue] = field(default_factory=list[SSAValue])

    def takes(self, fifo: ObjectFifoOp) -> bool:
        return _shape(self.first) == _shape(fifo) and set(self.consumers).isdisjoint(fifo.consumers)

    def check(self, trips: int) -> None:
        depth = self.first.depths[0]
        # twice the depth: as many tokens can be on their way there as on their way back
        demand, slack = len(self.consumers) * trips, 2 * depth
        if depth <= 0 or trips < 2 or demand <= slack:
            return
        fail(
            self.first,
            f"objectFIFO @{self.name} in a cyclic dependency requires depth >= {-(-demand // 2)} for deadlock-free "
            f"execution; allocated depth = {depth}. (Coupled broadcast fan-out {len(self.consumers)} x trip-count "
            f"{trips} = {demand} outstanding tokens exceeds round-trip slack 2*depth = {slack}; raise depth or reduce "
            "coupled consumers / output tiles.)",
        )


def _shape(fifo: ObjectFifoOp) -> tuple[Attribute, int, int]:
    """What the parts of one broadcast have in common."""
    return fifo.fifo_type, fifo.depths[0], _repeats(fifo)


def _broadcasts(cycles: dict[ObjectFifoOp, int]) -> list[_Broadcast]:
    """The broadcasts among FIFOs in cycles. Parts are known by names that differ in a number, if nothing else speaks
    against it.
    """
    named: dict[str, _Broadcast] = {}
    found: list[_Broadcast] = []
    for fifo, cycle in cycles.items():
        if len(fifo.consumers) <= 1:
            continue
        base, _, number = fifo.sym_name.data.rpartition("_")
        name = base if number.isascii() and number.isdigit() else fifo.sym_name.data
        broadcast = named.get(name)
        if broadcast is None or not broadcast.takes(fifo):
            broadcast = _Broadcast(fifo, name)
            named.setdefault(name, broadcast)
            found.append(broadcast)
        broadcast.cycles.add(cycle)
        broadcast.consumers.extend(fifo.consumers)
    return found
