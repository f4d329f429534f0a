"""Traces of whole designs: packets travel to the host's buffer, and say what the simulator's own record says."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.device import TileId
from tilewright.device.events import EventModule
from tilewright.driver.compiled_design import Design
from tilewright.report.hardware_trace import RecordedEvent, decode_trace, trace_setups
from tilewright.sim.kernels import costs
from tilewright.sim.parts import PartKind
from tilewright.sim.record import RunRecord
from tilewright.sim.trace import TraceEvent
from tilewright.txn.opcodes import Opcode

SIZE, LINE = 64, 16
CORE, MEM, SHIM, MEM_TILE = TileId(0, 2), TileId(0, 2), TileId(0, 0), TileId(0, 1)


def program(traces: str, starts: Sequence[str], size_bytes: int = 8192, device: str = "npu1_1col") -> str:
    """Four lines through a mem tile to a core, which raises event 0, calls a kernel, raises event 1, and back."""
    started = "\n".join(f"aie.trace.start_config @{name}" for name in starts)
    return f"""
    aie.device({device}) {{
      func.func private @double(memref<{LINE}xi32>, memref<{LINE}xi32>)
      %shim = aie.tile(0, 0)
      %middle = aie.tile(0, 1)
      %tile = aie.tile(0, 2)
      aie.objectfifo @in(%shim, {{%middle}}, 2 : i32) : !aie.objectfifo<memref<{LINE}xi32>>
      aie.objectfifo @in_core(%middle, {{%tile}}, 2 : i32) : !aie.objectfifo<memref<{LINE}xi32>>
      aie.objectfifo.link [@in] -> [@in_core]([] [0])
      aie.objectfifo @out(%tile, {{%shim}}, 2 : i32) : !aie.objectfifo<memref<{LINE}xi32>>
      %core = aie.core(%tile) {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %many = arith.constant 1000000 : index
        scf.for %i = %c0 to %many step %c1 {{
          %a = aie.objectfifo.acquire @in_core(Consume, 1) : !aie.objectfifosubview<memref<{LINE}xi32>>
          %x = aie.objectfifo.subview.access %a[0] : !aie.objectfifosubview<memref<{LINE}xi32>> -> memref<{LINE}xi32>
          %b = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<{LINE}xi32>>
          %y = aie.objectfifo.subview.access %b[0] : !aie.objectfifosubview<memref<{LINE}xi32>> -> memref<{LINE}xi32>
          func.call @double(%x, %y) : (memref<{LINE}xi32>, memref<{LINE}xi32>) -> ()
          aie.objectfifo.release @in_core(Consume, 1)
          aie.objectfifo.release @out(Produce, 1)
        }}
        aie.end
      }}
      {traces}
      aie.runtime_sequence(%source: memref<{SIZE}xi32>, %target: memref<{SIZE}xi32>) {{
        aie.trace.host_config {{buffer_size = {size_bytes} : i32}}
        {started}
        %t0 = aiex.dma_configure_task_for @in {{
          aie.dma_bd(%source : memref<{SIZE}xi32> offset = 0 len = {SIZE})
          aie.end
        }}
        %t1 = aiex.dma_configure_task_for @out {{
          aie.dma_bd(%target : memref<{SIZE}xi32> offset = 0 len = {SIZE})
          aie.end
        }} {{issue_token = true}}
        aiex.dma_start_task(%t0)
        aiex.dma_start_task(%t1)
        aiex.dma_await_task(%t1)
      }}
    }}
    """


def trace(name: str, tile: str, kind: str, events: Sequence[str], more: str = "") -> str:
    listed = "\n".join(f'aie.trace.event<"{event}">' for event in events)
    return f"""
      aie.trace @{name}(%{tile}) {{
        {more}
        aie.trace.packet type={kind}
        {listed}
        aie.trace.start broadcast=15
        aie.trace.stop broadcast=14
      }}
    """


@costs(100)
def double(x: np.ndarray, y: np.ndarray) -> None:
    y[:] = 2 * x


@cache
def compiled(text: str) -> Design:
    return tw.compile(text)


class Traced:
    """A run, and the events in its trace buffer."""

    def __init__(self, text: str, buffer: np.ndarray | None = None, kernel: Any = double, **options: Any):
        design = compiled(text)
        source, target = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
        self.buffer = np.zeros(8192, np.int8) if buffer is None else buffer
        self.device = design.load(kernels={"double": kernel}, **options)
        self.result = self.device.run(source, target, self.buffer)
        assert (target == 2 * source).all()
        self.setups = trace_setups(design.device())

    @property
    def events(self) -> list[RecordedEvent]:
        return decode_trace(self.buffer, self.setups)

    def spans(self, module: EventModule, name: str) -> list[tuple[int, int]]:
        found = (event for event in self.events if event.source.module is module and event.name == name)
        return [(event.begin, event.end) for event in found]

    def cycles(self, module: EventModule, name: str) -> set[int]:
        return {cycle for span in self.spans(module, name) for cycle in range(*span)}


def rows(record: RunRecord, kind: PartKind, tile: TileId) -> list[tuple[int, TraceEvent, int]]:
    """Cycle, event and number of what the simulator writes down of a core, or of the channels of a tile."""
    parts = {number for number, part in enumerate(record.parts) if part.kind is kind and part.tile == tile}
    return [(c, TraceEvent(e), a) for c, e, part, a, _ in record.trace.tolist() if part in parts]


CORE_EVENTS = ("INSTR_EVENT_0", "INSTR_EVENT_1", "LOCK_STALL", "INSTR_LOCK_ACQUIRE_REQ", "INSTR_LOCK_RELEASE_REQ")
CORE_TRACE = trace("watch", "tile", "core", CORE_EVENTS)


def started(record: RunRecord) -> int:
    """The cycle in which the first of the sequence's user events starts the traces."""
    stream = record.stream.operations
    number = next(n for n, op in enumerate(stream) if op.opcode == Opcode.WRITE and op.address == 0x34008)
    return next(c for c, e, _, a, _ in record.trace.tolist() if e == TraceEvent.OPERATION_END and a == number)


