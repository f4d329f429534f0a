"""Designs to route: made from text, made at random, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from helpers import first, parsed, run_passes
from hypothesis import strategies as st

from tilewright.device import TileId, TileType, model
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.passes.design.create_pathfinder_flows import CreatePathfinderFlowsPass
from tilewright.passes.design.create_pathfinder_flows.nets import Request, requests_of
from tilewright.passes.design.create_pathfinder_flows.switch_settings import SwitchSettings, read_settings


class Routed(NamedTuple):
    device: DeviceOp
    requests: list[Request]
    settings: SwitchSettings


def parse_device(text: str) -> DeviceOp:
    return first(DeviceOp, parsed(text))


def route(text: str) -> Routed:
    """Route a design; raises `DiagnosedError` where that is refused."""
    module = parsed(text)
    device = first(DeviceOp, module)
    requests = requests_of(device)
    run_passes(module, CreatePathfinderFlowsPass())
    return Routed(device, requests, read_settings(device))


SOURCES = {
    TileType.CoreTile: {"DMA": 2, "Core": 1, "Trace": 1, "TileControl": 1},
    TileType.MemTile: {"DMA": 6, "Trace": 1},
    TileType.ShimNOCTile: {"DMA": 2, "TileControl": 1},
}
DESTS = {
    TileType.CoreTile: {"DMA": 2, "Core": 1, "TileControl": 1},
    TileType.MemTile: {"DMA": 6, "TileControl": 1},
    TileType.ShimNOCTile: {"DMA": 2, "South": 2},
}


def ends_of(device: str, tiles: Sequence[TileId], table: dict[TileType, dict[str, int]]) -> list[str]:
    """Ports as flows name them."""
    return [
        f"%t{column}_{row}, {bundle} : {channel}"
        for column, row in tiles
        for bundle, count in table[model(device).tile_type(column, row)].items()
        for channel in range(count)
    ]


@st.composite
def designs(draw: st.DrawFn) -> str:
    """A few circuits, some to several destinations, and packets from some ports to some others, ids and all."""
    device = draw(st.sampled_from(["npu1_1col", "npu1_2col", "npu1"]))
    tiles = draw(st.lists(st.sampled_from(list(model(device).tiles)), min_size=2, max_size=6, unique=True))
    sources = draw(st.permutations(ends_of(device, tiles, SOURCES)))
    dests = draw(st.permutations(ends_of(device, tiles, DESTS)))
    lines = [f"%t{column}_{row} = aie.tile({column}, {row})" for column, row in tiles]
    for number in range(draw(st.integers(0, min(6, len(sources) - 2)))):
        for dest in dests[number * 2 + 2 : number * 2 + 2 + draw(st.integers(1, 2))]:
            lines.append(f"aie.flow({sources[number + 2]}, {dest})")
    for _ in range(draw(st.integers(0, 4))):
        lines.append(draw(packet_flows(sources[:2], dests[:2])))
    return "\n".join([f"aie.device({device}) {{", *lines, "}"])


@st.composite
def packet_flows(draw: st.DrawFn, sources: Sequence[str], dests: Sequence[str]) -> str:
    froms = draw(st.lists(st.sampled_from(sources), min_size=1, unique=True))
    tos = draw(st.lists(st.sampled_from(dests), min_size=1, unique=True))
    ports = [f"aie.packet_source<{end}>" for end in froms] + [f"aie.packet_dest<{end}>" for end in tos]
    words = ", ".join(draw(st.sampled_from([[], [], ["keep_pkt_header = true"], ["priority_route = true"]])))
    return f"aie.packet_flow({draw(st.integers(0, 31))}) {{ {' '.join(ports)} }}" + (f" {{{words}}}" if words else "")
