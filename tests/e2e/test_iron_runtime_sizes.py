"""Programs whose sizes are numbers of the sequence, on the simulator: one design, and what NumPy says for each size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iron_programs import vector

import tilewright as tw
from tilewright.iron import (
    Buffer,
    ObjectFifo,
    Program,
    Runtime,
    TaskGroup,
    TileTrace,
    TraceBuffer,
    Worker,
    WorkerRuntimeBarrier,
    kernels,
)
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1
from tilewright.iron.dialects.aiex import (
    EndOp,
    bds,
    dma_await_task,
    dma_bd,
    dma_configure_task_for,
    dma_start_task,
    npu_dma_memcpy_nd,
    npu_maskwrite32,
    npu_maskwrite32_dynamic,
    npu_sync,
    npu_sync_dynamic,
    npu_write32,
    npu_write32_dynamic,
    shim_dma_single_bd_task,
)
from tilewright.iron.extras import types as T
from tilewright.iron.helpers.dialects.scf import if_
from tilewright.iron.helpers.taplib import TensorAccessPattern, TensorTiler2D
from tilewright.iron.runtime import RtpWriteTask

NUMBERS = vector(None)


def through_mem_tile(sequence: Callable[..., Any], object_size: int, *scalars: Any) -> tw.Design:
    """A design that moves what its sequence, of two buffers and some numbers, sends through a mem tile."""
    source = ObjectFifo(vector(object_size), name="in")
    target = source.cons().forward(name="out")
    runtime = Runtime(sequence, [NUMBERS, NUMBERS, *scalars, source.prod(), target.cons()])
    return tw.compile(Program(NPU1Col1(), runtime))


def passthrough(line: int) -> Program:
    """Upstream's dynamic passthrough: buffers are declared as one line, and the length is a number of the run."""
    line_type = vector(line, np.uint8)
    of_in, of_out = ObjectFifo(line_type, name="in"), ObjectFifo(line_type, name="out")

    def core(source: Any, target: Any, copy: Any) -> None:
        result, given = target.acquire(1), source.acquire(1)
        copy(given, result, line)
        source.release(1)
        target.release(1)

    runtime = Runtime()
    with runtime.sequence(line_type, line_type, line_type, T.i32) as (a, b, _, length):
        runtime.start(Worker(core, [of_in.cons(), of_out.prod(), kernels.passthrough(line, np.uint8)]))
        runtime.fill(of_in.prod(), a, sizes=[1, 1, 1, length])
        runtime.drain(of_out.cons(), b, sizes=[1, 1, 1, length], wait=True)
    return Program(NPU1Col1(), runtime)


@pytest.fixture(scope="module")
def line_of_1024() -> tw.Design:
    return tw.compile(passthrough(1024))


@pytest.mark.parametrize("length", [1024, 2048, 3072, 4096])
def test_buffer_that_is_one_object_has_any_number_of_them(line_of_1024: tw.Design, length: int) -> None:
    a, b = np.random.default_rng(length).integers(0, 256, length, np.uint8), np.zeros(length + 8, np.uint8)
    line_of_1024.run(a, b, None, length)
    assert (b[:length] == a).all() and not b[length:].any()


def test_sequence_as_a_function_of_types() -> None:
    """The program gets the function and the types of its arguments; it knows ends of ObjectFifos from outside."""
    of_in, of_out = ObjectFifo(vector(16), name="in"), ObjectFifo(vector(16), name="out")

    def core(source: Any, target: Any, copy: Any) -> None:
        result, given = target.acquire(1), source.acquire(1)
        copy(given, result, 16)
        source.release(1)
        target.release(1)

    def sequence(a: Any, b: Any, length: Any) -> None:
        of_in.prod().fill(a, sizes=[1, 1, 1, length])
        of_out.cons().drain(b, sizes=[1, 1, 1, length], wait=True)

    ends = [of_in.cons(), of_out.prod(), kernels.passthrough(16, np.int32)]
    worker = Worker(core, ends, trace=TileTrace())
    types = [vector(64), vector(64), T.i32]
    program = Program(NPU1Col1(), sequence, arg_types=types, workers=[worker], trace=TraceBuffer(8192))
    design = tw.compile(program)
    assert design.scalars() == ["length"]
    a = np.arange(128, dtype=np.int32)
    for length in (16, 64, 128):
        design.run(a, b := np.zeros(128, np.int32), length, trace := np.zeros(8192, np.int8))
        assert (b[:length] == a[:length]).all() and not b[length:].any() and trace.any()
    with pytest.raises(tw.CompileError, match="arg_types do not fit 'sequence'"):
        Program(NPU1Col1(), sequence, arg_types=types[:2])
    with pytest.raises(tw.CompileError, match="a Runtime has the types of its sequence's arguments itself"):
        Program(NPU1Col1(), Runtime(sequence, types), arg_types=types)