@pytest.mark.parametrize("device", ["npu1_1col", "npu2_1col"])
def test_a_core_s_trace_says_what_the_record_of_the_run_says(device: str) -> None:
    run = Traced(program(CORE_TRACE, ["watch"], device=device))
    record = run.result.record
    begin, happened = started(record), rows(record, PartKind.CORE, CORE)
    calls = [cycle - begin for cycle, event, _ in happened if event is TraceEvent.WAIT]
    returns = [cycle - begin for cycle, event, _ in happened if event is TraceEvent.GO]
    assert len(calls) == SIZE // LINE
    assert [b for b, _ in run.spans(EventModule.Core, "INSTR_EVENT_0")] == calls
    assert [b for b, _ in run.spans(EventModule.Core, "INSTR_EVENT_1")] == returns
    assert all(end - start == 1 for start, end in run.spans(EventModule.Core, "INSTR_EVENT_0"))
    waits = [cycle - begin for cycle, event, _ in happened if event is TraceEvent.LOCK_WAIT]
    goes = [cycle - begin for cycle, event, _ in happened if event is TraceEvent.LOCK_GO]
    stalls = run.spans(EventModule.Core, "LOCK_STALL")
    # The core waits for its first line before the trace starts; the last wait is cut off by the end of the trace.
    assert stalls[0][0] == 1 and [start for start, _ in stalls[1:]] == [wait for wait in waits if wait > 0]
    assert [end for _, end in stalls][: len(goes)] == goes
    assert len(run.spans(EventModule.Core, "INSTR_LOCK_RELEASE_REQ")) == 2 * len(calls)


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_a_kernel_in_cpp_raises_its_events_itself(tmp_path: Path) -> None:
    """Between the two are the loads and stores of a line, which is one vector, and the filling of the loop."""
    source = tmp_path / "double.cc"
    source.write_text("""
    extern "C" void twice(const int32_t *x, int32_t *y) {
      event0();
      aie::store_v(y, aie::add(aie::load_v<16>(x), aie::load_v<16>(x)));
      event1();
      event1();
    }""")
    run = Traced(program(CORE_TRACE, ["watch"]), kernel=f"{source}:twice")
    first, second = (run.spans(EventModule.Core, f"INSTR_EVENT_{number}") for number in (0, 1))
    assert len(first) == SIZE // LINE
    assert [end - begin for (begin, _), (end, _) in zip(first, second, strict=True)] == [10] * len(first)


