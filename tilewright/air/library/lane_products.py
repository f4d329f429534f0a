"""Products of matrices of any size on the lanes of any GPU, from one build: `C = activation(scale * A B + bias)`.

A block computes a tile of C. Its lanes copy tiles of A (transposed) and B into memory of the block, the next ones while
the present ones are multiplied, and keep a tile of C each in registers. There are kernels for rows that begin at
multiples of 16 bytes, and for all others, for tiles of several sizes each; which one runs is decided when the sizes are
known. Tiles that would keep few blocks busy are shared by all of them (`tile_model`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.air.dtypes import f32
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch
from tilewright.air.library.assembly import meet_launches
from tilewright.air.library.by_bandwidth import either
from tilewright.air.library.finishing import Finish
from tilewright.air.library.lane_block import VECTOR, Problem, ProductBlock, Tiles, waves_of
from tilewright.air.library.tile_model import (
    LOADED_PARTS,
    Division,
    TileCost,
    best_of,
    one_of,
    quotient,
    sum_of_parts,
)
from tilewright.air.messages import FlatArray, array
from tilewright.air.vectors import Vector, broadcast
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.scalars import as_index

LARGE = Tiles(128, 128, 8, 16, 8, resident=2, has_fours_of_a=True)
HALF = Tiles(64, 128, 8, 8, 8, resident=3)
SMALL, TINY = Tiles(64, 64, 8, 8, 8, 2, resident=3), Tiles(32, 64, 16, 4, 8, 2, resident=4)
TILES = LARGE, HALF, SMALL, TINY


def _costs(*numbers: tuple[int, int, int, int]) -> list[TileCost]:
    """What each of `TILES` takes for a step, for one alone, for a tile besides, and once."""
    costs = list[TileCost]()
    for tiles, (step, alone, fixed, start) in zip(TILES, numbers, strict=True):
        sizes = tiles.m, tiles.n, tiles.step
        crowded = tiles is LARGE
        costs.append(TileCost(*sizes, step, alone, fixed, tiles.resident, crowded=crowded, start_ns=start))
    return costs


COSTS = {
    VECTOR: _costs((1310, 820, 2260, 950), (1016, 504, 185, 1930), (1117, 613, 130, 1900), (1883, 639, 170, 2240)),
    1: _costs((1367, 864, 3520, 155), (1074, 584, 2080, 105), (1160, 616, 2110, 800), (1909, 797, 680, 1820)),
}
"""By how many elements of B are loaded at once. Fitted to 1,300 times of 84 products with each tile, shared by 1 to 32
blocks; what they choose takes 1.5 % longer than the best, on average.
"""
FEW_SHARES = 6
"""Up to so many parts of a tile are added up by one group of lanes."""
JOINERS = 4
"""Groups that add up more, each some of them."""
MANY_LANES = 512
"""Of a block, each of which has registers for one part at a time."""


@jit(opt_level=0)
def lane_product(
    a: Any,
    b: Any,
    bias: Any,
    c: Any,
    scale: Any,
    *,
    has_bias: bool,
    function: Callable[[Any], Any] | None,
    layouts: tuple[str, str],
) -> None:
    """`c = function(scale * a b + bias)` for stacks of matrices of f32, f16 or bf16."""
    batch, m, n = c.shape
    sizes = m, n, a.shape[2 if layouts[0] == "row" else 1]
    problem = Problem(a, b, Finish(c, bias if has_bias else None, scale, function), layouts, sizes)
    bests = {width: best_of(costs, sizes, batch) for width, costs in COSTS.items()}
    # where rows begin at multiples of 16 bytes, four elements are loaded at once
    is_aligned = (as_index(n) % VECTOR == 0) & (as_index(sizes[2]) % VECTOR == 0)
    if problem.has_rows_of_f32:
        best, shares = (math.where(is_aligned, *pair) for pair in zip(bests[VECTOR], bests[1], strict=True))
    else:
        best, shares = bests[1]

    def build_kernels(work: Work) -> None:
        if problem.has_rows_of_f32:
            either(is_aligned, lambda: _kernel(work, VECTOR), lambda: _kernel(work, 1))
        else:
            _kernel(work, 1)

    one_of(best, len(TILES), lambda number: _multiply(problem, COSTS[1][number], TILES[number], shares, build_kernels))


def _multiply(
    problem: Problem, cost: TileCost, tiles: Tiles, shares: Any, build_kernels: Callable[[Work], None]
) -> None:
    """Compute tiles and parts of tiles, and add up the parts."""
    (m, n, k), batch = problem.sizes, problem.finish.c.shape[0]
    grid = cdiv(m, tiles.m), cdiv(n, tiles.n)
    division = Division.of(cost.slots, grid[0] * grid[1] * batch, cdiv(k, tiles.step), shares)
    room = array((math.maximum(division.parts, 1) * (tiles.m * tiles.n),), f32)
    parts = FlatArray(room.ssa, f32, (division.parts, tiles.vectors, tiles.threads, VECTOR))
    work = Work(problem, tiles, grid, division, parts)
    build_kernels(work)
    with if_(division.parts > 0, hasElse=False):
        _join(work)


@dataclass(frozen=True)
class Work:
    """A product, and how it is divided among blocks; sums of parts of tiles are in `parts`."""

    problem: Problem
    tiles: Tiles
    grid: tuple[Any, Any]
    """Tiles below and beside each other."""
    division: Division
    parts: FlatArray

    def place(self, tile: Any) -> tuple[Any, Any, Sequence[Any]]:
        """Its column and row among tiles, and its matrix in each stack."""
        down, across = self.grid
        rows, column = quotient(tile, across)
        matrix, row = quotient(rows, down)
        return column, row, (matrix, matrix, matrix)


def _kernel(work: Work, width: int) -> None:
    problem, tiles, division = work.problem, work.tiles, work.division
    k = problem.sizes[2]

    @launch(division.items, waves=waves_of(tiles), least_blocks=tiles.resident)
    def _(number: Any) -> None:
        meet_launches(lets_begin=False)
        item = division.item(number)
        depth = item.first * tiles.step, math.minimum(item.last * tiles.step, k)
        block = ProductBlock(problem, tiles, width, *work.place(item.tile), depth)

        def write(sums: Sequence[Vector]) -> None:
            with if_(item.part < 0) as is_whole:
                block.write(sums)
            with else_(is_whole):
                block.keep(sums, work.parts, item.part)

        with if_(item.first < item.last, hasElse=False):
            block.run(write)


def _join(work: Work) -> None:
    """Add up the parts of tiles: of many parts, groups of lanes have some each."""
    either(work.division.shares > FEW_SHARES, lambda: _join_by(work, JOINERS), lambda: _join_by(work, 1))


def _join_by(work: Work, groups: int) -> None:
    division, tiles = work.division, replace(work.tiles, groups=groups)
    fours, at_a_time = VECTOR * tiles.across, 1 if tiles.threads * groups >= MANY_LANES else LOADED_PARTS

    @launch((division.left, tiles.rows // VECTOR), waves=waves_of(tiles))
    def _(left: Any, number: Any) -> None:
        meet_launches(lets_begin=False)
        block = ProductBlock(work.problem, tiles, 1, *work.place(division.whole + left))
        count, part = division.parts_of(left)

        def load(turn: Any) -> list[Vector]:
            which = part(turn * groups + block.group)
            return [block.kept(work.parts, which, number * fours + place) for place in range(fours)]

        own = cdiv(math.maximum(as_index(count) - block.group, 0), groups)
        sums = sum_of_parts(own, load, [broadcast(0.0, VECTOR) for _ in range(fours)], at_a_time)
        block.write_rows(block.joined(sums), number)
