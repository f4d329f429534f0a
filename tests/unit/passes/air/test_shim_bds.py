"""Whatever loops the host runs, their transfers say the same afterwards, overflow nothing, and take little time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from time import process_time

import numpy as np
from air_nests import DEVICE, Access, Nest, design_of, fits, folded, moves_of, nests, plan_in, sent
from helpers import lowered
from hypothesis import given, settings

from tilewright.device import model
from tilewright.device.timing import timing_of
from tilewright.driver.compiled_design import compile_text
from tilewright.ir.printer import module_text
from tilewright.passes.air.air_opt_shim_dma_bds import AirOptShimDmaBdsPass
from tilewright.passes.air.air_opt_shim_dma_bds.cost import PlanCost, Start, cost_of, in_tiles
from tilewright.passes.air.air_opt_shim_dma_bds.tiling import EmptyTile
from tilewright.passes.air.air_shim_endpoints import AirShimEndpointsPass

CASES = int(os.environ.get("TILEWRIGHT_NESTS", "6"))
SIZE = int(os.environ.get("TILEWRIGHT_TRANSFERS", "1000"))
AUTO = AirOptShimDmaBdsPass(device=DEVICE, empty_tile=EmptyTile.AUTO)
CASCADE = Nest((8,), tuple(Access(0, True, (64,), (1,), ((64,),)) for _ in range(2)))


@settings(max_examples=CASES)
@given(nests())
def test_transfers_say_what_the_loops_said(nest: Nest):
    expected = nest.expected()
    for empty in EmptyTile:
        assert sent(folded(nest, empty=empty)) == expected


@settings(max_examples=CASES)
@given(nests())
def test_the_chosen_plan_runs_and_is_near_the_best_tile_size(nest: Nest):
    chosen = _chosen(nest)
    tiles = [_tiled(nest, sizes) for sizes in product(*(_divisors(trips) for trips in nest.trips))]
    best = min((cost.cycles for cost in tiles if cost is not None), default=chosen.cycles)
    assert chosen.cycles <= 1.05 * best
    one_by_one = _tiled(nest, [1] * len(nest.trips), must_fit=False)
    assert one_by_one is not None and chosen.operations <= one_by_one.operations
    _run(nest)


def test_the_model_agrees_with_the_simulator():
    modelled = _chosen(CASCADE).cycles
    assert abs(_run(CASCADE) - modelled) < 0.02 * modelled


def _chosen(nest: Nest) -> PlanCost:
    """What the plan in the program costs, waits and all."""
    moves, steps = plan_in(folded(nest, empty=EmptyTile.AUTO))
    return cost_of(moves, steps, timing_of(model(DEVICE).arch))


def _tiled(nest: Nest, sizes: Sequence[int], must_fit: bool = True) -> PlanCost | None:
    """What tiles of a size would cost; None if a queue would overflow."""
    moves, ends = moves_of(folded(nest, *sizes))
    ends = [*ends, len(moves)] if not ends or ends[-1] != len(moves) else ends
    if must_fit and not fits(moves, ends):
        return None
    return cost_of(moves, in_tiles(moves, ends), timing_of(model(DEVICE).arch))


def _divisors(number: int) -> list[int]:
    return [factor for factor in range(1, number + 1) if number % factor == 0]


def _run(nest: Nest) -> int:
    """Run a nest on the simulator, which faults where a queue overflows or a descriptor changes under way."""
    arrays = [np.arange(nest.extent(access), dtype=np.int32) for access in nest.accesses]
    return design_of(nest.text(), AUTO).run(*arrays).cycles


def test_channels_move_in_step():
    nest = Nest((6,), (*CASCADE.accesses, Access(1, True, (64,), (1,), ((64,),)), Access(1, True, (8,), (1,), ((8,),))))
    moves, steps = plan_in(folded(nest, empty=EmptyTile.AUTO))
    under_way = [
        len([s for s in steps[:n] if isinstance(s, Start) and moves[s.move].channel.number == c])
        for n in range(len(steps))
        for c in (0, 1)
    ]
    assert max(abs(a - b) for a, b in zip(under_way[::2], under_way[1::2], strict=True)) <= 2
    _run(nest)


def test_time_grows_with_the_size():
    small, large = (min(_seconds(count) for _ in range(2)) for count in (SIZE // 4, SIZE))
    assert large < 7 * small


def _seconds(transfers: int) -> float:
    nest = Nest((transfers // 2,), CASCADE.accesses)
    text = nest.text()
    begin = process_time()
    lowered(text, AUTO)
    return process_time() - begin


LAUNCHES = """
func.func @host(%a: memref<512xi32>, %b: memref<512xi32>, %c: memref<512xi32>) {
  %c2 = arith.constant 2 : index
  %0 = air.launch async (%i) in (%n=%c2) args(%x=%a, %y=%b) : memref<512xi32>, memref<512xi32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %start = air.wait_all async
    %end = scf.for %j = %c0 to %c4 step %c1 iter_args(%t = %start) -> (!air.async.token) {
      %row = affine.apply affine_map<(d0)[s0] -> (d0 * 64 + s0 * 256)>(%j)[%i]
      %1 = air.channel.put async [%t] @cascade[] (%x[%row] [%c64] [%c1]) : (memref<512xi32>)
      %2 = air.channel.put async [%1] @cascade[] (%y[%row] [%c64] [%c1]) : (memref<512xi32>)
      scf.yield %2 : !air.async.token
    }
  }
  %3 = air.launch async [%0] () in () args(%z=%c) : memref<512xi32> {
    %4 = air.channel.get async @result[] (%z[] [] []) : (memref<512xi32>)
  }
  return
}
"""


def test_a_module_with_host_code_compiles_to_a_design_that_runs():
    module = lowered(LAUNCHES, AirShimEndpointsPass(DEVICE))
    design = compile_text(module_text(module), "launches.mlir")
    assert design.run(*(np.zeros(512, np.int32) for _ in range(3))).cycles > 0