def test_dma_events_of_a_shim_tile_are_those_of_its_channels() -> None:
    events = ("DMA_MM2S_0_START_TASK", "DMA_S2MM_0_START_TASK", "DMA_MM2S_0_FINISHED_TASK", "DMA_S2MM_0_FINISHED_BD")
    more = ("DMA_S2MM_0_STREAM_STARVATION", "DMA_S2MM_0_FINISHED_TASK")
    run = Traced(program(trace("watch", "shim", "shimtile", [*events, *more]), ["watch"]))
    record = run.result.record
    begin, happened = started(record), rows(record, PartKind.CHANNEL, SHIM)
    # The channel for the trace begins its task before the traces start.
    tasks = [cycle - begin for cycle, event, _ in happened if event is TraceEvent.TASK and cycle > begin]
    ended = [cycle - begin for cycle, event, _ in happened if event is TraceEvent.TASK_END]
    seen = {name: [start for start, _ in run.spans(EventModule.ShimTile, name)] for name in (*events, *more)}
    assert sorted(seen["DMA_MM2S_0_START_TASK"] + seen["DMA_S2MM_0_START_TASK"]) == tasks
    assert sorted(seen["DMA_MM2S_0_FINISHED_TASK"] + seen["DMA_S2MM_0_FINISHED_TASK"]) == ended
    # The token is sent in between.
    done = [cycle - begin for cycle, event, _ in happened if event is TraceEvent.BD_END]
    assert seen["DMA_S2MM_0_FINISHED_BD"] == [max(done)] and max(done) < seen["DMA_S2MM_0_FINISHED_TASK"][0]
    first = next(cycle - begin for cycle, event, _ in happened if event is TraceEvent.FLOW and cycle > begin)
    assert run.spans(EventModule.ShimTile, "DMA_S2MM_0_STREAM_STARVATION")[0][1] >= first


def test_ports_are_running_when_words_go_through_and_idle_otherwise() -> None:
    ports = """
      aie.trace.port<0> port=DMA channel=0 direction=S2MM
      aie.trace.port<1> port=DMA channel=0 direction=MM2S
    """
    events = ("PORT_RUNNING_0", "PORT_RUNNING_1", "PORT_IDLE_0", "PORT_STALLED_0", "PORT_TLAST_1")
    run = Traced(program(trace("watch", "middle", "memtile", events, ports), ["watch"]))
    for port in (0, 1):
        assert len(run.cycles(EventModule.MemTile, f"PORT_RUNNING_{port}")) == SIZE
    running, stalled, idle = (run.cycles(EventModule.MemTile, f"PORT_{s}_0") for s in ("RUNNING", "STALLED", "IDLE"))
    busy = running | stalled
    assert not busy & idle and busy | idle == set(range(1, max(idle) + 1))
    assert len(run.spans(EventModule.MemTile, "PORT_TLAST_1")) == SIZE // LINE


