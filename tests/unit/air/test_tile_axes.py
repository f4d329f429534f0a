"""Axes of tiles, on the emulator against NumPy, with accesses that nothing orders looked for: reductions along one,
tiles that are repeated along others, sums that run, places of the largest and smallest, tiles that loops carry."""

from __future__ import annotations

import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import check_mistake
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import air
from tilewright.air.tile_layouts import TileLayout, lines_of, square_layout
from tilewright.air.tile_products import matrix_layout
from tilewright.device.gpu_matrices import instructions_of

RACES: dict[str, Any] = {"check": "races"}
EXAMPLES = int(os.environ.get("TILEWRIGHT_AXES", "8"))


def whole(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Numbers whose sums all types have."""
    least = 0 if np.dtype(dtype).kind == "u" else -4
    return np.random.default_rng(sum(shape)).integers(least, 5, shape).astype(dtype)


@air.jit(settings=RACES)
def centered(x, y, lines, *, shape, axis, waves=2, kind="sum", divided="rows"):
    """The lines of a tile along an axis in one number each, and the tile without them."""
    m, n = shape

    @air.launch(1, waves=waves)
    def _(_):
        part = x[:m, :n]
        likes = {"rows": None, "squares": air.zeros(shape)}
        tile = air.load(x[:n, :m]).T if divided == "turned" else air.load(part, like=likes[divided])
        found = getattr(tile, kind)(axis=axis)
        lines[: shape[1 - axis]] = found
        y[:m, :n] = tile - (found[None, :] if axis == 0 else found[:, None])


def check_centered(shape: tuple[int, int], axis: int, divided: str = "rows", kind: str = "sum", **how: Any) -> None:
    x = whole(*shape)
    y, lines = np.zeros_like(x), np.zeros(shape[1 - axis], np.float32)
    centered(
        x.T.copy() if divided == "turned" else x, y, lines, shape=shape, axis=axis, divided=divided, kind=kind, **how
    )
    expected = getattr(x, kind)(axis=axis, keepdims=True)
    assert np.allclose(lines, expected.ravel(), rtol=1e-6, atol=1e-6)
    assert np.allclose(y, x - expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("divided", ["rows", "squares", "turned"])
@pytest.mark.parametrize("shape", [(8, 8), (16, 64), (64, 16), (4, 256), (5, 7), (48, 20), (1, 64), (64, 1)], ids=str)
def test_lines_go_with_their_tile(shape: tuple[int, int], divided: str, axis: int) -> None:
    check_centered(shape, axis, divided)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.tuples(st.integers(1, 24), st.integers(1, 24)), st.integers(0, 1), st.integers(1, 4), st.data())
def test_lines_of_any_shape(shape: tuple[int, int], axis: int, waves: int, data: Any) -> None:
    divided, kind = (data.draw(st.sampled_from(c)) for c in (("rows", "turned"), ("sum", "max", "min", "mean")))
    check_centered(shape, axis, divided, kind, waves=waves)


def held(layout: Any, axis: int) -> set[tuple[int, ...]]:
    """The lines that a lane, its partners in bits and its slots are said to hold together, each as often as it says."""
    lines = lines_of(layout, axis)
    assert lines is not None
    partners = [number for number in range(layout.workers) if number & ~lines.bits == 0]
    found = set[tuple[int, ...]]()
    for lane in range(layout.workers):
        for group in lines.groups:
            places = [layout.indices(slot, lane ^ other) for slot in group for other in partners]
            line = {tuple(int(i) for number, i in enumerate(place) if number != axis) for place in places}
            assert len(line) == 1
            assert sorted(int(place[axis]) for place in places) == list(range(layout.shape[axis]))
            found |= line
    return found


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("chip", ["sm_90", "gfx942", "gfx1100"])
def test_lanes_hold_whole_lines_of_matrix_instructions(chip: str, axis: int) -> None:
    for instruction in instructions_of(chip, "f16"):
        layout = matrix_layout(instruction, (64, 64), 2 * instruction.wave_size)
        assert layout is not None
        assert held(layout, axis) == {(line,) for line in range(64)}


def test_lines_that_lanes_hold_in_different_ways_are_not_held_together() -> None:
    assert held(TileLayout((4, 256), 128), 1) == {(line,) for line in range(4)}
    assert held(square_layout((32, 32), 128), 0) == {(line,) for line in range(32)}
    for shape, workers in (((48, 20), 64), ((5, 7), 64), ((64, 48), 192)):
        assert lines_of(TileLayout(shape, workers), 1) is None


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint8, np.int32, np.int64])
def test_sums_of_all_types(dtype: Any) -> None:
    @air.jit(settings=RACES)
    def work(x, lines, total, least):
        @air.launch(1, waves=2)
        def _(_):
            tile = air.load(x[:16, :64])
            lines[:16], total[0:1] = tile.sum(axis=1), air.sum(tile)
            least[:64] = air.min(tile, axis=0)

    x = np.full((16, 64), 3).astype(dtype)
    x[:, 5] = 1
    # whole numbers shorter than 32 bits are added up as such of 32
    wide = {np.dtype(np.int8): np.int32, np.dtype(np.uint8): np.uint32}.get(x.dtype, dtype)
    lines, total, least = np.zeros(16, wide), np.zeros(1, wide), np.zeros(64, dtype)
    work(x, lines, total, least)
    assert (lines == 63 * 3 + 1).all()
    assert total[0] == np.array(16 * 190).astype(wide)
    assert np.array_equal(least, x.min(axis=0))


def test_means_are_fractions_and_conditions_are_counted() -> None:
    @air.jit(settings=RACES)
    def work(x, means, counts):
        @air.launch(1, waves=1)
        def _(_):
            tile = air.load(x[:8, :10])
            means[:8], counts[:10] = tile.mean(axis=1), (tile > 1).sum(axis=0)
            means[8:9], counts[10:11] = tile.mean(), (tile > 1).sum()

    x = whole(8, 10, dtype=np.int32)
    means, counts = np.zeros(9, np.float32), np.zeros(11, np.int32)
    work(x, means, counts)
    assert np.allclose(means, [*x.mean(axis=1), x.mean()])
    assert np.array_equal(counts, [*(x > 1).sum(axis=0), (x > 1).sum()])


def test_means_of_short_numbers_whose_sum_none_of_them_is() -> None:
    @air.jit(settings=RACES)
    def work(x, y):
        @air.launch(1, waves=2)
        def _(_):
            tile = air.load(x[:16, :64])
            y[0:1], y[1:17] = tile.mean(), tile.mean(axis=1)

    y = np.zeros(17, np.float16)
    work(np.full((16, 64), 2000, np.float16), y)
    assert (y == 2000).all()


def test_three_dimensions_are_reduced_one_after_the_other() -> None:
    @air.jit(settings=RACES)
    def work(x, y, z):
        @air.launch(1, waves=2)
        def _(_):
            tile = air.load(x[:4, :8, :16])
            y[:4, :16] = tile.sum(axis=1)
            z[:8] = tile.sum(axis=2).max(axis=0) + tile.max(axis=-1, keepdims=True).sum()

    x = whole(4, 8, 16)
    y, z = np.zeros((4, 16), np.float32), np.zeros(8, np.float32)
    work(x, y, z)
    assert np.array_equal(y, x.sum(axis=1))
    assert np.array_equal(z, x.sum(axis=2).max(axis=0) + x.max(axis=-1).sum())


def test_waves_of_their_own_reduce_tiles_of_their_own() -> None:
    @air.jit(settings=RACES)
    def work(x, y):
        @air.launch(1)
        def _(_):
            @air.herd(3)
            def _(wave):
                tile = air.load(x[wave, :5, :7])
                y[wave, :5, :7] = tile - tile.sum(axis=1)[:, None] + tile.max(axis=0)

    x = whole(3, 5, 7)
    y = np.zeros_like(x)
    work(x, y)
    assert np.array_equal(y, x - x.sum(axis=2, keepdims=True) + x.max(axis=1, keepdims=True))


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
def test_shapes_go_together_as_in_numpy(chip: str) -> None:
    @air.jit(settings=RACES, chip=chip)
    def work(a, b, row, column, y, z):
        @air.launch(1, waves=2)
        def _(_):
            at, below = air.arange(32), 1 + air.arange(32)[:, None]
            sums = air.dot(a[:32, :32], b[:32, :32])
            sums = sums + air.load(row[:32]) + air.load(column[:32, 0:1])
            y[:32, :32] = air.where(below > at, sums, -1.0)
            z[:32, :32] = 2 * at[:, None] + at[None, :]

    a, b, row = whole(32, 32, dtype=np.float16), whole(32, 32, dtype=np.float16), whole(32)
    column, y, z = whole(32, 1), np.zeros((32, 32), np.float32), np.zeros((32, 32), np.int32)
    work(a, b, row, column, y, z)
    assert np.array_equal(y, np.where(np.tri(32, dtype=bool), a.astype(np.float32) @ b + row + column, -1))
    assert np.array_equal(z, 2 * np.arange(32)[:, None] + np.arange(32))


def test_buffers_compute_as_tiles_do_and_hold_lines() -> None:
    @air.jit(settings=RACES)
    def work(x, y, z):
        @air.launch(1, waves=2)
        def _(_):
            top, total, seen = air.full(16, -1e30), air.zeros(16), air.zeros((16, 32))
            for at in air.sequential(0, x.shape[1], 32):
                tile = air.load(x[:16, at : at + 32])
                top[:] = air.maximum(top, tile.max(axis=1))
                total += tile.sum(axis=1)
                seen += tile * 2
            seen /= 2
            y[:16] = top * 100 + total
            z[:16, :32] = seen - total[:, None] + seen.T.T.max()

    x = whole(16, 96)
    y, z, seen = np.zeros(16, np.float32), np.zeros((16, 32), np.float32), x.reshape(16, 3, 32).sum(axis=1)
    work(x, y, z)
    assert np.array_equal(y, x.max(axis=1) * 100 + x.sum(axis=1))
    assert np.array_equal(z, seen - x.sum(axis=1, keepdims=True) + seen.max())


def test_loops_carry_tiles() -> None:
    @air.jit(settings=RACES)
    def work(x, y):
        @air.launch(1, waves=2)
        def _(_):
            first = air.load(x[:16, :32])
            for at, (top, turns, total), last in air.sequential(  # noqa: B007, they are for later
                0, x.shape[1], 32, iter_args=[first.max(axis=1), 0.0, air.zeros((16, 32))]
            ):
                tile = air.load(x[:16, at : at + 32])
                air.yield_([air.maximum(top, tile.max(axis=1)), turns + 1.0, air.zeros((16, 32)) + total + 1.0])
            y[:16, :32] = last[2] + last[0][:, None] * last[1]

    x = whole(16, 96)
    y = np.zeros((16, 32), np.float32)
    work(x, y)
    assert np.array_equal(y, np.broadcast_to(3 + 3 * x.max(axis=1, keepdims=True), (16, 32)))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.tuples(st.integers(1, 5), st.integers(1, 33)), st.integers(0, 1), st.booleans(), st.integers(1, 3))
def test_sums_that_run(shape: tuple[int, int], axis: int, reverse: bool, waves: int) -> None:
    m, n = shape

    @air.jit(settings=RACES)
    def work(x, sums, pairs):
        @air.launch(1, waves=waves)
        def _(_):
            tile = air.load(x[:m, :n])
            sums[:m, :n] = air.cumsum(tile, axis, reverse)
            pairs[:m, :n] = air.scan(tile, lambda first, second: second, axis, reverse)

    def turned(array: np.ndarray) -> np.ndarray:
        return np.flip(array, axis) if reverse else array

    x = whole(m, n, dtype=np.int16)
    sums, pairs = np.zeros((m, n), np.int32), np.zeros((m, n), np.int16)
    work(x, sums, pairs)
    assert np.array_equal(sums, turned(np.cumsum(turned(x), axis, dtype=np.int32)))
    last = np.take(
        x, [n - 1 if axis else m - 1], axis
    )  # of two the second: all are themselves, or the last behind them
    assert np.array_equal(pairs, np.broadcast_to(last, x.shape) if reverse else x)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8])
def test_places_of_the_largest_and_smallest(dtype: Any) -> None:
    @air.jit(settings=RACES)
    def work(x, rows, columns, all):
        @air.launch(1, waves=2)
        def _(_):
            tile = air.load(x[:16, :24])
            rows[:16], columns[:24] = tile.argmax(axis=1), air.argmin(tile, axis=0)
            all[0:1], all[1:2] = air.argmax(tile), tile.argmin()

    x = whole(16, 24, dtype=dtype)  # most numbers are there more than once: the first counts
    if np.dtype(dtype).kind == "f":
        x[3, 4] = x[3, 9] = np.nan
    rows, columns, all = np.zeros(16, np.int32), np.zeros(24, np.int32), np.zeros(2, np.int32)
    work(x, rows, columns, all)
    assert np.array_equal(rows, x.argmax(axis=1))
    assert np.array_equal(columns, x.argmin(axis=0))
    assert all.tolist() == [x.argmax(), x.argmin()]


MISTAKES: dict[str, tuple[Any, str, str]] = {
    "no such axis": (lambda a: air.load(a[:4, :4]).sum(axis=2), "a tile of 2 dimensions has no axis 2", "the first"),
    "no such reduction": (lambda a: air.ops.reduce(air.load(a[:4, :4]), "prod"), "there is no reduction 'prod'", "sum"),
    "dimensions of what is left": (lambda a: air.load(a[:4, :4]).sum(keepdims=True), "`keepdims` is for", "one number"),
    "shapes": (
        lambda a: air.load(a[:4, :8]) + air.load(a[:4, :3]),
        "tiles of 4 x 8 and 4 x 3 do not go together",
        "equal",
    ),
    "too many indices": (lambda a: air.load(a[:4, :8])[:, :, :], "a tile of 4 x 8 has no more dimensions", "None"),
    "an element": (lambda a: air.load(a[:4, :8])[0], "lanes hold their own elements of a tile alone", "store it"),
    "a tile that is set": (lambda a: air.load(a[:4, :8]).__setitem__(0, 1), "a tile does not change", "air.alloc"),
    "a part as a tile": (lambda a: a[:4, :8] * 2, "<part 4 x 8 of <Array float32 . x .>> is in memory", "air.load"),
    "a part in a function": (
        lambda a: air.exp(a[:4, :8]),
        "<part 4 x 8 of <Array float32 . x .>> is in memory",
        "load",
    ),
    "a buffer that is too small": (
        lambda a: air.zeros(4).__setitem__(slice(None), air.load(a[:4, :8])),
        "tiles of 4 and 4 x 8 do not go together",
        "in each dimension",
    ),
    "a tile of another type in a loop": (
        lambda a: [
            air.yield_(carried.astype(air.f16)) for _, carried, _ in air.sequential(3, iter_args=[air.load(a[:4, :4])])
        ],
        "this loop carries a tile of 4 x 4 of f32, not <Tile 4 x 4 of f16>",
        "",
    ),
    "a tile that no loop carries": (
        lambda a: air.yield_([air.load(a[:4, :4])]),
        "nothing here carries a tile",
        "iter_args",
    ),
}


@pytest.mark.parametrize("call, error, note", MISTAKES.values(), ids=list(MISTAKES))
def test_mistakes_are_said_at_the_line(call: Any, error: str, note: str) -> None:
    check_mistake(call, __file__, error, note)
