"""Which circuits are trees: from one channel that sends to channels that receive, with nothing else on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilewright.device import DmaDirection
from tilewright.sim.fast.blocks import FastChannel, FastFifo, FastSlave
from tilewright.sim.fast.state import NONE, State
from tilewright.sim.parts import PartKind
from tilewright.sim.switch import Slave

if TYPE_CHECKING:
    from tilewright.sim.fast.machine import FastMachine


@dataclass
class Node:
    """A stream of a circuit."""

    fifo: FastFifo
    above: int | None
    """The node that its words come from; None if it is the channel."""
    part: int
    leaf: FastChannel | None
    children: list[int] = field(default_factory=list[int])


def find_nodes(machine: FastMachine, root: FastSlave) -> list[Node] | None:
    """All streams behind a slave port, those of each node side by side; None if they are not a tree."""
    nodes = list[Node]()
    waiting: list[tuple[Slave, int | None]] = [(root, None)]
    while waiting:
        slave, above = waiting.pop(0)
        if not slave.switch.is_enabled(slave) or slave.switch.is_packet(slave):
            return None
        targets = slave.switch.circuit(slave).targets
        if not targets:
            return None
        for target in targets:
            node = _node(machine, slave, target.fifo, above)
            if node is None or any(node.fifo is other.fifo for other in nodes):
                return None
            if above is not None:
                nodes[above].children.append(len(nodes))
            if node.leaf is None:
                waiting.append((machine.end_of(node.fifo), len(nodes)))
            nodes.append(node)
    return nodes


def _node(machine: FastMachine, slave: Slave, fifo: object, above: int | None) -> Node | None:
    assert isinstance(fifo, FastFifo)
    if machine.has_end(fifo):
        tile, name = machine.place_of(fifo)
        return Node(fifo, above, machine.roster.number(PartKind.STREAM, tile, name), None)
    channel = machine.receiver_of(fifo)
    return None if channel is None else Node(fifo, above, channel.part, channel)


def put_nodes(state: State, nodes: list[Node], tree: int, root: int) -> None:
    """Write down the nodes of a tree; they follow the one that stands for the channel."""
    first = root + 1
    state.node_child[root], state.node_children[root] = first, sum(node.above is None for node in nodes)
    for number, node in enumerate(nodes, first):
        state.node_tree[number] = tree
        state.node_above[number] = root if node.above is None else first + node.above
        state.node_child[number] = first + node.children[0] if node.children else 0
        state.node_children[number] = len(node.children)
        state.node_fifo[number] = node.fifo.number
        state.node_part[number] = node.part
        state.node_leaf[number] = NONE if node.leaf is None else node.leaf.index
        state.node_depth[number] = node.fifo.depth
        state.node_latency[number] = node.fifo.latency


def receivers(channels: dict[int, FastChannel]) -> dict[int, FastChannel]:
    """The channels that receive, by the number of the stream that they read."""
    found = dict[int, FastChannel]()
    for channel in channels.values():
        port = channel.home.port_of(channel)
        if channel.direction is DmaDirection.S2MM and isinstance(port, FastFifo):
            found[port.number] = channel
    return found
