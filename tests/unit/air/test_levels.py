"""Levels, memories and values of traced programs, on the emulator against NumPy."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from tilewright import air
from tilewright.air.program import AirProgram
from tilewright.ir.diagnostics import CompileError


def random(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


def test_what_a_body_uses_is_passed_to_it_and_constants_are_made_again() -> None:
    @air.jit
    def scaled(x, factor):
        count = x.shape[0]
        two = count * 2

        @air.launch(1, waves=1)
        def _(_):
            for i in air.sequential(air.lane(), count, air.lanes()):
                x[i] = x[i] * factor + (two // 2).astype(air.f32)

    x = random(100)
    expected = x * np.float32(3) + np.float32(100)
    text = scaled.mlir(x, 3.0)
    assert "air.launch" in text and "air.herd" in text and "arith.divui" in text
    assert isinstance(scaled.program(x, 3.0), AirProgram)
    scaled(x, 3.0)
    assert np.array_equal(x, expected)


def test_a_herd_by_itself_covers_all_its_points() -> None:
    """As in mlir-air's programs: a herd over tiles, buffers of processing elements, loads, one expression, a store."""

    @air.jit
    def add(a, b, c):
        with air.herd(air.cdiv(a.shape[0], 100)) as h:

            @h.body
            def _(tx):
                window = slice(tx * 100, tx * 100 + 100)
                a_buf, b_buf, c_buf = (air.alloc([100], air.f32, scope=h.private()) for _ in range(3))
                air.ops.load(a_buf, a[window])
                air.ops.load(b_buf, b[window])
                c_buf[:] = a_buf[:] + b_buf[:]
                air.ops.store(c_buf, c[window])

    a, b = random(2, 777)
    c = np.zeros_like(a)
    add(a, b, c)
    assert np.array_equal(c, a + b)


def test_herds_of_ranges_and_segments_with_memory_of_the_block() -> None:
    @air.jit
    def transpose(a, b):
        @air.launch([2, 3])
        def _(x, y):
            with air.segment() as seg:

                @seg.body
                def _():
                    tile = air.alloc([16, 16], air.i32, scope=seg.private())
                    air.ops.load(tile, a[x * 16 : x * 16 + 16, y * 16 : y * 16 + 16])

                    @air.herd(product(range(0, 16, 4), range(0, 16, 8)))
                    def _(i, j):
                        with air.if_(air.lane() < 32, hasElse=False):
                            row, column = i * 4 + air.lane() // 8, j * 8 + air.lane() % 8
                            b[y * 16 + column, x * 16 + row] = tile[row, column]

    a = np.arange(32 * 48, dtype=np.int32).reshape(32, 48)
    b = np.zeros((48, 32), np.int32)
    transpose(a, b)
    assert np.array_equal(b, a.T)


@pytest.mark.parametrize("grid", [12, [4, 3], [range(0, 64, 16), range(3)]], ids=str)
@pytest.mark.parametrize("blocks", [None, 2], ids=["by themselves", "in a launch"])
def test_segments_have_an_iteration_space(grid, blocks: int | None) -> None:
    """By themselves they are blocks; in a launch each block does them all, one after the other in the same memory."""
    counts = [12] if grid == 12 else [4, 3]

    @air.jit
    def turn(a, b):
        def segments(first):
            with air.segment(grid, name="copies") as seg:
                assert list(seg.grid) == counts and seg.name == "copies"

                @seg.body
                def _(*point):
                    place = first * 12 + (point[0] if len(point) == 1 else point[0] * 3 + point[1])
                    room = air.shared((4, air.lanes()), air.i32)

                    @air.herd(4)
                    def _(wave):
                        room[wave, air.lane()] = a[place, wave, air.lane()]

                    @air.herd(4)
                    def _(wave):
                        b[place, wave, air.lane()] = room[3 - wave, air.lane()]

        if blocks is None:
            segments(0)
        else:
            air.launch(blocks)(segments)

    a = np.arange((blocks or 1) * 12 * 4 * 64, dtype=np.int32).reshape(-1, 4, 64)
    b = np.zeros_like(a)
    program = turn.options(settings={"check": "races"})
    program(a, b)
    assert np.array_equal(b, a[:, ::-1])
    assert program.mlir(a, b).count("air.segment @copies") == 1