def test_descriptors_in_the_words_of_older_programs() -> None:
    """`len`, and pairs of sizes and strides."""

    def sequence(a: Any, b: Any, rows: Any, source: Any, target: Any) -> None:
        older: dict[str, Any] = {"len": rows * 16, "dimensions": [(rows, 32), (16, 1)]}
        today: dict[str, Any] = {"transfer_len": rows * 16, "sizes": [rows, 16], "strides": [16, 1]}
        tasks = list[Any]()
        for end, buffer, words in ((target, b, today), (source, a, older)):
            tasks.append(task := dma_configure_task_for(end.name, issue_token=end is target))
            with bds(task) as bd, bd[0]:
                dma_bd(buffer.op, offset=0, **words)
                EndOp()
            dma_start_task(task)
        dma_await_task(tasks[0])

    design = through_mem_tile(sequence, 16, np.int32)
    a = np.arange(8 * 32, dtype=np.int32)
    design.run(a, b := np.zeros(8 * 16, np.int32), 5)
    assert (b[:80].reshape(5, 16) == a.reshape(8, 32)[:5, :16]).all() and not b[80:].any()


@pytest.mark.parametrize(
    "words, complaint",
    [
        ({"len": 4, "transfer_len": 4}, "transfer_len or its older name len, not both"),
        ({"dimensions": [(4, 1)], "sizes": [4]}, "sizes and strides or dimensions, not both"),
        ({"dimensions": [(4, 1, 2)]}, "each of dimensions is a pair of a size and a stride"),
    ],
)
def test_words_of_older_and_of_newer_programs(words: dict[str, Any], complaint: str) -> None:
    def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
        with bds(dma_configure_task_for(source.name)) as bd, bd[0]:
            dma_bd(a.op, **words)

    with pytest.raises(tw.CompileError, match=complaint):
        through_mem_tile(sequence, 16)


def test_the_hosts_array_is_still_a_bound(line_of_1024: tw.Design) -> None:
    with pytest.raises(tw.Fault, match="argument a"):
        line_of_1024.run(np.zeros(1024, np.uint8), np.zeros(2048, np.uint8), None, 2048)


def test_declared_size_is_that_of_one_problem() -> None:
    """Where the run says how much is moved, one declared size serves problems of many; where from is in its bounds."""

    def sequence(a: Any, b: Any, c: Any, count: Any, first: Any, source: Any, target: Any) -> None:
        source.fill(a, sizes=[1, 1, 1, count])
        target.drain(b, sizes=[1, 1, 1, count], wait=True)
        source.fill(c, offset=first, transfer_len=16)
        target.drain(c, offset=first, transfer_len=16, wait=True)

    source = ObjectFifo(vector(16), name="in")
    target = source.cons().forward(name="out")
    arguments = [vector(64), vector(64), vector(64), np.int32, np.int32, source.prod(), target.cons()]
    design = tw.compile(Program(NPU1Col1(), Runtime(sequence, arguments)))
    a, b, c = np.arange(160, dtype=np.int32), np.zeros(160, np.int32), np.arange(64, dtype=np.int32)
    for length in (48, 160):
        design.run(a, b, c, length, 16)
        assert (b[:length] == a[:length]).all()
    with pytest.raises(tw.RangeError, match=r"end of the transfer.* is 320 but must be in \[0:256\]"):
        design.txn(count=16, first=64)


