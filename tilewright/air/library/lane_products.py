"""Products of matrices of any size on the lanes of any GPU, from one build: `C = activation(scale * A B + bias)`.

A block computes a tile of C. Its lanes copy tiles of A (transposed) and B into memory of the block, the next ones while
the present ones are multiplied, and keep a tile of C each in registers. There are kernels for sizes that tiles divide,
for rows that begin at multiples of 16 bytes, and for all others; which one runs is decided when the sizes are known.
Tiles that would keep few blocks busy are shared by all of them (`tile_model`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from xdsl.dialects.builtin import i64

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32
from tilewright.air.dtypes import i64 as wide
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch
from tilewright.air.library.assembly import meet_launches
from tilewright.air.library.by_bandwidth import either
from tilewright.air.library.finishing import Finish
from tilewright.air.library.lane_block import VECTOR, Problem, ProductBlock, Tiles, waves_of
from tilewright.air.library.operands import one_array
from tilewright.air.library.tile_model import (
    LOADED_PARTS,
    SUM_BYTES,
    Division,
    TileCost,
    best_of,
    choose,
    chosen,
    one_of,
    quotient,
    sum_of_parts,
)
from tilewright.air.messages import FlatArray, array
from tilewright.air.tiles import shared
from tilewright.air.trace import current
from tilewright.air.vectors import Vector, broadcast, vector, vstore
from tilewright.air.waves import lane, wave
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.scalars import ScalarValue, as_index

LARGE, SMALL = Tiles(128, 128, 8, 16, 8, resident=2), Tiles(64, 64, 16, 8, 8, 2, resident=3)
DEEP, NARROW = Tiles(64, 64, 8, 8, 8, 4), Tiles(128, 112, 8, 16, 7, resident=2)
COSTS = {
    TileCost(128, 128, LARGE.step, 1400, 835, 2000, LARGE.resident): LARGE,
    TileCost(64, 64, SMALL.step, 2290, 1065, 2500, SMALL.resident): SMALL,
    TileCost(64, 64, DEEP.step, 960, 960, 2000, DEEP.resident): DEEP,
}
"""Of rows that begin at multiples of 16 bytes."""
PAIR = 2
"""Elements that are loaded at once where rows begin at multiples of 8 bytes."""


def _loose(tiles: Tiles, step_ns: int, alone_ns: int, fixed_ns: int) -> TileCost:
    """What tiles take where rows begin anywhere, as it was found from whole products."""
    sizes = tiles.m, tiles.n, tiles.step
    return TileCost(*sizes, step_ns, alone_ns, fixed_ns, tiles.resident, crowded=True)


LOOSE = {
    _loose(LARGE, 1370, 900, 2200): (LARGE, VECTOR),
    _loose(LARGE, 1460, 920, 4700): (LARGE, PAIR),
    _loose(NARROW, 1290, 900, 6000): (NARROW, PAIR),
    _loose(SMALL, 2465, 1110, 2500): (SMALL, PAIR),
    _loose(DEEP, 1065, 1065, 1900): (DEEP, PAIR),
}
"""Of all other rows of f32, and how many elements are loaded at once. Fours are of copies that are as deep as whole
steps, pairs of matrices as they are, unless their rows have odd lengths.