def test_events_that_are_made_of_others() -> None:
    more = """
      aie.trace.combo_event<0> <"LOCK_STALL"> OR <"INSTR_EVENT_0">
      aie.trace.combo_event<1> <"TRUE"> AND_NOT <"LOCK_STALL">
      aie.trace.edge_event<0> event=<"LOCK_STALL"> trigger=RISING
      aie.trace.edge_event<1> event=<"LOCK_STALL"> trigger=BOTH
    """
    events = ("LOCK_STALL", "INSTR_EVENT_0", "COMBO_EVENT_0", "COMBO_EVENT_1", "EDGE_DETECTION_EVENT_0")
    run = Traced(program(trace("watch", "tile", "core", [*events, "EDGE_DETECTION_EVENT_1"], more), ["watch"]))
    cycles = partial(run.cycles, EventModule.Core)
    stalls = run.spans(EventModule.Core, "LOCK_STALL")
    last = max(end for _, end in stalls)
    assert cycles("COMBO_EVENT_0") == cycles("LOCK_STALL") | cycles("INSTR_EVENT_0")
    assert cycles("COMBO_EVENT_1") == set(range(1, last)) - cycles("LOCK_STALL")
    # The first stall began before the trace, and the last one goes on when it ends.
    begins = {start for start, _ in stalls[1:]}
    assert begins and cycles("EDGE_DETECTION_EVENT_0") == begins
    assert cycles("EDGE_DETECTION_EVENT_1") == begins | {end for _, end in stalls if end < last}


LOCK_EVENTS = ("LOCK_SEL0_ACQ_GE", "LOCK_0_REL", "DMA_S2MM_0_FINISHED_BD", "DMA_MM2S_0_FINISHED_BD")
ALL_UNITS = (
    CORE_TRACE
    + trace("memory", "tile", "mem", LOCK_EVENTS)
    + trace("middle_watch", "middle", "memtile", ["DMA_S2MM_SEL0_FINISHED_BD", "DMA_MM2S_SEL0_FINISHED_BD"])
    + trace("below", "shim", "shimtile", ["DMA_MM2S_0_START_TASK", "DMA_S2MM_0_FINISHED_TASK"])
)


def test_all_units_of_a_column_share_one_buffer() -> None:
    run = Traced(program(ALL_UNITS, ["watch", "memory", "middle_watch", "below"]))
    lines = SIZE // LINE
    found = defaultdict[EventModule, set[str]](set)
    for event in run.events:
        found[event.source.module].add(event.name)
    assert found[EventModule.Core] == {*CORE_EVENTS}
    assert found[EventModule.Mem] >= {"DMA_S2MM_0_FINISHED_BD", "DMA_MM2S_0_FINISHED_BD", "LOCK_0_REL"}
    assert len(run.spans(EventModule.Mem, "DMA_S2MM_0_FINISHED_BD")) == lines
    assert len(run.spans(EventModule.Mem, "DMA_MM2S_0_FINISHED_BD")) == lines
    assert len(run.spans(EventModule.MemTile, "DMA_S2MM_SEL0_FINISHED_BD")) == lines
    assert len(run.spans(EventModule.ShimTile, "DMA_MM2S_0_START_TASK")) == 1
    assert not run.result.record.notes


def test_both_models_give_the_same_buffer_and_the_same_cycles() -> None:
    text = program(ALL_UNITS, ["watch", "memory", "middle_watch", "below"])
    fast, plain = Traced(text, model="fast"), Traced(text, model="plain")
    assert (fast.buffer == plain.buffer).all() and fast.result.cycles == plain.result.cycles


def test_a_second_run_records_the_same() -> None:
    run = Traced(program(CORE_TRACE, ["watch"]))
    first = run.buffer.copy()
    for _ in range(8):  # more often than a queue has room for tasks
        run.buffer[:] = 0
        run.device.run(np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32), run.buffer)
    events, before = run.events, decode_trace(first, run.setups)
    names = [event.name for event in before]
    assert [event.name for event in events][: len(names) - 4] == names[: len(names) - 4]


