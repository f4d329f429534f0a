"""Products in micro tiles, as mlir-air's programs have them: shapes, sums that a herd shares, and where memory is."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tilewright import air
from tilewright.air.tensors import claimed
from tilewright.ir.diagnostics import CompileError

RACES: dict[str, Any] = {"check": "races"}
MM = air.micro_tile(m=4, k=8, n=2)


@pytest.fixture(autouse=True)
def nothing_declared() -> None:
    """What a test that ended early has left does not belong to the next one."""
    claimed()


@pytest.mark.parametrize(
    "shape, sizes, logical",
    [
        (MM.a(12, 16), (1, 1, 2, 3, 4, 8), (12, 16)),
        (MM.b(16, 6), (1, 1, 3, 2, 8, 2), (16, 6)),
        (MM.c(12, 6, lead=(2, 5)), (2, 5, 3, 3, 4, 2), (12, 6)),
        (MM.a(4, 8, lead=()), (1, 1, 4, 8), (4, 8)),
    ],
    ids=str,
)
def test_packed_shapes_are_those_of_npus(shape: Any, sizes: tuple[int, ...], logical: tuple[int, int]) -> None:
    assert shape == sizes and shape.logical == logical and shape.shape == (*shape.lead, *logical)
    copy = pickle.loads(pickle.dumps(shape))
    assert copy == shape and (copy.role, copy.micro) == (shape.role, MM)


@pytest.mark.parametrize(
    "shape, part",
    [
        (MM.a(12, 16), np.s_[1, 4:16, 8:24]),
        (MM.b(16, 6), np.s_[1, 8:24, 2:8]),
        (MM.c(8, 4), np.s_[0, 0:8, 4:8]),
        (MM.a(8, 8), np.s_[0:1, 16:24, 0:8]),
    ],
    ids=str,
)
def test_walks_are_in_the_order_of_micro_tiles(shape: Any, part: Any) -> None:
    """A stream that goes through a part that way has micro tile after micro tile, columns of them first."""
    numbers = np.arange(2 * 24 * 24).reshape(2, 24, 24)
    whole = air.tensor([2, 24, 24], air.i32)
    walk = shape.walk(whole[part])
    found = np.array([numbers[tuple(walk.keys(keys))] for keys in np.ndindex(*walk.shape)]).reshape(walk.shape)
    wanted = numbers[part].reshape(shape.logical)
    rows, columns = shape.micro.sizes(shape.role)
    tiles = wanted.reshape(wanted.shape[0] // rows, rows, wanted.shape[1] // columns, columns)
    assert np.array_equal(found, tiles.transpose(2, 0, 1, 3))


def test_only_rows_and_columns_are_walked() -> None:
    whole = air.tensor([4, 24, 24], air.i32)
    for part, said in (
        (whole[:, 0:8, 0:8], "a part of 4 x 8 x 8 has no rows and columns of A alone"),
        (whole[0, 0, 0:8], "a part of 8 has no rows and columns of A alone"),
        (whole[0, 0:6, 0:8], "M of A is 6, which is no multiple of m=4 of its micro tile"),
    ):
        with pytest.raises(CompileError, match=said):
            MM.a(8, 8).walk(part)


def product(
    sizes: tuple[int, int, int],
    tile: int,
    grid: tuple[int, int],
    given: Any = air.bf16,
    summed: Any = air.f32,
) -> Any:
    """A herd of a block has the sums of a part, and adds products to them, step by step, of staged factors."""
    m, k, n = sizes
    mm, step = air.micro_tile(4, 8, 4), 16
    a, b = air.tensor([m, k], given), air.tensor([k, n], given)
    c = air.tensor([m, n], summed)
    rows, columns = (tile * count for count in grid)

    with air.launch([range(0, m, rows), range(0, n, columns)], name="product") as launch:

        @launch.body
        def _(x, y):
            with air.segment() as seg:

                @seg.body
                def _():
                    left = air.alloc([rows, k], given, scope=seg.private())
                    right = air.alloc([k, columns], given, scope=seg.private())
                    sums = air.alloc(mm.c(tile, tile, lead=grid), summed, scope=seg.shared())
                    total = air.alloc([rows, columns], summed, scope=seg.private())
                    air.ops.load(left, a[x * rows : x * rows + rows, :])
                    air.ops.load(right, b[:, y * columns : y * columns + columns])

                    with air.herd(grid, shape=grid) as h:

                        @h.body
                        def _(tx, ty):
                            sums[:] = 0
                            part_a = air.alloc(mm.a(tile, step), given, scope=h.private())
                            part_b = air.alloc(mm.b(step, tile), given, scope=h.private())
                            for at in air.sequential(0, k, step):
                                air.ops.load(part_a, left[tx * tile : tx * tile + tile, at : at + step])
                                air.ops.load(part_b, right[at : at + step, ty * tile : ty * tile + tile])
                                air.ops.dot(part_a, part_b, acc=sums, kernel="mm_16x16")
                            there = slice(tx * tile, tx * tile + tile), slice(ty * tile, ty * tile + tile)
                            air.ops.store(sums[tx, ty, :, :], total[there])

                    air.ops.store(total, c[x * rows : x * rows + rows, y * columns : y * columns + columns])

    return launch


def drawn(*shape: int, dtype: Any) -> np.ndarray:
    return np.random.default_rng(1).integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("target", ["gfx942", "sm_80"])
@pytest.mark.parametrize(
    "given, summed, grid",
    [
        (air.bf16, air.f32, (2, 2)),
        (air.bf16, air.bf16, (1, 2)),
        (air.i8, air.i32, (2, 1)),
        (air.i16, air.i32, (1, 1)),
    ],
    ids=str,
)
def test_points_of_a_herd_add_to_their_sums(given: Any, summed: Any, grid: Any, target: str) -> None:
    a, b = drawn(32, 32, dtype=given), drawn(32, 32, dtype=given)
    found = product((32, 32, 32), 16, grid, given, summed).compile(target, settings=RACES)(a, b)
    assert np.array_equal(found, (a.astype(np.float64) @ b.astype(np.float64)).astype(summed))


def test_a_herd_of_more_waves_than_a_block_has_takes_turns() -> None:
    """Of 8 x 4 waves of 64 lanes a block has half; each point has sums of its own all the same."""
    a, b = drawn(128, 16, dtype=air.bf16), drawn(16, 64, dtype=air.bf16)
    found = product((128, 16, 64), 16, (8, 4)).compile("gfx942", settings=RACES)(a, b)
    assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("target, is_outside", [("gfx942", True), ("sm_90", False)])
def test_what_a_block_has_no_room_for_is_in_memory_of_the_device(target: str, is_outside: bool) -> None:
    """The host allocates it before the launch, a part for each block, and frees it."""
    x = air.tensor([6, 256], air.f32)
    y = air.tensor([6, 256], air.f32)

    with air.launch([3, 2]) as launch:

        @launch.body
        def _(column, row):
            with air.segment() as seg:

                @seg.body
                def _():
                    room = air.alloc([20_000], air.f32, scope=seg.private())
                    small = air.alloc([256], air.f32, scope=seg.private())
                    block = column * 2 + row

                    @air.herd(4)
                    def _(wave):
                        here = slice(wave * 64, wave * 64 + 64)
                        room[here] = air.load(x[block, here])

                    @air.herd(4)
                    def _(wave):
                        there = (3 - wave) * 64
                        small[wave * 64 : wave * 64 + 64] = air.load(room[there : there + 64]) + 1.0

                    air.ops.store(small, y[block, :])

    text = launch.mlir(target)
    assert ("gpu.alloc" in text) == ("gpu.dealloc" in text) == is_outside
    assert ("memref<20000xf32, 1>" in text) != is_outside and "memref<256xf32, 1>" in text
    given = np.random.default_rng(1).standard_normal((6, 256)).astype(np.float32)
    found = launch.compile(target, settings=RACES)(given)
    assert np.array_equal(found, given.reshape(6, 4, 64)[:, ::-1].reshape(6, 256) + 1)


def test_what_products_need_is_beside_memory_of_segments() -> None:
    """Factors that are staged for waves are in memory of the device, when segments have that of the block."""
    x, y = air.tensor([16, 16], air.f16), air.tensor([16, 16], air.f32)

    with air.launch(1) as launch:

        @launch.body
        def _(_):
            with air.segment() as seg:

                @seg.body
                def _():
                    rows = air.alloc([2048, 16], air.f16, scope=seg.private())
                    air.ops.load(rows[:16], x)

                    @air.herd(1)
                    def _(_):
                        tile = air.load(rows[:16])
                        y[:] = air.dot(tile, tile)

    assert launch.mlir("gfx942").count("gpu.alloc") == 2
    given = drawn(16, 16, dtype=np.float16)
    assert np.array_equal(launch.compile("gfx942", settings=RACES)(given), given.astype(np.float32) @ given)


def test_memory_that_is_asked_for_by_name_is_that_of_the_block() -> None:
    x = air.tensor([64], air.f32)

    with air.launch(1, waves=1) as launch:

        @launch.body
        def _(_):
            room = air.shared(100_000)
            room[:64] = 1.0
            x[:] = air.load(room[:64])

    with pytest.raises(CompileError, match="brings the memory of a block to 400000 bytes; gfx942 has 65536"):
        launch.compile("gfx942")


def traced(body: Any, lead: tuple[int, ...] = (1, 1)) -> None:
    """Trace what a herd of two waves does with parts of packed shapes."""
    x = air.tensor([64], air.f32)
    mm = air.micro_tile(4, 8, 4)

    with air.launch(1) as launch:

        @launch.body
        def _(_):
            with air.segment() as seg:

                @seg.body
                def _():
                    sums = air.alloc(mm.c(16, 16, lead), air.f32, scope=seg.shared())

                    @air.herd([1, 2])
                    def _(*_):
                        x[0] = 1.0
                        body(mm, air.alloc(mm.a(16, 8), air.bf16), air.alloc(mm.b(8, 16), air.bf16), sums)

    launch.mlir()


def set_all(_mm: Any, _a: Any, _b: Any, sums: Any) -> None:
    sums[:] = 0.0


@pytest.mark.parametrize(
    "body, said",
    [
        (set_all, r"leading dimensions \(1, 1\) are no part for each point of a herd of 1 x 2 points"),
        (lambda mm, a, b, sums: air.dot(b, a, acc=sums), "a is allocated as B, and is A of the product"),
        (lambda mm, a, b, sums: air.dot(a, air.zeros([8, 16]), acc=sums), "b is not packed, and others"),
        (
            lambda mm, a, b, sums: air.dot(air.alloc(air.micro_tile(8, 8, 4).a(16, 8), air.bf16), b, acc=sums),
            r"one product has one micro tile, not those of a MicroTile\(m=8, k=8, n=4\), b Micro",
        ),
        (lambda mm, a, b, sums: air.dot(a, b, acc=a), "acc is allocated as A, and is C of the product"),
    ],
)
def test_parts_that_do_not_go_together(body: Any, said: str) -> None:
    with pytest.raises(CompileError, match=rf"test_packing.py:\d+:\d+: error: {said}"):
        traced(body)


def test_mistakes_in_shapes() -> None:
    for wrong, said in (
        (lambda: air.micro_tile(4, 0, 4), "k of a micro tile is a number above 0, not 0"),
        (lambda: MM.a(30, 16), "M of A is 30, which is no multiple of m=4"),
        (lambda: MM.b(16, 5), "N of B is 5, which is no multiple of n=2"),
        (lambda: MM.c(4, 4, lead=2), "leading dimensions are a list of numbers above 0, not 2"),  # pyright: ignore
    ):
        with pytest.raises(CompileError, match=rf"test_packing.py:\d+:\d+: error: {said}"):
            wrong()