Both tables are fitted to times of 25 products with each tile, shared by 1 to 16 blocks: to 2 %, of small tiles to 3 %.
What they choose takes 0.3 % longer than the best, of aligned rows 1.3 %, on average.
"""
MOST_OF_GRID = 1 << 16
"""Blocks in the second and third dimension of a grid."""
FEW_SHARES = 6
"""Up to so many parts of a tile are added up by one group of lanes."""
JOINERS = 4
"""Groups that add up more, each some of them."""
MANY_LANES = 512
"""Of a block, each of which has registers for one part at a time."""
COPY_NS, COPIED_BYTES_PER_NS = 4000, 3000
"""To start a kernel that copies matrices, and what it reads and writes at."""
COPY_WAVES, COPY_TURNS = 4, 4
"""Of a block that copies a matrix: each lane copies so many fours of a row."""


@jit
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
    if problem.can_use_vectors:
        _product_of_rows(problem)
        return

    def emit(cost: TileCost, shares: Any) -> None:
        _multiply(problem, COSTS[cost], cost.slots, shares, partial(_kernel, exact=False, width=1))

    choose([*COSTS], sizes, batch, emit)


def _product_of_rows(problem: Problem) -> None:
    """Of matrices whose rows are loaded several elements at a time: choose how, and copy what has to be for that."""
    sizes, batch, ways = problem.sizes, problem.finish.c.shape[0], [*LOOSE.values()]
    m, n, k = (as_index(size) for size in sizes)
    is_aligned = (n % VECTOR == 0) & (k % VECTOR == 0)
    best, shares = best_of([*COSTS], sizes, batch)
    lengths = [_lengths(sizes, *way) for way in ways]
    loose, loose_shares = best_of([*LOOSE], sizes, batch, [_copy_ns(sizes, batch, each) for each in lengths])
    shares = math.where(is_aligned, shares, loose_shares)
    depth, row_a, row_b = (
        math.where(is_aligned, given, chosen(loose, [each[place] for each in lengths]))
        for place, given in enumerate((k, k, n))
    )
    a, b = _copied((problem.a, problem.b), ((m, row_a), (depth, row_b)))
    pairs = replace(problem, a=a, b=b)
    fours = replace(pairs, sizes=(m, n, depth), is_deep=True)
    width = as_index(chosen(loose, [width for _, width in ways]))

    def build_loose(work: Work) -> None:
        kernels: dict[int, Callable[[], None]] = {
            VECTOR: lambda: _kernel(replace(work, problem=fours), exact=False, width=VECTOR),
            PAIR: lambda: _kernel(replace(work, problem=pairs), exact=False, width=PAIR),
        }
        first, *others = [width for tiles, width in ways if tiles is work.tiles]
        for other in others:
            either(width == first, kernels[first], kernels[other])
        if not others:
            kernels[first]()

    def build_kernels(work: Work) -> None:
        if work.tiles in COSTS.values():
            either(is_aligned, lambda: _aligned(work), lambda: build_loose(work))
        else:
            build_loose(work)

    slots = {tiles: cost.slots for cost, (tiles, _) in LOOSE.items()}
    known = [*slots]
    number = math.where(
        is_aligned,
        as_index(chosen(best, [known.index(tiles) for tiles in COSTS.values()])),
        as_index(chosen(loose, [known.index(tiles) for tiles, _ in ways])),
    )
    one_of(number, len(known), lambda at: _multiply(problem, known[at], slots[known[at]], shares, build_kernels))


def _multiply(problem: Problem, tiles: Tiles, slots: int, shares: Any, build_kernels: Callable[[Work], None]) -> None:
    """Compute tiles and parts of tiles, and add up the parts."""
    (m, n, k), batch = problem.sizes, problem.finish.c.shape[0]
    grid = cdiv(m, tiles.m), cdiv(n, tiles.n)
    division = Division.of(slots, grid[0] * grid[1] * batch, cdiv(k, tiles.step), shares)
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


def _lengths(sizes: tuple[Any, Any, Any], tiles: Tiles, width: int) -> tuple[Any, Any, Any]:
    """The depth, and how long rows of A and of B are where so many elements are loaded at once."""
    _, n, k = (as_index(size) for size in sizes)
    fours_k, fours_n = (cdiv(size, VECTOR) * VECTOR for size in (k, n))
    if width == PAIR:
        return k, math.where(k % PAIR == 0, k, fours_k), math.where(n % PAIR == 0, n, fours_n)
    depth = cdiv(k, tiles.step) * tiles.step
    return depth, depth, fours_n


def _copy_ns(sizes: tuple[Any, Any, Any], batch: Any, lengths: tuple[Any, Any, Any]) -> ScalarValue:
    """What it takes to copy matrices that have other rows."""
    (m, n, k), (depth, row_a, row_b) = (as_index(size) for size in sizes), lengths
    copied = math.where(row_a != k, m * row_a, 0) + math.where((depth != k) | (row_b != n), depth * row_b, 0)
    return math.where(copied > 0, copied * batch * SUM_BYTES // COPIED_BYTES_PER_NS + COPY_NS, 0)


def _copied(given: Sequence[Array], shapes: Sequence[tuple[Any, Any]]) -> list[Array]:
    """Matrices of these shapes: copies of those that have others. What is new in longer rows, and more, is zero."""
    batch, threads = given[0].shape[0], COPY_WAVES * current().lanes
    made, spans, parts, blocks = list[Array](), list[Any](), list[Any](), list[Any]()
    for source, (rows, row) in zip(given, shapes, strict=True):
        is_copied = (source.shape[1] != rows) | (source.shape[2] != row)
        made.append(_made_or_given(is_copied, (batch, rows, row), source))
        fours = cdiv(row, VECTOR)
        # so many lanes take a row, a wave if it is long; others take those behind it
        spans.append(_span(fours, current().lanes))
        parts.append(cdiv(fours, spans[-1] * COPY_TURNS))
        blocks.append(math.where(is_copied, cdiv(rows, threads // spans[-1]) * parts[-1], 0))

    def copy(number: int, block: Any, matrix: Any) -> None:
        source, target, span = given[number], made[number], spans[number]
        (_, rows, row), (_, old_rows, old_row) = target.shape, source.shape
        below, part = quotient(block, parts[number])
        beside, own = quotient(wave() * current().lanes + lane(), span)
        y = below * (threads // span) + beside
        old_y, has_row = math.minimum(y, old_rows - 1), y < old_rows
        with if_(y < rows, hasElse=False):
            for turn in range(COPY_TURNS):
                first = ((part * COPY_TURNS + turn) * span + own) * VECTOR
                with if_(first < row, hasElse=False):
                    columns = [first + place for place in range(VECTOR)]
                    elements = [source[matrix, old_y, math.minimum(column, old_row - 1)] for column in columns]
                    there = [has_row & (column < old_row) for column in columns]
                    kept = [math.where(*each, 0.0) for each in zip(there, elements, strict=True)]
                    vstore(vector(kept), target, (matrix, y, first), alignment=16)

    with if_(blocks[0] + blocks[1] > 0, hasElse=False):

        @launch((blocks[0] + blocks[1], batch), waves=COPY_WAVES)
        def _(block: Any, matrix: Any) -> None:
            meet_launches(lets_begin=False)
            with if_(block < blocks[0]) as is_first:
                copy(0, block, matrix)
            with else_(is_first):
                copy(1, block - blocks[0], matrix)

    return made


def _span(fours: Any, lanes: int) -> Any:
    """Lanes that take a row of so many fours: the least power of two that is enough, or a wave of so many."""
    found, power = as_index(lanes), lanes // 2
    while power:
        found = math.where(as_index(fours) <= power, power, found)
        power //= 2
    return found


def _made_or_given(is_made: Any, shape: tuple[Any, Any, Any], given: Array) -> Array:
    """A new array, or one of the same shape that is given."""
    return Array(one_array(is_made, given, lambda: array(shape, f32).ssa, lambda: given.ssa), f32, shape)


def _aligned(work: Work) -> None:
    """The kernel for rows that begin at multiples of 16 bytes."""
    tiles, division, (m, n, k) = work.tiles, work.division, work.problem.sizes
    if tiles is not LARGE:
        _kernel(work, exact=False, width=VECTOR)
        return
    with if_((m % tiles.m == 0) & (n % tiles.n == 0) & (k % tiles.step == 0)) as fits:
        with if_((division.parts == 0) & (division.whole < MOST_OF_GRID)) as whole:
            _whole_kernel(work)
        with else_(whole):
            _kernel(work, exact=True, width=VECTOR)
    with else_(fits):
        _kernel(work, exact=False, width=VECTOR)


def _kernel(work: Work, exact: bool, width: int) -> None:
    problem, tiles, division = work.problem, work.tiles, work.division
    k = problem.sizes[2]

    @launch(division.items, waves=waves_of(tiles), least_blocks=tiles.resident)
    def _(number: Any) -> None:
        meet_launches(lets_begin=False)
        item = division.item(number)
        depth = item.first * tiles.step, math.minimum(item.last * tiles.step, k)
        block = ProductBlock(problem, tiles, exact, width, *work.place(item.tile), depth)
        # kept in memory until sums are written, since these take all registers
        kept = shared((4,), wide)
        with if_(wave() * current().lanes + lane() == 0, hasElse=False):
            for place, value in enumerate((block.row0, block.column0, block.c_number, item.part)):
                kept[place] = as_index(value).astype(i64)

        def write(totals: Sequence[Vector]) -> None:
            block.row0, block.column0, block.c_number, part = (as_index(kept[place]) for place in range(4))
            with if_(part < 0) as is_whole:
                block.write(totals)
            with else_(is_whole):
                block.keep(totals, work.parts, part)

        with if_(item.first < item.last, hasElse=False):
            block.run(write)


def _whole_kernel(work: Work) -> None:
    """Where all fits and nothing is shared, less is left for a block to keep beside its sums."""
    down, across = work.grid
    batch = work.problem.finish.c.shape[0]

    @launch((across, down, batch), waves=waves_of(work.tiles), least_blocks=work.tiles.resident)
    def _(x: Any, y: Any, matrix: Any) -> None:
        meet_launches(lets_begin=False)
        ProductBlock(work.problem, work.tiles, True, VECTOR, x, y, (matrix, matrix, matrix)).run()


def _join(work: Work) -> None:
    """Add up the parts of tiles: of many parts, groups of lanes have some each."""
    either(work.division.shares > FEW_SHARES, lambda: _join_by(work, JOINERS), lambda: _join_by(work, 1))


def _join_by(work: Work, groups: int) -> None:
    division, tiles = work.division, replace(work.tiles, groups=groups)
    fours, at_a_time = tiles.columns, 1 if tiles.threads * groups >= MANY_LANES else LOADED_PARTS

    @launch((division.left, tiles.rows // VECTOR), waves=waves_of(tiles))
    def _(left: Any, number: Any) -> None:
        meet_launches(lets_begin=False)
        block = ProductBlock(work.problem, tiles, False, 1, *work.place(division.whole + left))
        count, part = division.parts_of(left)

        def load(turn: Any) -> list[Vector]:
            which = part(turn * groups + block.group)
            return [block.kept(work.parts, which, number * fours + place) for place in range(fours)]

        own = cdiv(math.maximum(as_index(count) - block.group, 0), groups)
        sums = sum_of_parts(own, load, [broadcast(0.0, VECTOR) for _ in range(fours)], at_a_time)
        block.write_rows(block.joined(sums), number)