def test_a_run_with_traces_takes_as_long_as_one_without() -> None:
    run = Traced(program(CORE_TRACE, ["watch"]))
    text = program("", []).replace("aie.trace.host_config {buffer_size = 8192 : i32}", "")
    source, target = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    bare = tw.compile(text).run(source, target, kernels={"double": double}, model="plain").record
    ours = run.result.record

    def work(record: RunRecord) -> list[int]:
        cycles = [cycle for cycle, event, _ in rows(record, PartKind.CORE, CORE) if event is TraceEvent.WAIT]
        return [cycle - cycles[0] for cycle in cycles]

    assert work(ours) == work(bare)


@pytest.mark.parametrize("buffer", [(), (None,)], ids=["left out", "None"])
@pytest.mark.parametrize("words", ["the sequence's", "given"])
def test_a_host_that_looks_at_no_trace_gives_no_buffer(buffer: tuple[None, ...], words: str) -> None:
    design = compiled(program(CORE_TRACE, ["watch"]))
    source, target = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    txn = design.txn() if words == "given" else None
    design.load(kernels={"double": double}).run(source, target, *buffer, txn=txn)
    assert (target == 2 * source).all()


@pytest.mark.parametrize("buffer", [(), (np.zeros(64, np.uint8),)], ids=["none given", "given"])
def test_room_for_traces_where_nothing_is_traced(buffer: tuple[np.ndarray, ...]) -> None:
    """Programs switch traces on before they know whether any worker is traced; their hosts then bring a buffer."""
    written = f"%target: memref<{SIZE}xi32>)"
    text = program("", []).replace(written, f"%target: memref<{SIZE}xi32>, %spare: memref<1xi32>)")
    assert written not in text and "aie.trace.host_config" in text
    source, target = np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32)
    tw.compile(text).run(source, target, *buffer, kernels={"double": double})
    assert (target == 2 * source).all() and not any(array.any() for array in buffer)


def test_the_buffer_of_a_trace_is_the_only_one_that_may_be_missing() -> None:
    device = compiled(program(CORE_TRACE, ["watch"])).load(kernels={"double": double})
    with pytest.raises(tw.Error, match="uses target"):
        device.run(np.arange(SIZE, dtype=np.int32))


def test_a_buffer_that_is_too_small_has_the_beginning() -> None:
    whole = Traced(program(CORE_TRACE, ["watch"]))
    small = Traced(program(CORE_TRACE, ["watch"], size_bytes=64), buffer=np.zeros(64, np.int8))
    assert (small.buffer == whole.buffer[:64]).all() and small.buffer.any()
    assert not small.result.record.notes


def test_program_counters_are_places_in_the_program() -> None:
    text = trace("watch", "tile", "core", ["INSTR_EVENT_0", "INSTR_EVENT_1"], 'aie.trace.mode "Event-PC"')
    run = Traced(program(text, ["watch"]))
    stops = run.result.record.names.stops[CORE]
    calls = [event.counter for event in run.events if event.name == "INSTR_EVENT_0"]
    assert len(calls) == SIZE // LINE
    assert {stops[counter].operation for counter in calls if counter is not None} == {"double"}