def test_a_body_of_a_segment_takes_its_dimensions() -> None:
    @air.jit
    def work(a):
        @air.segment([2, 3])
        def _(x):
            pass

    with pytest.raises(CompileError, match=r"this segment has 2 dimensions, but its body takes \(x\)"):
        work.mlir(np.zeros(1, np.float32))


def test_leading_dimensions_of_one_element_need_not_be_there() -> None:
    @air.jit
    def work(a, b):
        @air.launch(2)
        def _(block):
            @air.herd(3)
            def _(wave):
                tile = air.alloc([40], air.i32)
                air.ops.load(tile, a[block, wave : wave + 1, 0:40])
                air.ops.store(tile[:] + 1, b[block : block + 1, wave : wave + 1, 0:40])

    a = np.arange(240, dtype=np.int32).reshape(2, 3, 40)
    b = np.zeros_like(a)
    work(a, b)
    assert np.array_equal(b, a + 1)

    @air.jit
    def wrong(a):
        @air.launch(1, waves=1)
        def _(_):
            air.ops.load(air.alloc([40], air.i32), a[0, :2, :40])

    with pytest.raises(CompileError, match="a part of 2 x 40 is not like <Buffer 40 of int32>"):
        wrong.mlir(a)


def test_more_points_than_waves_take_turns() -> None:
    @air.jit
    def count(hits):
        @air.launch(2)
        def _(block):
            @air.herd(40)
            def _(x):
                with air.if_(air.lane() == 0, hasElse=False):
                    air.atomic_add(hits, block * 40 + x, 1, order="relaxed")

    hits = np.zeros(80, np.int32)
    count(hits)
    assert (hits == 1).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int32, np.uint32, np.int64])
def test_tiles_of_all_types(dtype: type) -> None:
    @air.jit
    def work(x, y, total):
        @air.launch(1, waves=2)
        def _(_):
            tile = air.load(x[:300])
            y[:300] = tile * 2 - 1
            most, least = tile.max(), tile.min()  # all lanes take part in these
            with air.if_(air.lane() == 0, hasElse=False):
                total[0], total[1] = most, least

    x = np.arange(1, 301).astype(dtype)
    y, total = np.zeros_like(x), np.zeros(2, dtype)
    work(x, y, total)
    assert np.array_equal(y, x * np.array(2, dtype) - np.array(1, dtype))
    assert total.tolist() == [x.max(), x.min()]


