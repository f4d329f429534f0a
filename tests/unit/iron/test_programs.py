"""Programs as MLIR: what each part of one becomes."""

import re
from typing import Any

import numpy as np
import pytest
from iron_programs import Pipe, move_all, vector

import tilewright as tw
from tilewright.device import DmaDirection, TileType
from tilewright.iron import (
    Acquire,
    Bd,
    BdIteration,
    Buffer,
    CascadeFlow,
    DmaChannel,
    Flow,
    Kernel,
    Lock,
    ObjectFifo,
    PacketDest,
    PacketFlow,
    Program,
    Release,
    Runtime,
    ScratchpadParameter,
    TaskGroup,
    TileDma,
    Worker,
    WorkerRuntimeBarrier,
)
from tilewright.iron.controlflow import else_, if_, range_, yield_
from tilewright.iron.device import NPU2, AnyComputeTile, NPU1Col1, Tile, from_name
from tilewright.iron.placers import SequentialPlacer
from tilewright.iron.runtime import RuntimeScalar, sync_parameters


def lines(program: Program) -> list[str]:
    return [" ".join(line.split()) for line in str(program.resolve_program()).splitlines()]


def matching(program: Program, pattern: str) -> list[str]:
    """The lines with something in them; constants have no numbers behind their names here."""
    return [re.sub(r"(%c\d+_i32)_\d+", r"\1", line) for line in lines(program) if re.search(pattern, line)]


def nothing() -> None:
    """A sequence that does nothing."""


def on_one_column(*workers: Worker, **kwargs: Any) -> Program:
    return Program(NPU1Col1(), Runtime(nothing), workers, **kwargs)


def test_a_whole_program():
    """Tiles, fifos, cores, and last the sequence: transfers are tasks that the end of the sequence waits for."""
    text = lines(Pipe().program(move_all, vector(128), vector(128)))
    expected = """
      aie.device(npu1_1col) {
      %logical_core = aie.logical_tile<CoreTile>(?, ?)
      %logical_shim_noc = aie.logical_tile<ShimNOCTile>(?, ?)
      %logical_shim_noc_0 = aie.logical_tile<ShimNOCTile>(?, ?)
      aie.objectfifo @in(%logical_shim_noc, {%logical_core}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
      aie.objectfifo @out(%logical_core, {%logical_shim_noc_0}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
      %0 = aie.core(%logical_core) {
      scf.for %arg0 = %c0 to %c9223372036854775807 step %c1 {
      aie.objectfifo.release @out(Produce, 1)
      aie.end
      aie.runtime_sequence(%arg0: memref<128xi32>, %arg1: memref<128xi32>) {
      %1 = aiex.dma_configure_task_for @in {
      aie.dma_bd(%arg0 : memref<128xi32> offset = 0 len = 128)
      aiex.dma_start_task(%1)
      %2 = aiex.dma_configure_task_for @out {
      } {issue_token = true}
      aiex.dma_start_task(%2)
      aiex.dma_await_task(%2)
      aiex.dma_free_task(%1)
      aiex.dma_free_task(%2)
    """
    wanted = iter(" ".join(line.split()) for line in expected.strip().splitlines())
    line = next(wanted)
    for found in text:
        if found == line:
            line = next(wanted, "")
    assert line == "", f"not found, in this order: {line}"


def test_a_program_can_be_resolved_again():
    program = Pipe().program(move_all, vector(128), vector(128))
    assert str(program.resolve_program()) == str(program.resolve_program(SequentialPlacer()))


def test_python_and_mlir_give_the_same_words():
    def sequence(a: Any, b: Any, n: Any, source: Any, target: Any) -> None:
        source.fill(a, sizes=[1, 2, n, 8], strides=[0, 64, 8, 1])
        target.drain(b, transfer_len=n * 16, wait=True)

    program = Pipe().program(sequence, vector(1024), vector(1024), np.int32)
    design, again = tw.compile(program), tw.compile(str(program.resolve_program()))
    for n in (4, 8, 40):
        assert (design.txn("sequence", n=n) == again.txn("sequence", arg2=n)).all()