def test_sizes_of_a_pattern_that_the_run_gives() -> None:
    pattern = TensorAccessPattern((64, 64), 0, [1, 1, 64, 16], [0, 0, 64, 1])

    def sequence(a: Any, b: Any, rows: Any, source: Any, target: Any) -> None:
        source.fill(a, pattern, dynamic_sizes=[None, None, rows, None])
        target.drain(b, dynamic_sizes=[1, 1, rows, 16], strides=[0, 0, 16, 1], wait=True)

    design = through_mem_tile(sequence, 16, np.int32)
    a = np.arange(64 * 64, dtype=np.int32)
    for rows in (1, 5, 64):
        design.run(a, b := np.zeros(64 * 16, np.int32), rows)
        assert (b[: 16 * rows].reshape(rows, 16) == a.reshape(64, 64)[:rows, :16]).all() and not b[16 * rows :].any()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 30])
def test_groups_that_end_a_turn_after_their_transfers(count: int) -> None:
    """Double buffering: each half waits for the other's last, whose tasks are in another body, by the channel's token.

    More transfers than there are descriptors: nothing frees them, and they come round again.
    """

    def sequence(a: Any, b: Any, count: Any, source: Any, target: Any) -> None:
        before = None
        for turn in range_(0, count, 2):
            for half in (0, 1):
                with if_(turn + half < count, hasElse=False):
                    group, offset = TaskGroup(), (turn + half) * 16
                    source.fill(a, offset=offset, transfer_len=16, group=group)
                    target.drain(b, offset=offset, transfer_len=16, group=group, wait=True)
                    if before is not None:
                        before.finish()
                    before = group
            with if_(turn > 0, hasElse=False):
                npu_sync(column=0, row=0, direction=0, channel=0)
        assert before is not None
        before.finish()

    design = through_mem_tile(sequence, 16, np.int32)
    a = np.arange(1, 16 * 32 + 1, dtype=np.int32)
    design.run(a, b := np.zeros(16 * 32, np.int32), count)
    assert (b[: 16 * count] == a[: 16 * count]).all() and not b[16 * count :].any()