def test_unsigned_numbers_stay_unsigned() -> None:
    @air.jit
    def halve(x):
        @air.launch(1, waves=1)
        def _(_):
            part = x[: air.lanes()]
            tile = air.load(part)
            x[: air.lanes()] = air.where(tile > 5, tile // 2, tile)

    x = np.array([1, 5, 7, 0xFFFFFFFE] * 16, np.uint32)
    expected = np.where(x > 5, x // 2, x)
    halve(x)
    assert np.array_equal(x, expected)


def test_vectors_and_memory_of_a_lane() -> None:
    @air.jit
    def work(x, y):
        @air.launch(1, waves=1)
        def _(_):
            place = air.lane() * 4
            v = air.vload(x, place, 4, alignment=16)
            sums = air.private(2)
            sums[0] = (v * 2.0 + 1.0).sum()
            sums[1] = v.fma(v, air.broadcast(0.5, 4))[3]
            air.vstore(air.vector([sums[0], sums[1], v[0], v[1]]), y, place, alignment=16)

    x = random(256)
    y = np.zeros_like(x)
    work(x, y)
    rows = x.reshape(64, 4)
    sums = (rows * np.float32(2) + np.float32(1)).sum(axis=1)
    expected = np.stack([sums, rows[:, 3] ** 2 + 0.5, rows[:, 0], rows[:, 1]], axis=1)
    assert np.allclose(y.reshape(64, 4), expected, rtol=1e-6, atol=1e-6)


def test_dma_copies_are_the_operations_of_the_dialect() -> None:
    @air.jit
    def copy(a, b):
        @air.launch(1)
        def _(_):
            @air.segment()
            def _():
                room = air.shared((8, 8), air.i32)
                air.dma(room, a[2:10, 4:12])

                @air.herd(1)
                def _(_):
                    with air.if_(air.lane() < 8, hasElse=False):
                        air.dma(b[air.lane(), 0:8], room[air.lane(), 0:8])

    a = np.arange(400, dtype=np.int32).reshape(20, 20)
    b = np.zeros((8, 8), np.int32)
    assert copy.mlir(a, b).count("air.dma_memcpy_nd") == 2
    copy(a, b)
    assert np.array_equal(b, a[2:10, 4:12])


def test_atomics_have_orders_and_scopes() -> None:
    @air.jit
    def work(x, log):
        @air.launch(4, waves=1)
        def _(block):
            with air.if_(air.lane() == 0, hasElse=False):
                log[block] = air.atomic_add(x, 0, 10, order="acq_rel", scope="system")
                air.atomic_max(x, 1, block.astype(air.i32), order="relaxed", scope="device")
                air.atomic_or(x, 2, air.where(block == 1, 4, 2), order="release")
                air.atomic_cas(x, 3, 0, 7)
                air.fence("acq_rel", "device")
                air.atomic_store(x, block + 4, 1)
                air.wait_until(lambda: air.atomic_load(x, block + 4) == 1)

    x, log = np.zeros(8, np.int32), np.zeros(4, np.int32)
    text = work.mlir(x, log)
    assert 'syncscope("agent") monotonic' in text and "atomic release" in text and "atomic acquire" in text
    work(x, log)
    assert x.tolist() == [40, 3, 6, 7, 1, 1, 1, 1] and sorted(log.tolist()) == [0, 10, 20, 30]


def test_a_wait_gives_what_it_waited_for() -> None:
    @air.jit
    def work(x, seen):
        @air.launch(2, waves=1)
        def _(block):
            with air.if_(air.lane() == 0, hasElse=False):
                with air.if_(block == 1, hasElse=False):
                    air.atomic_store(x, 0, 200)
                seen[block] = air.atomic_wait(x, 0, lambda value: value > 100)

    seen = np.zeros(2, np.uint8)
    work(np.zeros(1, np.uint8), seen)
    assert seen.tolist() == [200, 200]


def test_instructions_of_a_vendor_are_said_in_other_words_on_the_emulator() -> None:
    def fast_reciprocal(x):
        ptx = "rcp.approx.ftz.f32 $0, $1;"
        return air.inline_asm([x], air.f32, ptx=ptx, constraints="=f,f", otherwise=lambda x: 1.0 / x)

    @air.jit
    def work(x):
        @air.launch(1, waves=1)
        def _(_):
            x[air.lane()] = fast_reciprocal(x[air.lane()])

    x = random(64) + 4
    expected = 1 / x
    assert "rcp.approx" in work.options(backend="cuda", chip="sm_90").mlir(x)
    assert "rcp.approx" not in work.mlir(x)
    work(x)
    assert np.allclose(x, expected)


def test_a_function_may_call_another_one_and_use_loops_that_carry_values() -> None:
    @air.jit
    def square_sum(x, row):
        total = None
        for i, total, result in air.sequential(0, x.shape[1], iter_args=[0.0]):  # noqa: B007
            air.yield_([total + x[row, i] * x[row, i]])
        return result

    @air.jit
    def work(x, y):
        @air.launch(x.shape[0], waves=1)
        def _(row):
            with air.if_(air.lane() == 0, hasElse=False):
                y[row] = square_sum(x, row)

    x = random(5, 33)
    y = np.zeros(5, np.float32)
    work(x, y)
    assert np.allclose(y, (x * x).sum(axis=1), rtol=1e-5)


def test_symmetric_arrays_of_open_sizes_reach_other_ranks() -> None:
    @air.jit(ranks=3)
    def exchange(x, y):
        @air.rank()
        def _(me):
            room = air.symmetric(x.shape)

            @air.launch(1, waves=1)
            def _(_):
                theirs = air.peer(room, (me + 1) % air.world_size())
                for i in air.sequential(air.lane(), x.shape[1], air.lanes()):
                    theirs[me, i] = x[me, i]

            air.barrier()

            @air.launch(1, waves=1)
            def _(_):
                before = (me + air.world_size() - 1) % air.world_size()
                for i in air.sequential(air.lane(), x.shape[1], air.lanes()):
                    y[i] = room[before, i]

    x = random(3, 70)
    y = np.zeros(70, np.float32)
    result = exchange(x, y)
    assert [np.array_equal(rank.arrays[1], x[(rank.rank + 2) % 3]) for rank in result.ranks] == [True] * 3