def test_numbers_that_are_known_make_the_same_transfers():
    """One body serves both: with a type the number comes at run time, with an integer it is known now."""

    def sequence(a: Any, n: Any, source: Any, target: Any) -> None:
        for _ in range_(n):
            group = TaskGroup()
            source.fill(a, transfer_len=n * 64, wait=True, group=group)
            group.finish()

    open_design = tw.compile(Pipe().program(sequence, vector(1024), np.int32))
    closed = tw.compile(Pipe().program(sequence, vector(1024), 3))
    pushes = [tw.txn.decode(design.txn(**given)) for design, given in ((open_design, {"n": 3}), (closed, {}))]
    kinds = [[op.name for op in stream.operations if op.name in ("DDR_PATCH", "TCT")] for stream in pushes]
    assert kinds[0] == kinds[1] == ["DDR_PATCH", "TCT"] * 3


@pytest.mark.parametrize(
    "options, pattern",
    [
        pytest.param({"while_true": False}, r"step %c1_?\d* \{$", id="once"),
        pytest.param({"stack_size": 2048}, "stack_size = 2048", id="stack"),
        pytest.param({"dynamic_objfifo_lowering": True}, "dynamic_objfifo_lowering = true", id="rolled loops"),
        pytest.param({"tile": Tile(0, 3)}, r"logical_tile<CoreTile>\(0, 3\)", id="place"),
        pytest.param({"allocation_scheme": "basic-sequential"}, 'allocation_scheme = "basic-sequential"', id="memory"),
    ],
)
def test_options_of_workers(options: dict[str, Any], pattern: str):
    assert matching(on_one_column(Worker(None, **options)), pattern)


def test_a_grid_of_workers():
    grid = Worker.grid(2, 3, lambda row, column: Worker(None, tile=Tile(column, row + 2)))
    assert [[(w.tile.col, w.tile.row) for w in line] for line in grid] == [
        [(0, 2), (1, 2), (2, 2)],
        [(0, 3), (1, 3), (2, 3)],
    ]


@pytest.mark.parametrize(
    "options, pattern",
    [
        pytest.param({"depth": 4}, r"4 : i32\)", id="depth"),
        pytest.param({"via_DMA": True}, "via_DMA = true", id="via_DMA"),
        pytest.param({"disable_synchronization": True}, "disable_synchronization = true", id="no locks"),
        pytest.param({"aie_stream": (0, 1)}, "aie_stream = 0 : i32, aie_stream_port = 1 : i32", id="a core's stream"),
        pytest.param({"repeat_count": 3}, "repeat_count = 3 : i32", id="repeats"),
        pytest.param({"dims_to_stream": [(8, 1), (8, 8)]}, r"dimensionsToStream \[<size = 8, stride = 1>", id="order"),
        pytest.param({"consumer_obj_type": vector(16)}, "-> !aie.objectfifo<memref<16xi32>>", id="smaller pieces"),
        pytest.param({"init_values": [np.arange(64, dtype=np.int32)] * 2}, r"dense<\[0, 1, 2", id="initial values"),
    ],
)
def test_options_of_fifos(options: dict[str, Any], pattern: str):
    fifo = ObjectFifo(vector(64), name="between", **options)
    program = on_one_column(Worker(None, [fifo.prod()]), Worker(None, [fifo.cons()]))
    (line,) = matching(program, "aie.objectfifo @between")
    assert re.search(pattern, line), line


def test_padding_is_a_word_of_as_many_elements_as_fit():
    fifo = ObjectFifo(vector(64, np.int8), name="in")
    padded = fifo.cons().forward(name="padded", obj_type=vector(68, np.int8), pad_dimensions=[(2, 2)], pad_value=1)
    program = Program(NPU2(), Runtime(lambda end: None, [fifo.prod()]), [Worker(None, [padded.cons()])])
    (line,) = matching(program, "aie.objectfifo @padded")
    assert "padValue = 16843009 : i32" in line  # 0x01010101


