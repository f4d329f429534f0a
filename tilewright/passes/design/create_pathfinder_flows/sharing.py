"""Which packet nets may use a port together, and who is where in one round of routing."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.passes.design.create_pathfinder_flows.nets import Net


def kept_apart(nets: Sequence[Net], *, with_itself: bool) -> list[int]:
    """For each net, as bits, those with the same first packet id: a switch could not tell them apart.

    That is exact for nets of one id each. Upstream applies it to nets of several, and to the branches of one.
    """
    alike: dict[int | None, int] = {}
    for number, net in enumerate(nets):
        alike[net.first_id] = alike.get(net.first_id, 0) | 1 << number
    return [alike[net.first_id] & ~(0 if with_itself else 1 << number) for number, net in enumerate(nets)]


def same_packets(nets: Sequence[Net]) -> dict[int, int]:
    """Nets of packets to a single place, and the first of them that sends the same packets to the same place."""
    first: dict[object, int] = {}
    return {
        number: first.setdefault((net.first_id, net.dests[0]), number)
        for number, net in enumerate(nets)
        if len(net.dests) == 1 and not net.is_circuit
    }


class Occupancy:
    """The packet nets at each port, and the group that came there last."""

    def __init__(self, nets: Sequence[Net], apart: Sequence[int]):
        self._nets, self._apart = nets, apart
        self._present: dict[int, int] = {}
        self._group: dict[int, tuple[int, int]] = {}
        self._time = 0

    def join(self, number: int, ports: Sequence[int]) -> bool:
        """Let a net use ports at which only its group is, and nobody it must be kept apart from."""
        group, present = self._nets[number].group, 0
        for port in ports:
            present |= self._present.get(port, 0)
        _, holder = max((self._group[port] for port in ports if port in self._group), default=(0, group))
        if holder != group or present & self._apart[number]:
            return False
        self._time += 1
        for port in ports:
            self._present[port] = self._present.get(port, 0) | 1 << number
            self._group[port] = self._time, group
        return True