def test_sizes_of_a_placed_transfer_that_the_run_gives() -> None:
    def sequence(a: Any, b: Any, rows: Any, source: Any, target: Any) -> None:
        pattern = TensorAccessPattern((8, 64), 0, [1, 1, 8, 16], [0, 0, 64, 1])
        open_rows: Any = {"dynamic_sizes": [None, None, rows, None]}
        npu_dma_memcpy_nd(source.name, 0, a.op, pattern, issue_token=False, **open_rows)
        task = shim_dma_single_bd_task(
            target.name, b.op, sizes=[1, 1, 8, 16], strides=[0, 0, 16, 1], issue_token=True, **open_rows
        )
        dma_start_task(task)
        dma_await_task(task)

    design = through_mem_tile(sequence, 16, np.int32)
    a = np.arange(8 * 64, dtype=np.int32)
    design.run(a, b := np.zeros(8 * 16, np.int32), 3)
    assert (b[:48].reshape(3, 16) == a.reshape(8, 64)[:3, :16]).all() and not b[48:].any()


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ({"sizes": [1, 1, 4, 16], "dynamic_sizes": [4, 16]}, "got 2 dynamic_sizes for a pattern of 4 dimensions"),
        ({"dynamic_sizes": [1, None, 4, 16]}, "has no pattern whose sizes None could mean"),
        ({"dynamic_sizes": 4}, "expected a list as dynamic_sizes, not 4"),
    ],
)
def test_sizes_that_fit_no_pattern(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(tw.CompileError, match=complaint):
        through_mem_tile(lambda a, b, source, target: source.fill(a, **arguments), 16)


Tiling = Callable[[Any, Any], Any]


def tiled(tiling: Tiling, object_size: int) -> tw.Design:
    """A design that sends a matrix of any size in the order of its tiles."""

    def sequence(a: Any, b: Any, rows: Any, columns: Any, moved: Any, source: Any, target: Any) -> None:
        whole = TaskGroup()
        target.drain(b, transfer_len=moved, wait=True, group=whole)
        for tap in tiling(rows, columns):
            group = TaskGroup()
            source.fill(a, tap, wait=True, group=group)
            group.finish()
        whole.finish()

    return through_mem_tile(sequence, object_size, np.int32, np.int32, np.int32)


def in_order(taps: Sequence[TensorAccessPattern], a: np.ndarray) -> np.ndarray:
    return np.concatenate([a[[*tap.access_generator()]] for tap in taps])


@settings(max_examples=4, deadline=None, derandomize=True)
@given(data=st.data())
def test_tiles_of_a_matrix_whose_size_the_run_gives(data: st.DataObject) -> None:
    """The same patterns as of Python's numbers, in the same order, whatever the tiles and their groups."""
    tile = data.draw(st.tuples(st.sampled_from([2, 4]), st.sampled_from([4, 8])))
    repeats = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    steps = data.draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
    orders = ("tile_col_major", "tile_group_col_major", "iter_col_major", "prune_step", "allow_partial")
    options = {name: data.draw(st.booleans()) for name in orders}
    tiling: Tiling = lambda m, n: TensorTiler2D.step_tiler((m, n), tile, repeats, steps, **options)  # noqa: E731
    design = tiled(tiling, tile[0] * tile[1])
    group = [t * r * s for t, r, s in zip(tile, repeats, steps, strict=True)]
    for _ in range(3):
        parts = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
        m, n = (part * unit for part, unit in zip(parts, tile if options["allow_partial"] else group, strict=True))
        a = np.arange(m * n, dtype=np.int32)
        expected = in_order(tiling(m, n), a)
        design.run(a, b := np.zeros(expected.size, np.int32), m, n, expected.size)
        assert (b == expected).all()


def test_tile_sizes_may_be_numbers_of_the_run() -> None:
    design = tiled(lambda m, n: TensorTiler2D.simple_tiler((m, n), (m // 2, n // 4)), 8)
    a = np.arange(16 * 32, dtype=np.int32)
    design.run(a, b := np.zeros(16 * 32, np.int32), 16, 32, 16 * 32)
    assert (b == in_order(TensorTiler2D.simple_tiler((16, 32), (8, 8)), a)).all()


def test_tiles_by_number_and_in_parts() -> None:
    """Two halves of the tiles, each by its own rule: every second one, and from the other end."""

    def sequence(a: Any, b: Any, rows: Any, source: Any, target: Any) -> None:
        taps: Any = TensorTiler2D.simple_tiler((rows, 16), (4, 16))
        order = [taps[-1], taps[0]]
        for part in (taps[1::2], taps[:3]):
            group = TaskGroup()
            target.drain(b, transfer_len=part.num_steps * 64, wait=True, group=group)
            for tap in part:
                inner = TaskGroup()
                source.fill(a, tap, wait=True, group=inner)
                inner.finish()
            group.finish()
        for place, tap in enumerate(order):
            group = TaskGroup()
            source.fill(a, tap, group=group)
            target.drain(b, offset=rows * 16 + place * 64, transfer_len=64, wait=True, group=group)
            group.finish()

    design = through_mem_tile(sequence, 64, np.int32)
    for rows in (8, 16, 20):
        a = np.arange(rows * 16, dtype=np.int32)
        tiles = a.reshape(-1, 64)
        design.run(a, b := np.full(rows * 16 + 128, -1, np.int32), rows)
        expected = np.full(rows * 16, -1, np.int32)
        for part in (tiles[1::2], tiles[:3]):
            expected[: part.size] = part.ravel()
        assert (b[:-128] == expected).all() and (b[-128:] == [*tiles[-1], *tiles[0]]).all()


def test_tiles_that_do_not_divide_the_matrix() -> None:
    design = tiled(lambda m, n: TensorTiler2D.group_tiler((m, n), (4, 4), (2, 1)), 16)
    design.txn(rows=16, columns=8, moved=128)
    for rows, columns, complaint in (
        (18, 8, "dimension 0 of the tensor modulo that of a tile is 2"),
        (12, 8, "dimension 0 of the tensor modulo that of a group of tiles is 4"),
        (16, 6, "dimension 1 of the tensor modulo that of a tile is 2"),
    ):
        with pytest.raises(tw.RangeError, match=complaint):
            design.txn(rows=rows, columns=columns, moved=128)


def test_how_many_tiles_there_are_is_no_number_of_python() -> None:
    with pytest.raises(tw.CompileError, match="how many patterns there are is known only when the sequence runs"):
        tiled(lambda m, n: range(len(TensorTiler2D.simple_tiler((m, n), (4, 4)))), 16)
    with pytest.raises(tw.CompileError, match="patterns of a sequence are taken in order, not by steps of -1"):
        tiled(lambda m, n: TensorTiler2D.simple_tiler((m, n), (4, 4))[::-1], 16)
    with pytest.raises(ValueError, match="Ran out of dimensions for repeat"):
        tiled(lambda m, n: TensorTiler2D.group_tiler((m, n), (4, 4), (m // 4, n // 4), pattern_repeat=2), 16)


DATA_MEMORY = 0x400


def scaled_by_parameters(sequence: Callable[..., Any], *scalars: Any) -> tw.Design:
    """A design whose core multiplies with one parameter, and adds another."""
    of_in, of_out = ObjectFifo(vector(16), name="in"), ObjectFifo(vector(16), name="out")
    parameters = Buffer(vector(4), name="parameters", use_write_rtp=True, address=DATA_MEMORY)
    are_set = WorkerRuntimeBarrier()

    def core(source: Any, target: Any, parameters: Any, are_set: Any) -> None:
        from tilewright.iron.controlflow import range_

        are_set.wait_for_value(1)
        given, result = source.acquire(1), target.acquire(1)
        for i in range_(16):
            result[i] = given[i] * parameters[1] + parameters[2]
        source.release(1)
        target.release(1)

    def whole(a: Any, b: Any, *rest: Any) -> None:
        *values, source, target = rest
        sequence(parameters, *values)
        are_set.set(1)
        source.fill(a)
        target.drain(b, wait=True)

    worker = Worker(core, [of_in.cons(), of_out.prod(), parameters, are_set])
    runtime = Runtime(whole, [vector(16), vector(16), *scalars, of_in.prod(), of_out.cons()])
    return tw.compile(Program(NPU1Col1(), runtime, workers=[worker]))


def check_scaled(design: tw.Design, factor: int, summand: int, *values: int) -> None:
    a = np.arange(16, dtype=np.int32)
    design.run(a, b := np.zeros(16, np.int32), *values)
    assert (b == a * factor + summand).all()


def test_parameters_as_tasks() -> None:
    def sequence(parameters: Buffer, factor: Any) -> None:
        for task in (RtpWriteTask("parameters", 1, factor), RtpWriteTask(parameters, 2, 7)):
            task.resolve()

    design = scaled_by_parameters(sequence, np.int32)
    for factor in (3, -5):
        check_scaled(design, factor, 7, factor)


def test_task_outside_of_a_sequence() -> None:
    with pytest.raises(tw.CompileError, match="this belongs in a runtime sequence"):
        RtpWriteTask("parameters", 0, 1).resolve()


def test_registers_by_their_older_names() -> None:
    """Numbers of the run as addresses, values and masks; the words are those of today's names."""

    def with_names(write: Callable[..., Any], mask: Callable[..., Any]) -> Callable[..., Any]:
        def sequence(_: Buffer, address: Any, factor: Any, bits: Any) -> None:
            write(address + 4, factor, column=0, row=2)
            write(address + 8, -1, column=0, row=2)
            mask(address + 8, factor, bits, column=0, row=2)

        return sequence

    older = scaled_by_parameters(with_names(npu_write32_dynamic, npu_maskwrite32_dynamic), np.int32, np.int32, np.int32)
    check_scaled(older, 6, -1 & ~0xFF | 6, DATA_MEMORY, 6, 0xFF)
    today = scaled_by_parameters(with_names(npu_write32, npu_maskwrite32), np.int32, np.int32, np.int32)
    a, b, c = older.scalars()
    values = {a: DATA_MEMORY, b: 9, c: 0xF0F}
    assert (older.txn(**values) == today.txn(**values)).all()


def test_waits_by_their_older_name() -> None:
    def with_name(sync: Callable[..., Any]) -> Callable[..., Any]:
        def sequence(a: Any, b: Any, column: Any, channel: Any, source: Any, target: Any) -> None:
            npu_dma_memcpy_nd(source.name, 0, a.op, sizes=[1, 1, 1, 16])
            npu_dma_memcpy_nd(target.name, 1, b.op, sizes=[1, 1, 1, 16], issue_token=True)
            sync(column, 0, 0, channel, 1, 1)

        return sequence

    older = through_mem_tile(with_name(npu_sync_dynamic), 16, np.int32, np.int32)
    a = np.arange(16, dtype=np.int32)
    older.run(a, b := np.zeros(16, np.int32), 0, 0)
    assert (b == a).all()
    today = through_mem_tile(with_name(npu_sync), 16, np.int32, np.int32)
    assert (older.txn(column=0, channel=0) == today.txn(column=0, channel=0)).all()