def test_ends_with_a_channel_and_a_depth_of_their_own():
    fifo = ObjectFifo(vector(64), name="between", depth=2)
    program = on_one_column(Worker(None, [fifo.prod(channel=1)]), Worker(None, [fifo.cons(5, channel=0)]))
    (line,) = matching(program, "aie.objectfifo @between")
    assert "[2 : i32, 5 : i32]" in line
    assert "cons_dma_channels = array<i32: 0>" in line
    assert "prod_dma_channel = 1 : i32" in line


def test_split_join_and_forward():
    whole, parts = ObjectFifo(vector(64), name="a"), {"offsets": [0, 32], "obj_types": [vector(32)] * 2}
    halves = whole.cons().split(**parts)
    result = ObjectFifo(vector(64), name="b")
    joined = result.prod().join(**parts)
    after = result.cons().forward()
    workers = [Worker(None, [halves[n].cons(), joined[n].prod()]) for n in range(2)]
    program = Program(NPU1Col1(), Runtime(lambda a, b: None, [whole.prod(), after.cons()]), workers)
    assert matching(program, "objectfifo.link") == [
        "aie.objectfifo.link [@a] -> [@a_split0, @a_split1]([] [0, 32])",
        "aie.objectfifo.link [@b_join0, @b_join1] -> [@b]([0, 32] [])",
        "aie.objectfifo.link [@b] -> [@b_fwd]([] [0])",
    ]


def test_the_runtime_is_one_consumer_however_often_it_asks():
    fifo = ObjectFifo(vector(64), name="out")
    runtime = Runtime()
    with runtime.sequence(vector(128)) as b:
        runtime.drain(fifo.cons(), b, offset=0, transfer_len=64)
        runtime.drain(fifo.cons(), b, offset=64, transfer_len=64, wait=True)
    program = Program(NPU1Col1(), runtime, [Worker(None, [fifo.prod()])])
    (line,) = matching(program, "aie.objectfifo @out")
    assert line.count("%logical_shim") == 1
    assert len(matching(program, "dma_configure_task_for @out")) == 2


def test_buffers_and_locks_in_workers():
    parameters = Buffer(initial_value=np.arange(4, dtype=np.int32), name="p")
    lock = Lock(tile := Tile(0, 2, tile_type=TileType.CoreTile), lock_id=3, init=2, name="mine")

    def core(parameters: Any, lock: Any) -> None:
        lock.acquire(2)
        parameters[1] = parameters[0] + 1
        lock.release()

    program = on_one_column(Worker(core, [parameters, lock], tile=tile))
    assert matching(program, r"%p = aie.buffer\(%logical_core\) .*memref<4xi32> = dense<\[0, 1, 2, 3\]>")
    assert matching(program, r"%mine = aie.lock\(%logical_core, 3\) \{init = 2 : i32")
    assert len(matching(program, "logical_tile")) == 1
    assert matching(program, r"use_lock\(%mine, AcquireGreaterEqual, %c2_i32\)")


def test_a_sequence_writes_runtime_parameters():
    parameters = Buffer(np.ndarray[(2, 4), np.dtype[np.int32]], name="p", use_write_rtp=True)

    def sequence(n: Any) -> None:
        parameters[1, 2] = n + 1
        parameters[0, 0] = 7

    program = Program(NPU1Col1(), Runtime(sequence, [np.int64]), [Worker(None, [parameters])])
    first, second = matching(program, "rtp_write")
    assert re.fullmatch(r"aiex.npu.rtp_write\(@p, 6, %\d+\) : i32", first)
    assert second == "aiex.npu.rtp_write(@p, 0, %c7_i32) : i32"


