"""Products whose matrices are with several ranks, where ranks exchange data while they multiply.

`all_gather_matmul` is for rows of A that ranks have parts of: while a rank multiplies one part, other blocks of its
launch bring the next one from its owner's symmetric heap. `matmul_reduce_scatter` is for a depth that ranks have parts
of: what a rank computes for the rows of another it stores in that one's heap at once, tile by tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.air.dtypes import f32
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, rank, rank_number, sequential, world_size
from tilewright.air.library.by_bandwidth import TILE, copy_tiles, either, reduced_ranks
from tilewright.air.library.collectives import heap_bytes
from tilewright.air.library.finishing import Finish
from tilewright.air.library.lane_products import LARGE, SMALL, VECTOR, Problem, ProductBlock, Tiles, waves_of
from tilewright.air.library.meetings import MOST_RANKS
from tilewright.air.library.products import FLOATS, FP8, check_matrix
from tilewright.air.messages import FlatArray, SymmetricArray, array, peer, symmetric
from tilewright.air.tile_transfers import load
from tilewright.air.waves import barrier
from tilewright.errors import ArgumentError
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.scalars import as_index

Numbers = npt.NDArray[Any]
COPIERS = 32
"""Blocks that bring the next part, the first of a launch, so that they begin with it."""
LARGE_ROWS = 1024
"""Parts with so many rows and columns have enough large tiles for a GPU."""


def all_gather_matmul(parts: Sequence[Numbers], factors: Sequence[Numbers], **options: Any) -> list[Numbers]:
    """Rank `r` ends with `[part of rank 0, part of rank 1, ...] @ factors[r]`, rows one below the other.

    `parts` are matrices of f32, f16 or bf16, one of each rank, and so are `factors`; all of one shape each.
    """
    a, b = _both(parts, factors)
    (ranks, rows, _), columns = a.shape, b.shape[2]
    result = np.zeros((ranks, rows, columns), a.dtype)
    if not result.size:
        return [result.reshape(ranks * rows, columns)] * ranks
    options = {"heap_bytes": heap_bytes(a[0].nbytes), **options}
    done = all_gather_product.options(ranks=ranks, **options).run(a.reshape(ranks, -1), b, result)
    return [np.asarray(report.arrays[2]).reshape(ranks * rows, columns) for report in done.ranks]


def matmul_reduce_scatter(parts: Sequence[Numbers], factors: Sequence[Numbers], **options: Any) -> list[Numbers]:
    """Rank `r` ends with its share of the rows of the sum of all `parts[i] @ factors[i]`.

    `parts` are matrices of f32, f16 or bf16, one of each rank, and so are `factors`; all of one shape each. As many
    rows go to each rank; their number is a multiple of that of ranks. Sums are f32.
    """
    a, b = _both(parts, factors)
    (ranks, rows, _), columns = a.shape, b.shape[2]
    if rows % ranks:
        raise ArgumentError(f"{rows} rows cannot be shared among {ranks} ranks")
    result = np.zeros((rows // ranks, columns), a.dtype)
    if not result.size:
        return [result] * ranks
    options = {"heap_bytes": heap_bytes(4 * rows * columns), **options}
    done = product_reduce_scatter.options(ranks=ranks, **options).run(a.reshape(-1), b, result)
    return [np.asarray(report.arrays[2]) for report in done.ranks]


def _both(parts: Sequence[Numbers], factors: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    if not 2 <= len(parts) <= MOST_RANKS or len(parts) != len(factors):
        given = f"{len(parts)} and {len(factors)}"
        raise ArgumentError(f"there is a part and a factor of each of 2 to {MOST_RANKS} ranks, not {given}")
    for name, arrays in (("parts", parts), ("factors", factors)):
        if len({(np.shape(one), np.asarray(one).dtype) for one in arrays}) != 1:
            raise ArgumentError(f"{name} of all ranks have one shape and one type")
    a, b = (check_matrix(name, np.stack(arrays), FLOATS) for name, arrays in (("parts", parts), ("factors", factors)))
    if a.shape[2] != b.shape[1]:
        raise ArgumentError(f"matrices of shape {a.shape[1:]} and {b.shape[1:]} have no product")
    if a.dtype in FP8:
        a, b = a.astype(np.float16), b.astype(np.float16)
    # a depth of nothing would be a loop that never begins; zeros add nothing
    if a.shape[2] == 0:
        a, b = np.zeros((*a.shape[:2], 1), a.dtype), np.zeros((b.shape[0], 1, b.shape[2]), b.dtype)
    return a, b


def _variants(problem: Problem, emit: Callable[[Tiles, int], None]) -> None:
    """The kernels of a product; which one runs is decided when the sizes are known."""
    m, n, k = problem.sizes
    large = (as_index(m) >= LARGE_ROWS) & (as_index(n) >= LARGE_ROWS)
    if not problem.has_rows_of_f32:
        either(large, lambda: emit(LARGE, 1), lambda: emit(SMALL, 1))
        return
    either(
        (as_index(n) % VECTOR == 0) & (as_index(k) % VECTOR == 0),
        lambda: either(large, lambda: emit(LARGE, VECTOR), lambda: emit(SMALL, VECTOR)),
        lambda: emit(SMALL, 1),
    )


@jit(opt_level=0)
def all_gather_product(a: Any, b: Any, result: Any) -> None:
    """Row `r` of `a` is the part of rank `r`, `b[r]` its factor."""

    @rank()
    def _(me: Any) -> None:
        size, ranks = a.shape[1], world_size()
        _, depth, columns = b.shape
        rows = result.shape[1]
        room = symmetric((1, size), a.dtype)
        copy_tiles(room, lambda _, part: load(a[me, part]))
        barrier()
        # one part is multiplied while the next one comes to the other place
        memory = array((size * 2,), a.dtype)
        near, places = (FlatArray(memory.ssa, a.dtype, shape) for shape in ((2, rows, depth), (2, size)))
        copy_tiles(FlatArray(memory.ssa, a.dtype, (1, size)), lambda _, part: load(room[0, part]))
        problem = Problem(near, b, Finish(result, None, 1.0, None), ("row", "row"), (rows, columns, depth))
        for step in sequential(ranks):
            _variants(problem, lambda tiles, width: _multiply_and_bring(problem, tiles, width, step, room, places))  # noqa: B023
        barrier()


def _multiply_and_bring(
    problem: Problem, tiles: Tiles, width: int, step: Any, room: SymmetricArray, places: FlatArray
) -> None:
    rows, columns, _ = problem.sizes
    across, ranks, me = cdiv(columns, tiles.n), world_size(), rank_number()
    owner = (me + step) % ranks
    following = (owner + 1) % ranks

    @launch(cdiv(rows, tiles.m) * across + COPIERS, waves=waves_of(tiles))
    def _(block: Any) -> None:
        with if_(block < COPIERS) as brings, if_(step + 1 < ranks, hasElse=False):
            source = peer(room, following)
            for first in sequential(block * TILE, room.shape[1], COPIERS * TILE):
                part = slice(first, first + TILE)
                places[(step + 1) % 2, part] = load(source[0, part])
        with else_(brings):
            number = block - COPIERS
            matrices = step % 2, me, owner
            ProductBlock(problem, tiles, width, number % across, number // across, matrices).run()


@jit(opt_level=0)
def product_reduce_scatter(a: Any, b: Any, result: Any) -> None:
    """`a` has the parts of all ranks one after the other, `b[r]` is the factor of rank `r`."""

    @rank()
    def _(me: Any) -> None:
        (_, depth, columns), ranks = b.shape, world_size()
        rows = result.shape[0]
        # what goes to a rank are the products of as many rows
        blocks = FlatArray(a.ssa, a.dtype, (ranks * ranks, rows, depth))
        room = symmetric((ranks, rows, columns), f32)
        problem = Problem(blocks, b, Finish(room, None, None, None), ("row", "row"), (rows, columns, depth))
        _variants(problem, lambda tiles, width: _multiply_and_send(problem, tiles, width, room))
        barrier()
        parts = FlatArray(room.ssa, f32, (ranks, rows, columns))

        @launch((cdiv(columns, TILE), rows), waves=4)
        def _(block: Any, row: Any) -> None:
            part = slice(block * TILE, block * TILE + TILE)
            total = reduced_ranks(lambda other: load(parts[other, row, part]), "sum")
            result[row, part] = total.astype(result.dtype)

        barrier()


def _multiply_and_send(problem: Problem, tiles: Tiles, width: int, room: SymmetricArray) -> None:
    rows, columns, _ = problem.sizes
    ranks, me = world_size(), rank_number()

    @launch((cdiv(columns, tiles.n), cdiv(rows, tiles.m), ranks), waves=waves_of(tiles))
    def _(x: Any, y: Any, step: Any) -> None:
        # ranks begin with different ones, so that no heap gets all at once
        target = (me + 1 + step) % ranks
        theirs = replace(problem, finish=replace(problem.finish, c=peer(room, target)))
        ProductBlock(theirs, tiles, width, x, y, (me * ranks + target, me, me)).run()
