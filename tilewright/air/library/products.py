"""Products of matrices of any size, from one build: `C = activation(scale * A B + bias)`.

A block computes a tile of C. Its lanes copy tiles of A (transposed) and B into memory of the block, the next ones while
the present ones are multiplied, and keep a tile of C each in registers. There are kernels for sizes that tiles divide,
for rows that begin at multiples of 16 bytes, and for all others; which one runs is decided when the sizes are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.air.arrays import Array
from tilewright.air.dtypes import bf16, f16, f32, value_type
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, sequential
from tilewright.air.ops import gelu, relu, sigmoid, silu, tanh
from tilewright.air.tiles import guarded_load, shared
from tilewright.air.trace import current
from tilewright.air.vectors import Vector, broadcast, vector, vload, vstore
from tilewright.air.waves import barrier, lane, wave
from tilewright.dialects import arith
from tilewright.errors import ArgumentError
from tilewright.gpu.chips import nvidia_chip
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_, make_if, yield_
from tilewright.iron.builders.handles import value_of
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue

Numbers = npt.NDArray[Any]
VECTOR = 4
"""Elements that a lane moves at once: 16 bytes of f32."""
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": relu,
    "gelu": gelu,
    "sigmoid": sigmoid,
    "silu": silu,
    "tanh": tanh,
}
LAYOUTS = "row", "column"


@dataclass(frozen=True)
class Tiles:
    """Rows, columns and depth of a block's tile; rows and columns of a lane's."""

    m: int
    n: int
    k: int
    rows: int
    columns: int
    groups: int = 1
    """So many groups of lanes share the depth, and add up in the end: they keep a GPU busy that has few tiles."""

    @property
    def threads(self) -> int:
        """Lanes of a group."""
        return self.m // self.rows * (self.n // self.columns)

    @property
    def step(self) -> int:
        """How deep all groups go in one turn."""
        return self.k * self.groups

    @property
    def a_stride(self) -> int:
        """Rows of the transposed tile are padded, so that lanes that write a column do not meet in one bank."""
        return self.m + VECTOR


LARGE, SMALL, DEEP = Tiles(128, 128, 8, 16, 8), Tiles(64, 64, 16, 8, 8, 2), Tiles(64, 64, 8, 8, 8, 4)
MULTIPROCESSORS = 132
"""Of a large GPU (H100, H200): as many tiles are computed at a time, however many fit."""
SMALL_COST = 100, 340
"""What a round of small tiles takes, and one of large ones: these are four times as large, and read less of each."""
LANE_ROWS = 8
"""A wave is so many lanes high: they read few different elements of A at once, and neighbours of B."""
JOINED = 8
"""Vectors of a lane that groups hand over at once."""


def matmul(
    a: Numbers,
    b: Numbers,
    bias: Numbers | None = None,
    activation: str | None = None,
    scale: float = 1.0,
    layouts: tuple[str, str] = ("row", "row"),
    out_dtype: Any = None,
    **options: Any,
) -> Numbers:
    """`activation(scale * a @ b + bias)`, computed in f32.

    `a` and `b` are matrices of f32, f16 or bf16, or stacks of them with the same number of matrices. With "column" in
    `layouts` a matrix is given transposed, as its columns lie one after the other. `bias` has a number for each column.
    The result is of `out_dtype`, the type of `a` unless given. With `backend="cuda"`, f16 and bf16 by rows go to the
    tensor cores of Hopper GPUs.
    """
    for layout in layouts:
        if layout not in LAYOUTS:
            raise ArgumentError(f"there is no layout '{layout}'; there is {', '.join(LAYOUTS)}")
    if activation is not None and activation not in ACTIVATIONS:
        raise ArgumentError(f"there is no activation '{activation}'; there is {', '.join(ACTIVATIONS)}")
    left, right = (_stack(name, given) for name, given in (("a", a), ("b", b)))
    (batch, m, k), (others, depth, n) = (
        (array.shape[0], *(array.shape[1:] if layout == "row" else array.shape[:0:-1]))
        for array, layout in zip((left, right), layouts, strict=True)
    )
    if batch != others or k != depth:
        raise ArgumentError(f"arrays of shape {np.shape(a)} and {np.shape(b)} have no product in layouts {layouts}")
    if k == 0:
        left, right, layouts = np.zeros((batch, m, 1), left.dtype), np.zeros((batch, 1, n), left.dtype), ("row", "row")
    if bias is not None and np.shape(bias) != (n,):
        raise ArgumentError(f"bias has {n} numbers, one for each column, not shape {np.shape(bias)}")
    result = np.zeros((batch, m, n), left.dtype if out_dtype is None else out_dtype)
    offsets = np.zeros(1, np.float32) if bias is None else np.ascontiguousarray(bias, np.float32)
    if result.size and batch == 1 and _has_tensor_cores(left, layouts, options):
        _on_tensor_cores(left[0], right[0], offsets, result[0], scale, bias is not None, activation, options)
    elif result.size:
        _product.options(**options)(
            left, right, offsets, result, float(scale),
            has_bias=bias is not None, activation=activation, layouts=tuple(layouts),
        )  # fmt: skip
    return result if np.ndim(a) == 3 else result[0]


def _has_tensor_cores(left: Numbers, layouts: Sequence[str], options: dict[str, Any]) -> bool:
    """Whether Hopper's tensor cores multiply such matrices, on the GPU that is asked for."""
    if left.dtype == f32 or tuple(layouts) != ("row", "row") or options.get("backend", "emulator") != "cuda":
        return False
    chip = options.get("chip") or nvidia_chip()
    return chip is not None and chip.startswith("sm_90")