def test_each_worker_has_its_own_lock_of_a_barrier():
    barrier = WorkerRuntimeBarrier(initial_value=3)

    def core(barrier: Any) -> None:
        barrier.wait_for_value(1)
        barrier.release_with_value(1)

    runtime = Runtime(lambda: barrier.set(1))
    program = Program(NPU1Col1(), runtime, [Worker(core, [barrier]), Worker(core, [barrier])])
    assert matching(program, "set_lock|use_lock|aie.lock") == [
        "%0 = aie.lock(%logical_core) {init = 3 : i32}",
        "aie.use_lock(%0, Acquire, %c1_i32)",
        "aie.use_lock(%0, Release, %c1_i32)",
        "%2 = aie.lock(%logical_core_0) {init = 3 : i32}",
        "aie.use_lock(%2, Acquire, %c1_i32)",
        "aie.use_lock(%2, Release, %c1_i32)",
        "aiex.set_lock(%0, 1)",
        "aiex.set_lock(%2, 1)",
    ]


def test_scratchpad_parameters():
    length, offset = ScratchpadParameter("length", np.int32), ScratchpadParameter("offset", np.int32)

    def core(source: Any, target: Any, length: Any) -> None:
        length.read()

    def sequence(a: Any, source: Any, target: Any) -> None:
        sync_parameters()
        source.fill(a, transfer_len=64, offset_parameter=offset)

    program = Pipe(None, core, length).program(sequence, vector(128))
    assert matching(program, "scratchpad_parameter|offset_parameter") == [
        "aiex.scratchpad_parameter @length : i32",
        "%1 = aiex.read_scratchpad_parameter @length : i32",
        "aiex.sync_scratchpad_parameters_from_host",
        "aie.dma_bd(%arg0 : memref<128xi32> offset = 0 len = 64) {offset_parameter = @offset}",
        "aiex.scratchpad_parameter @offset : i32",
    ]


def test_one_declaration_for_kernels_of_one_name():
    kernels = [Kernel("zero", "zero.o", [vector(64)]) for _ in range(2)]

    def core(source: Any, target: Any, *kernels: Any) -> None:
        for kernel in kernels:
            kernel(target.acquire(1))

    program = Pipe(None, core, *kernels).program(move_all, vector(64), vector(64))
    assert matching(program, "func.func") == [
        'func.func private @zero(memref<64xi32>) attributes {link_with = "zero.o"}'
    ]
    assert len(matching(program, "func.call @zero")) == 2


def test_a_kernel_takes_a_flat_view_of_a_matrix():
    kernel = Kernel("zero", None, [vector(64)])

    def core(source: Any, target: Any, zero: Any) -> None:
        zero(target.acquire(1))

    matrix = np.ndarray[(8, 8), np.dtype[np.int32]]
    program = Pipe(matrix, core, kernel).program(move_all, vector(64), vector(64))
    assert matching(program, r"memref.collapse_shape .* \[\[0, 1\]\] : memref<8x8xi32> into memref<64xi32>")


def test_tasks_go_through_loops():
    """Two transfers under way at any time: a turn waits for what the turn before has started."""

    def sequence(a: Any, source: Any, target: Any) -> None:
        first = source.fill(a, transfer_len=64, wait=True, managed=False)
        for _, before, last in range_(3, iter_args=[first]):  # noqa: B007, `last` is what the loop ends with
            current = source.fill(a, transfer_len=64, wait=True, managed=False)
            before.await_()
            before.free()
            yield_([current])
        last.await_()
        last.free()

    assert tw.compile(Pipe().program(sequence, vector(64))).txn().size


def test_choices():
    def sequence(a: Any, n: Any, source: Any, target: Any) -> None:
        with if_(n > 4) as choice:
            group = TaskGroup()
            source.fill(a, transfer_len=128, wait=True, group=group)
            group.finish()
        with else_(choice):
            group = TaskGroup()
            source.fill(a, transfer_len=64, wait=True, group=group)
            group.finish()

    design = tw.compile(Pipe().program(sequence, vector(128), np.int32))
    lengths = {n: _lengths(design.txn(n=n)) for n in (4, 5)}
    assert lengths == {4: [64], 5: [128]}


