"""Annealing: placements are legal, the same seed gives the same one, and the price is right after every move."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.device import TileType
from tilewright.dialects.aie.tiles import DeviceOp, LogicalTileOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.passes.design.place_tiles import anneal
from tilewright.passes.design.place_tiles.annealing import Annealer, Candidate
from tilewright.passes.design.place_tiles.problem import PlacementProblem


def device_of(text: str) -> DeviceOp:
    module = parse_source(make_context(), text, "design.mlir")
    (device,) = module.ops
    assert isinstance(device, DeviceOp)
    return device


@st.composite
def designs(draw: st.DrawFn) -> str:
    """Cores in a row of FIFOs between a shim and a mem tile, with some wishes, cascades and sizes."""
    count = draw(st.integers(1, 4))
    rows = draw(st.lists(st.sampled_from(["?", "?", "2", "4"]), min_size=count, max_size=count))
    size = draw(st.sampled_from([16, 4096, 12000]))
    chain = ["shim", *(f"c{n}" for n in range(count)), "mem"]
    lines = ["%shim = aie.logical_tile<ShimNOCTile>(?, ?)", "%mem = aie.logical_tile<MemTile>(?, ?)"]
    lines += [f"%c{n} = aie.logical_tile<CoreTile>(?, {row})" for n, row in enumerate(rows)]
    for n, (one, other) in enumerate(pairwise(chain)):
        type = f"!aie.objectfifo<memref<{size}xi8>>"
        lines.append(f"aie.objectfifo @f{n}(%{one}, {{%{other}}}, 2 : i32) : {type}")
    return f"aie.device(npu2) {{ {' '.join(lines)} }}"


def wishes(tile: LogicalTileOp) -> tuple[int | None, int | None]:
    column, row = (None if number is None else number.value.data for number in (tile.col, tile.row))
    return column, row


@settings(max_examples=3)
@given(designs(), st.integers(1, 100))
def test_placements_are_legal_and_repeatable(text: str, seed: int) -> None:
    device = device_of(text)
    places = anneal(device, seed).places
    cores = [place for tile, place in places.items() if tile.is_core]
    assert len(set(cores)) == len(cores)
    for tile, place in places.items():
        assert device.model.tile_type(*place) is tile.tile_type
        assert all(wish in (None, number) for wish, number in zip(wishes(tile), place, strict=True))
    assert list(places.values()) == list(anneal(device_of(text), seed).places.values())


@settings(max_examples=10)
@given(designs(), st.integers(1, 100))
def test_price_is_kept_up_to_date(text: str, seed: int) -> None:
    """After any moves, some of them taken back, the price is that of a candidate made from the places afresh."""
    problem = PlacementProblem(device_of(text))
    state, random = Annealer(problem, seed).state, Random(seed)
    cores = [place for place in problem.model.tiles if problem.model.tile_type(*place) is TileType.CoreTile]
    for _ in range(20):
        tile = random.choice([tile for tile in problem.tiles if tile.is_core])
        state.move({tile: random.choice(cores)})
        if random.random() < 0.5:
            state.undo()
    assert state.price() == Candidate(problem, state.places).price()