def _on_tensor_cores(
    a: Numbers,
    b: Numbers,
    bias: Numbers,
    c: Numbers,
    scale: float,
    has_bias: bool,
    activation: str | None,
    options: dict[str, Any],
) -> None:
    from tilewright.air.library.tensor_cores import GRANULE, MAPS_BYTES, tensor_product

    k, n = b.shape
    wide, deep = -n % GRANULE, -k % GRANULE
    # the copy engine wants rows that begin at multiples of 16 bytes
    left, right = np.pad(a, ((0, 0), (0, deep))), np.pad(b, ((0, deep), (0, wide)))
    result = np.zeros((c.shape[0], n + wide), c.dtype)
    offsets = np.pad(bias, (0, wide)) if has_bias else bias
    finish = None if activation is None else ACTIVATIONS[activation]
    program = tensor_product.options(**{**options, "chip": "sm_90a"})
    maps = np.zeros(MAPS_BYTES, np.uint8)
    program(left, right, offsets, result, maps, float(scale), has_bias=has_bias, finish=finish)
    c[...] = result[:, :n]


def _stack(name: str, given: Any) -> Numbers:
    array = np.ascontiguousarray(given)
    if array.ndim not in (2, 3) or array.dtype not in (f32, f16, bf16):
        raise ArgumentError(
            f"{name} is a matrix of f32, f16 or bf16, or a stack of them, not {array.dtype} {array.shape}"
        )
    return array if array.ndim == 3 else array[None]


@jit
def _product(
    a: Any, b: Any, bias: Any, c: Any, scale: Any, *, has_bias: bool, activation: str | None, layouts: tuple[str, str]
) -> None:
    m, n, k = c.shape[1], c.shape[2], a.shape[2 if layouts[0] == "row" else 1]
    problem = Problem(a, b, bias if has_bias else None, c, scale, activation, layouts, (m, n, k))
    large, small = (cdiv(m, tiles.m) * cdiv(n, tiles.n) * c.shape[0] for tiles in (LARGE, SMALL))
    rounds = cdiv(large, MULTIPROCESSORS), cdiv(small, MULTIPROCESSORS)
    with if_(rounds[1] * SMALL_COST[0] < rounds[0] * SMALL_COST[1]) as size:
        # with less than a tile for each multiprocessor, more groups share the depth of one
        with if_(small <= MULTIPROCESSORS) as few:
            _choose(problem, DEEP)
        with else_(few):
            _choose(problem, SMALL)
    with else_(size):
        _choose(problem, LARGE)


@dataclass(frozen=True)
class Problem:
    """The matrices of a product, and what is done with it."""

    a: Array
    b: Array
    bias: Array | None
    c: Array
    scale: Any
    activation: str | None
    layouts: tuple[str, str]
    sizes: tuple[Any, Any, Any]

    @property
    def can_use_vectors(self) -> bool:
        """Whether rows are loaded four elements at a time: they hold f32."""
        return all(array.dtype == f32 for array in (self.a, self.b, self.c)) and self.layouts == ("row", "row")


def _choose(problem: Problem, tiles: Tiles) -> None:
    """The kernel for these sizes."""
    if not problem.can_use_vectors:
        _kernel(problem, tiles, exact=False, width=1)
        return
    m, n, k = problem.sizes
    if tiles is not LARGE:
        _choose_width(problem, tiles)
        return
    with if_((m % tiles.m == 0) & (n % tiles.n == 0) & (k % tiles.step == 0)) as fits:
        _kernel(problem, tiles, exact=True, width=VECTOR)
    with else_(fits):
        _choose_width(problem, tiles)


def _choose_width(problem: Problem, tiles: Tiles) -> None:
    _, n, k = problem.sizes
    with if_((n % VECTOR == 0) & (k % VECTOR == 0)) as aligned:
        _kernel(problem, tiles, exact=False, width=VECTOR)
    with else_(aligned):
        _kernel(problem, tiles, exact=False, width=1)