def test_execution_is_returns_branches_and_loops() -> None:
    """A turn of the core's loop: two acquires, sixteen turns of a loop without branches, two releases, back."""
    text = trace("watch", "tile", "core", ["INSTR_EVENT_0"], "aie.trace.mode Execution")
    run = Traced(with_events(program(text, ["watch"])))
    operations = [stop.operation for stop in run.result.record.names.stops[CORE]]
    locks = [place for place, operation in enumerate(operations) if operation == "aie.use_lock"]
    returns = [("NEW_PC", place) for place in locks]
    turn = [*returns[:2], ("LOOP_COUNT", 16), *returns[2:], ("BRANCH_TAKEN", None)]
    told = [(event.name, event.counter) for event in run.events]
    assert told == (turn * (SIZE // LINE))[: len(told)]
    assert len(told) > 2 * len(turn), "all full packets are sent, and nothing else"
    assert not run.result.record.notes


def test_execution_tells_of_kernels() -> None:
    text = trace("watch", "tile", "core", ["INSTR_EVENT_0"], "aie.trace.mode Execution")
    run = Traced(program(text, ["watch"]))
    stops = run.result.record.names.stops[CORE]
    called = [stops[event.counter].operation for event in run.events if event.counter is not None]
    assert called[:6] == [*["aie.use_lock"] * 2, "double", *["aie.use_lock"] * 2, "aie.use_lock"]


def with_events(text: str) -> str:
    """The program with a loop between two events in place of the kernel."""
    call = f"func.call @double(%x, %y) : (memref<{LINE}xi32>, memref<{LINE}xi32>) -> ()"
    assert call in text
    copy = "%n = arith.constant 16 : index\n scf.for %j = %c0 to %n step %c1 {"
    copy += f" %v = memref.load %x[%j] : memref<{LINE}xi32>\n %w = arith.addi %v, %v : i32\n"
    copy += f" memref.store %w, %y[%j] : memref<{LINE}xi32> }}"
    return text.replace(call, f"aie.event(0)\n{copy}\naie.event(1)")


def test_a_core_raises_events_by_instructions() -> None:
    run = Traced(with_events(program(CORE_TRACE, ["watch"])))
    begins, ends = (run.spans(EventModule.Core, f"INSTR_EVENT_{number}") for number in (0, 1))
    assert len(begins) == len(ends) == SIZE // LINE
    assert all(begin < end for (begin, _), (end, _) in zip(begins, ends, strict=True))


def test_events_that_nobody_records_are_the_same_on_both_models() -> None:
    text = with_events(program("", [])).replace("aie.trace.host_config {buffer_size = 8192 : i32}", "")
    source, design = np.arange(SIZE, dtype=np.int32), tw.compile(text)
    targets = {model: np.zeros(SIZE, np.int32) for model in ("fast", "plain")}
    fast, plain = (design.run(source, target, model=model).record for model, target in targets.items())
    assert all((target == 2 * source).all() for target in targets.values())
    assert fast.cycles == plain.cycles and sorted(fast.trace.tolist()) == sorted(plain.trace.tolist())


@pytest.mark.parametrize("change", ["start", "stop"])
def test_a_trace_between_events_of_its_own_tile(change: str) -> None:
    limits = {"start": 'aie.trace.start event=<"INSTR_EVENT_1">', "stop": 'aie.trace.stop event=<"INSTR_EVENT_1">'}
    usual = {"start": "aie.trace.start broadcast=15", "stop": "aie.trace.stop broadcast=14"}
    text = trace("watch", "tile", "core", ["INSTR_EVENT_0", "INSTR_EVENT_1"]).replace(usual[change], limits[change])
    run = Traced(program(text, ["watch"]))
    counted = [len(run.spans(EventModule.Core, f"INSTR_EVENT_{number}")) for number in (0, 1)]
    # Begun by the end of the first call, or ended by it.
    assert counted == ([3, 3] if change == "start" else [1, 0])


@pytest.mark.parametrize("size_bytes", [32, 8192])
def test_a_hang_is_explained_as_without_a_trace(size_bytes: int, tmp_path: Path) -> None:
    text = program(CORE_TRACE, ["watch"], size_bytes).replace(
        "arith.constant 1000000 : index", "arith.constant 2 : index"
    )
    device = compiled(text).load(kernels={"double": double})
    with pytest.raises(tw.Hang) as caught:
        device.run(np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, np.int32), np.zeros(size_bytes, np.int8))
    assert "S2MM 0 of tile (0, 0)" in str(caught.value) and "trace" not in str(caught.value)
    assert caught.value.record is not None
    assert tw.RunResult(caught.value.record).report(tmp_path / "hang.html").stat().st_size