def _lengths(words: Any) -> list[int]:
    """What descriptors of the shim tile move, in words of 4 bytes."""
    blocks = [op for op in tw.txn.decode(words).operations if op.name == "BLOCKWRITE"]
    return [int(op.payload[0]) for op in blocks]


def test_a_sequence_in_place_has_the_names_of_its_statement():
    pipe, runtime = Pipe(), Runtime()
    with runtime.sequence(vector(64), vector(64), np.int32) as (A, B, count):
        assert isinstance(count, RuntimeScalar)
        runtime.start(pipe.worker)
        group = runtime.task_group()
        runtime.fill(pipe.source, A, sizes=[1, 1, 1, count], strides=[0, 0, 0, 1], task_group=group)
        runtime.drain(pipe.target, B, task_group=group, wait=True)
        runtime.finish_task_group(group)
    program = Program(NPU1Col1(), runtime)
    design = tw.compile(program)
    assert design.scalars() == ["count"]
    assert program.workers == [pipe.worker]


def test_a_sequence_in_place_refers_to_what_is_built_later():
    """Barriers have their locks only when the program is resolved, and may be resolved again."""
    barrier, parameters = WorkerRuntimeBarrier(), Buffer(vector(4), name="p", use_write_rtp=True)
    worker, runtime = Worker(lambda *_: None, [barrier, parameters]), Runtime()
    with runtime.sequence(np.int32) as n:
        runtime.start(worker)
        runtime.write_rtp(parameters, 3, n)
        runtime.set_barrier(barrier, 1)
        runtime.inline_ops(lambda buffer: buffer.__setitem__(0, 5), [parameters])
    program = Program(NPU1Col1(), runtime)
    for _ in range(2):
        assert matching(program, "rtp_write|set_lock|cast") == [
            "aiex.npu.rtp_write(@p, 3, %arg0) : i32",
            "aiex.set_lock(%0, 1)",
            "aiex.npu.rtp_write(@p, 0, %c5_i32) : i32",
        ]


def test_an_end_on_a_shim_tile_of_choice():
    fifo = ObjectFifo(vector(64), name="in")
    runtime = Runtime(lambda end: None, [fifo.prod(tile=Tile(3, 0))])
    program = Program(NPU2(), runtime, [Worker(None, [fifo.cons()])])
    assert matching(program, r"logical_tile<ShimNOCTile>\(3, 0\)")


def test_routes_and_dma_programs_written_out():
    shim = Tile(0, 0, tile_type=TileType.ShimNOCTile)
    mem = Tile(0, 1, tile_type=TileType.MemTile)
    core = Tile(0, 2, tile_type=TileType.CoreTile)
    data, empty = Buffer(vector(64), name="data", tile=mem), Lock(mem, init=1, name="empty")
    full = Lock(mem, name="full")
    into = Bd(data, acquires=[Acquire(empty)], releases=[Release(full)], sizes=[8, 8], strides=[1, 8])
    back = Bd(
        data, 8, 16, [Acquire(full, 1, False)], [Release(empty)], None, packet=(0, 5), iteration=BdIteration(4, 16)
    )
    runtime = Runtime(nothing)
    runtime.add_flow(Flow(shim, mem, shim_symbol="from_host"))
    runtime.add_flow(PacketFlow(5, mem, core, extra_dsts=[PacketDest(shim)], keep_pkt_header=True))
    runtime.add_lock(empty)
    runtime.add_lock(full)
    runtime.add_tile_dma(
        TileDma(mem, [DmaChannel(DmaDirection.S2MM, 0, [into]), DmaChannel(DmaDirection.MM2S, 1, [back])])
    )
    program = Program(NPU1Col1(), runtime)
    assert matching(program, "flow|shim_dma_allocation|packet_|keep|dma_start|dma_bd|use_lock|next_bd") == [
        "aie.flow(%logical_shim_noc, DMA : 0, %logical_mem, DMA : 0)",
        "aie.shim_dma_allocation @from_host(%logical_shim_noc, MM2S, 0)",
        "aie.packet_flow(5) {",
        "aie.packet_source<%logical_mem, DMA : 0>",
        "aie.packet_dest<%logical_core, DMA : 0>",
        "aie.packet_dest<%logical_shim_noc, DMA : 0>",
        "} {keep_pkt_header = true}",
        "%0 = aie.dma_start(S2MM, 0, ^bb1, ^bb2)",
        "aie.use_lock(%empty, AcquireGreaterEqual, %c1_i32)",
        "aie.dma_bd(%data : memref<64xi32> sizes = [8, 8] strides = [1, 8])",
        "aie.use_lock(%full, Release, %c1_i32)",
        "aie.next_bd ^bb1",
        "%1 = aie.dma_start(MM2S, 1, ^bb3, ^bb4)",
        "aie.use_lock(%full, Acquire, %c1_i32)",
        "aie.dma_bd_packet(0, 5)",
        "aie.dma_bd(%data : memref<64xi32> offset = 8 len = 16) {iteration = #aie.bd_iteration<size = 4, stride = 16, current = 0>}",  # noqa: E501
        "aie.use_lock(%empty, Release, %c1_i32)",
    ]