def _kernel(problem: Problem, tiles: Tiles, exact: bool, width: int) -> None:
    m, n, _ = problem.sizes
    lanes = current().lanes

    @launch((cdiv(n, tiles.n), cdiv(m, tiles.m), problem.c.shape[0]), waves=tiles.threads * tiles.groups // lanes)
    def _(x: Any, y: Any, batch: Any) -> None:
        ProductBlock(problem, tiles, exact, width, (x, y, batch)).run()


class ProductBlock:
    """The work of a block, from the place of one lane."""

    def __init__(self, problem: Problem, tiles: Tiles, exact: bool, width: int, place: tuple[Any, Any, Any]):
        self.problem, self.tiles, self.exact, self.width = problem, tiles, exact, width
        x, y, self.batch = place
        self.row0, self.column0 = y * tiles.m, x * tiles.n
        group_waves = tiles.threads // current().lanes
        self.group = wave() // group_waves
        self.wave = wave() % group_waves if tiles.groups > 1 else wave()
        self.thread = self.wave * current().lanes + lane()
        self.y, self.x = self._own_place()
        self.a_room = shared((tiles.groups * 2, tiles.k, tiles.a_stride))
        self.b_room = shared((tiles.groups * 2, tiles.k, tiles.n))

    def _own_place(self) -> tuple[Any, Any]:
        """Which rows and columns of the tile are the lane's: groups of four, as far apart as all lanes reach."""
        tiles, lanes = self.tiles, current().lanes
        lane_columns = lanes // LANE_ROWS
        across = tiles.n // tiles.columns // lane_columns
        row = self.wave // across * LANE_ROWS + lane() // lane_columns
        column = self.wave % across * lane_columns + lane() % lane_columns
        return row * VECTOR, column * VECTOR

    def run(self) -> None:
        tiles, k = self.tiles, self.problem.sizes[2]
        # groups take turns in depth, and have rooms of their own
        depth0, room0 = (self.group * tiles.k, self.group * 2) if tiles.groups > 1 else (0, 0)
        self._place(self._fetched(depth0), room0)
        barrier()
        count = tiles.rows * tiles.columns // VECTOR
        start = [broadcast(0.0, VECTOR) for _ in range(count)]
        results: Any = ()
        for at, totals, results in sequential(0, k, tiles.step, iter_args=start):  # noqa: B007
            turn = at // tiles.step % 2
            # behind the last tile it is fetched once more, and not used
            following = math.minimum(at + tiles.step, (k - 1) // tiles.step * tiles.step)
            fetched = self._fetched(following + depth0)
            sums = self._multiplied(turn + room0, totals)
            self._place(fetched, 1 - turn + room0)
            barrier()
            yield_(sums)
        totals = list(results)
        if tiles.groups == 1:
            self._write(totals)
            return
        totals = self._joined(totals)
        with if_(self.group == 0, hasElse=False):
            self._write(totals)

    def _joined(self, totals: list[Vector]) -> list[Vector]:
        """What all groups have come to, for the first one."""
        tiles = self.tiles
        room = shared((JOINED, tiles.threads, VECTOR))
        for group in range(1, tiles.groups):
            for first in range(0, len(totals), JOINED):
                part = totals[first : first + JOINED]
                with if_(self.group == group, hasElse=False):
                    for number, total in enumerate(part):
                        vstore(total, room, (number, self.thread, 0), alignment=16)
                barrier()
                more = [vload(room, (number, self.thread, 0), VECTOR, alignment=16) for number in range(len(part))]
                # the others keep what they have, until it is their turn
                totals[first : first + JOINED] = [
                    _chosen(self.group == 0, total + other, total) for total, other in zip(part, more, strict=True)
                ]
                barrier()
        return totals

    def _slots(self, width: int, height: int) -> list[tuple[Any, Any]]:
        """Rows and columns of the vectors that the lane copies, of a tile that is `width` wide."""
        across = width // VECTOR
        numbers = [self.thread + first for first in range(0, width * height // VECTOR, self.tiles.threads)]
        return [(number // across, number % across * VECTOR) for number in numbers]

    def _fetched(self, at: Any) -> tuple[list[Vector], list[Vector]]:
        """The tiles that begin at depth `at`, in registers."""
        tiles, problem = self.tiles, self.problem
        m, n, k = problem.sizes
        left = [
            self._four(problem.a, problem.layouts[0], (m, k), self.row0 + row, column + at)
            for row, column in self._slots(tiles.k, tiles.m)
        ]
        right = [
            self._four(problem.b, problem.layouts[1], (k, n), row + at, self.column0 + column)
            for row, column in self._slots(tiles.n, tiles.k)
        ]
        return left, right

    def _four(self, array: Array, layout: str, size: tuple[Any, Any], row: Any, column: Any) -> Vector:
        """Four elements of a row of a matrix, zeros where it has none."""
        if self.exact:
            return vload(array, (self.batch, row, column), VECTOR, alignment=16)
        if self.width == VECTOR:
            return self._guarded_four(array, size, row, column)
        elements = [self._element(array, layout, size, row, column + number) for number in range(VECTOR)]
        return vector([element if element.type == value_type(f32) else element.astype(f32) for element in elements])

    def _guarded_four(self, array: Array, size: tuple[Any, Any], row: Any, column: Any) -> Vector:
        zeros = broadcast(0.0, VECTOR)
        choice = make_if((row < size[0]) & (column < size[1]), True, [zeros.type])
        with InsertionPoint(choice.thenRegion.blocks[0]):
            yield_([vload(array, (self.batch, row, column), VECTOR, alignment=16)])
        with InsertionPoint(choice.elseRegion.blocks[0]):
            yield_([zeros])
        found = value_of(choice.op.results[0])
        assert isinstance(found, Vector)
        return found

    def _element(self, array: Array, layout: str, size: tuple[Any, Any], row: Any, column: Any) -> ScalarValue:
        keys = [self.batch, row, column] if layout == "row" else [self.batch, column, row]
        return guarded_load(array, keys, (row < size[0]) & (column < size[1]), 0)

    def _place(self, fetched: tuple[list[Vector], list[Vector]], turn: Any) -> None:
        """From registers to one of the two places in memory of the block."""
        tiles = self.tiles
        for (row, column), value in zip(self._slots(tiles.k, tiles.m), fetched[0], strict=True):
            for number in range(VECTOR):
                self.a_room[turn, column + number, row] = value[number]
        for (row, column), value in zip(self._slots(tiles.n, tiles.k), fetched[1], strict=True):
            vstore(value, self.b_room, (turn, row, column), alignment=16)

    def _multiplied(self, turn: Any, totals: Sequence[Vector]) -> list[Any]:
        """The products of one tile with another, added to what there is."""
        tiles = self.tiles
        results: Any = ()
        for depth, sums, results in sequential(0, tiles.k, iter_args=list(totals)):  # noqa: B007
            rows = self._fragment(self.a_room, turn, depth, self.y, tiles.m, tiles.rows)
            columns = self._fragment(self.b_room, turn, depth, self.x, tiles.n, tiles.columns)
            factors = [broadcast(row[number], VECTOR) for row in rows for number in range(VECTOR)]
            yield_(
                [
                    factor.fma(column, sums[place * len(columns) + number])
                    for place, factor in enumerate(factors)
                    for number, column in enumerate(columns)
                ]
            )
        return list(results)

    def _fragment(self, room: Array, turn: Any, depth: Any, first: Any, extent: int, count: int) -> list[Vector]:
        apart = extent // (count // VECTOR)
        places = [first + group * apart if group else first for group in range(count // VECTOR)]
        return [vload(room, (turn, depth, place), VECTOR, alignment=16) for place in places]

    def _write(self, totals: Sequence[Vector]) -> None:
        tiles = self.tiles
        groups, across = tiles.rows // VECTOR, tiles.columns // VECTOR
        for row in range(tiles.rows):
            offset = row // VECTOR * (tiles.m // groups) + row % VECTOR
            y = self.row0 + self.y + offset
            for column in range(across):
                x = self.column0 + self.x + column * (tiles.n // across)
                self._store(totals[row * across + column], y, x)

    def _store(self, total: Vector, row: Any, column: Any) -> None:
        c, (m, n, _) = self.problem.c, self.problem.sizes
        is_plain = self.problem.bias is None and self.problem.activation is None
        if self.width == VECTOR and is_plain:
            value = total * self.problem.scale
            if self.exact:
                vstore(value, c, (self.batch, row, column), alignment=16)
            else:
                with if_((row < m) & (column < n), hasElse=False):
                    vstore(value, c, (self.batch, row, column), alignment=16)
            return
        for number in range(VECTOR):
            place = column + number if number else column
            if self.exact:
                c[self.batch, row, place] = self._finished(total[number], place).astype(value_type(c.dtype))
            else:
                with if_((row < m) & (place < n), hasElse=False):
                    c[self.batch, row, place] = self._finished(total[number], place).astype(value_type(c.dtype))

    def _finished(self, value: ScalarValue, column: Any) -> ScalarValue:
        problem = self.problem
        value = value * problem.scale
        if problem.bias is not None:
            value = value + problem.bias[column]
        return value if problem.activation is None else ACTIVATIONS[problem.activation](value)


def _chosen(condition: ScalarValue, yes: Vector, no: Vector) -> Vector:
    return Vector(build(arith.SelectOp, results=[yes.type], cond=condition, lhs=yes, rhs=no).results[0])
