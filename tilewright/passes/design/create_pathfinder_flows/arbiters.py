"""Gives packets that leave a switch their arbiters and selects.

An output takes its packets from one arbiter only, so outputs that get a packet together have the arbiter in common. A
select of an arbiter stands for a set of outputs, those whose mastersets name it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tilewright.device import NUM_ARBITERS, NUM_MSELS
from tilewright.dialects.aie.flows import Port


class Select(NamedTuple):
    """Ordered as upstream numbers them: the first select of every arbiter, then the second of every one."""

    msel: int
    arbiter: int


ALL_SELECTS = [Select(msel, arbiter) for msel in range(NUM_MSELS) for arbiter in range(NUM_ARBITERS)]


class NoSelect(Exception):
    """All selects are taken, those of one arbiter or those of all."""

    def __init__(self, arbiter: int | None, outputs: Sequence[Port]):
        self.arbiter, self.outputs = arbiter, outputs
        super().__init__("no select is left")


class Arbitration:
    """The selects of one switch."""

    def __init__(self, output_sets: Collection[Sequence[Port]], reserved: Collection[Select] = ()):
        self._partners = _partners(output_sets)
        self._reserved = reserved
        self._arbiter_of: dict[Port, int] = {}  # by the first output of those that go together
        self.outputs: dict[Select, Sequence[Port]] = {}

    def select_for(self, outputs: Sequence[Port], *, from_top: bool) -> Select:
        """The select for packets that go to these outputs; a new one is the lowest free one, or the highest."""
        leader = self._partners[outputs[0]]
        arbiter = self._arbiter_of.get(leader)
        overlapping = self._overlapping(outputs, arbiter)
        if overlapping is not None and set(self.outputs[overlapping]) == set(outputs):
            return overlapping
        free = [select for select in ALL_SELECTS if select not in self.outputs and select not in self._reserved]
        if arbiter is not None:
            free = [select for select in free if select.arbiter == arbiter]
        if free:
            select = free[-1] if from_top and arbiter is None else free[0]
        else:
            select = self._same_set(outputs)
        if select is None:
            raise NoSelect(arbiter, outputs)
        self.outputs[select] = outputs
        self._arbiter_of[leader] = select.arbiter
        return select

    def _overlapping(self, outputs: Sequence[Port], arbiter: int | None) -> Select | None:
        """The first select of an arbiter for any of the outputs: upstream looks no further for one to use again."""
        selects = (select for select in sorted(self.outputs) if select.arbiter == arbiter)
        return next((select for select in selects if set(self.outputs[select]) & set(outputs)), None)

    def _same_set(self, outputs: Sequence[Port]) -> Select | None:
        return next((select for select, other in self.outputs.items() if set(other) == set(outputs)), None)

    def masters(self) -> Mapping[Port, list[Select]]:
        """The selects that send packets to each output."""
        masters: dict[Port, list[Select]] = {}
        for select, outputs in sorted(self.outputs.items()):
            for output in outputs:
                masters.setdefault(output, []).append(select)
        return masters


def _partners(output_sets: Collection[Sequence[Port]]) -> dict[Port, Port]:
    """For each output, the first of all that get some packet together with it, directly or through others."""
    leader: dict[Port, Port] = {}

    def find(port: Port) -> Port:
        while leader.setdefault(port, port) != port:
            port = leader[port]
        return port

    for outputs in output_sets:
        first, *others = (find(port) for port in outputs)
        for other in others:
            leader[find(other)] = find(first)
    return {port: find(port) for port in leader}