def test_cascades():
    source, target = Worker(None, tile=Tile(0, 3)), Worker(None, tile=Tile(0, 2))
    CascadeFlow(source, target)
    assert matching(on_one_column(source, target), r"aie.cascade_flow\(%logical_core, %logical_core_0\)")


@pytest.mark.parametrize(
    "name, columns, expected",
    [("npu", 1, "npu1_1col"), ("NPU1", None, "npu1"), ("npu2", 8, "npu2"), ("npu2", 4, "npu2_4col")],
)
def test_devices_by_name(name: str, columns: int | None, expected: str):
    device = from_name(name, n_cols=columns)
    assert device.name == expected
    assert device.cols == (device.model.columns)


@pytest.mark.parametrize("name, columns", [("npu3", 1), ("npu1", 5), ("npu2", 0)])
def test_devices_that_there_are_not(name: str, columns: int):
    with pytest.raises(ValueError, match=r"Unknown device name|n_cols must be in"):
        from_name(name, n_cols=columns)


def test_any_tile_is_a_new_one_each_time():
    first, second = Worker(None), Worker(None, tile=AnyComputeTile)
    assert first.tile is not second.tile
    assert len(matching(on_one_column(first, second), "logical_tile")) == 2


def test_a_runtime_asks_for_a_trace_as_a_program_does(monkeypatch: pytest.MonkeyPatch):
    """What older programs say in the sequence is what newer ones say to the program, which has the last word."""
    asked = list[dict[str, Any]]()
    monkeypatch.setattr("tilewright.iron.utils.trace.start_trace", lambda **options: asked.append(options))
    monkeypatch.setattr("tilewright.iron.utils.trace.configure_trace", lambda tiles, **options: asked.append(options))

    def program(**options: Any) -> Program:
        pipe, runtime = Pipe(), Runtime()
        with runtime.sequence(vector(64), vector(64)) as (a, b):
            runtime.enable_trace(**options)
            runtime.start(pipe.worker)
            runtime.fill(pipe.source, a)
            runtime.drain(pipe.target, b, wait=True)
        return Program(NPU1Col1(), runtime)

    program(trace_size=0).resolve_program()
    assert asked == []
    program(trace_size=8192, coretile_events=["a"]).resolve_program()
    assert asked[0]["coretile_events"] == ["a"]
    assert (asked[1]["trace_size"], asked[1]["reuse_output_buffer"]) == (8192, False)
    program(trace_size=4096, ddr_id=-1).resolve_program()
    assert (asked[3]["trace_size"], asked[3]["reuse_output_buffer"]) == (4096, True)
    both = program(trace_size=4096)
    both.enable_trace(512, egress_shim_col=0)
    both.resolve_program()
    assert asked[5]["trace_size"] == 512
    with pytest.raises(tw.CompileError, match="there is no buffer 5 for a trace"):
        program(trace_size=4096, ddr_id=5)
