"""Follows data through configured stream switches, from where it enters to everywhere it comes out.

Needs the device's grid and the settings, nothing else: whoever has settings from elsewhere can walk them too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tilewright.device import DeviceModel, TileId, WireBundle
from tilewright.device.stream_switch import STEPS
from tilewright.dialects.aie.flows import Port
from tilewright.passes.design.create_pathfinder_flows.nets import Endpoint
from tilewright.passes.design.create_pathfinder_flows.switch_settings import Hop, Settings


@dataclass
class Walk:
    """Where data came out and whether its packet header came along, through which connections, and what went wrong."""

    arrivals: dict[Endpoint, bool] = field(default_factory=dict[Endpoint, bool])
    hops: set[Hop] = field(default_factory=set[Hop])
    faults: list[str] = field(default_factory=list[str])


def walk(
    settings: Settings, model: DeviceModel, source: Endpoint, packet_id: int | None, ends: Collection[Endpoint] = ()
) -> Walk:
    """Follow a circuit (no packet id) or the packets with one id that are sent into a port.

    Data comes out where nothing leads on, and at `ends`, behind which something else may begin.
    """
    result = Walk()
    waiting = [settings.entries.get(source, source)]
    while waiting:
        entry = waiting.pop()
        for output in _outputs(settings, entry, packet_id, result):
            hop = Hop(entry.tile, entry.port, output)
            if hop in result.hops:
                result.faults.append(f"data reaches {entry} twice")
                continue
            result.hops.add(hop)
            left = Endpoint(entry.tile, output)
            onward = None if left in ends else neighbour(model, left)
            keeps = packet_id is not None and keeps_header(settings, left)
            if onward is None or not settings.is_set(onward):
                result.arrivals[left if left in ends else settings.exits.get(left, left)] = keeps
            elif packet_id is not None and not keeps:
                result.faults.append(f"packets lose their header at {left}, halfway")
            else:
                waiting.append(onward)
    return result


def _outputs(settings: Settings, entry: Endpoint, packet_id: int | None, result: Walk) -> Iterator[Port]:
    if entry in settings.circuits:
        yield from settings.circuits[entry]
    elif packet_id is None:
        result.faults.append(f"no circuit leads on from {entry}")
    else:
        rule = next((rule for rule in settings.rules.get(entry, ()) if rule.matches(packet_id)), None)
        if rule is None:
            result.faults.append(f"no rule at {entry} matches packet {packet_id}")
        else:
            yield from rule.outputs


def neighbour(model: DeviceModel, output: Endpoint) -> Endpoint | None:
    """The port of the next tile that an output faces."""
    step = STEPS.get(output.port.bundle)
    if step is None:
        return None
    tile = TileId(output.tile.column + step[0], output.tile.row + step[1])
    return (
        Endpoint(tile, Port(output.port.bundle.opposite, output.port.channel)) if model.is_valid_tile(*tile) else None
    )


def keeps_header(settings: Settings, output: Endpoint) -> bool:
    """Unless told otherwise a switch takes the header off what goes to a DMA or out of the array.

    Source: `configureSwitches` in AIERT.cpp of mlir-aie at 3ca0193cea9e.
    """
    said = settings.keeps_header.get(output)
    return not is_last(output) if said is None else said


def is_last(output: Endpoint) -> bool:
    """Whether a port is one of a DMA, or one below the array by whichever name."""
    below = output.tile.row == 0 and output.port.bundle in (WireBundle.South, WireBundle.NOC, WireBundle.PLIO)
    return below or output.port.bundle is WireBundle.DMA
