"""Hardware traces in Python programs: what is recorded, the files of a run, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import iron
from tilewright.iron import CompileTime, In, ObjectFifo, Out, Program, Runtime, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1
from tilewright.iron.dialects.aie import AIEDevice, TraceMode, WireBundle, device, tile
from tilewright.iron.extras.context import mlir_mod_ctx
from tilewright.iron.utils import tensor
from tilewright.iron.utils.trace import (
    TileTrace,
    TraceBuffer,
    TraceConfig,
    configure_trace,
    get_cycles_summary,
    parse_trace,
)
from tilewright.iron.utils.trace.events import CoreEvent, MemEvent, PortEvent, get_events_for_device

N = 64


def configured(*tiles: tuple[int, int], **settings: Any) -> str:
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu1)
        def body() -> None:
            configure_trace([tile(*place) for place in tiles], **settings)

        return str(ctx.module)


def test_each_kind_of_tile_has_events_of_its_own() -> None:
    text = configured((0, 2), (0, 1), (0, 0))
    for name in ("@trace_core_1", "@trace_memtile_2", "@trace_shim_3"):
        assert f"aie.trace {name}" in text
    assert text.count("aie.trace.event") == 24 and text.count("aie.trace.port") == 10
    assert 'aie.trace.mode "Event-Time"' in text
    assert text.count("aie.trace.start broadcast = 15") == text.count("aie.trace.stop broadcast = 14") == 3


@pytest.mark.parametrize(
    "mode, word", [("EventTime", '"Event-Time"'), ("EventPC", '"Event-PC"'), ("Execution", "Execution")]
)
def test_modes_of_cores(mode: str, word: str) -> None:
    text = configured((0, 2), (0, 0), core_trace_mode=TraceMode[mode])
    assert text.count("aie.trace.mode") == 1 and f"aie.trace.mode {word}" in text


def test_memories_of_cores_come_behind_the_cores() -> None:
    text = configured((0, 2), (1, 2), coremem_events=[MemEvent.LOCK_0_REL])
    order = [line.split("@")[1].split("(")[0] for line in text.splitlines() if "aie.trace @" in line]
    assert order == ["trace_core_1", "trace_core_2", "trace_mem_3", "trace_mem_4"]


def test_a_tile_that_is_there_twice_has_its_memory_recorded() -> None:
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice.npu1)
        def body() -> None:
            core = tile(0, 2)
            configure_trace([core, core])

    assert "aie.trace @trace_mem_2" in str(ctx.module)


@pytest.mark.parametrize(
    "events, message",
    [
        ([CoreEvent.TRUE] * 9, "At most 8 events can be traced at once, have 9"),
        (
            [
                PortEvent(CoreEvent.PORT_RUNNING_0, WireBundle.DMA, 0, True),
                PortEvent(CoreEvent.PORT_TLAST_0, WireBundle.DMA, 1, True),
            ],
            "Conflicting port configurations for slot 0: PORT_RUNNING_0 is about DMA 0",
        ),
    ],
)
def test_events_that_a_unit_cannot_record_are_refused(events: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        configured((0, 2), coretile_events=events)


def test_numbers_of_events_are_those_of_the_device() -> None:
    assert get_events_for_device("npu1").ShimTileEvent.USER_EVENT_0 == 126
    assert get_events_for_device("xcvc1902").ShimTileEvent.USER_EVENT_0 == 124
    assert get_events_for_device("xcvc1902").MemTileEvent is None


@iron.jit
def passed(source: In, target: Out, *, trace_size: CompileTime[int] = 0, reuse: CompileTime[bool] = False):
    line = np.ndarray[(N,), np.dtype[np.int32]]
    of_in, of_out = ObjectFifo(line, name="in"), ObjectFifo(line, name="out")

    def core(of_in: Any, of_out: Any) -> None:
        y, x = of_out.acquire(1), of_in.acquire(1)
        for i in range_(N):
            y[i] = x[i]
        of_in.release(1)
        of_out.release(1)

    def sequence(a: Any, b: Any, in_h: Any, out_h: Any) -> None:
        in_h.fill(a)
        out_h.drain(b, wait=True)

    worker = Worker(core, [of_in.cons(), of_out.prod()], trace=1)
    program = Program(NPU1Col1(), Runtime(sequence, [line, line, of_in.prod(), of_out.cons()]), workers=[worker])
    events = [CoreEvent.LOCK_STALL, CoreEvent.INSTR_LOCK_RELEASE_REQ]
    program.enable_trace(trace_size, coretile_events=events, reuse_output_buffer=reuse)
    return program.resolve_program()


def run(**settings: Any) -> Any:
    source, target = tensor(np.arange(N, dtype=np.int32)), tensor(np.zeros(N, np.int32))
    result = passed(source, target, **settings)
    assert (target.numpy() == np.arange(N)).all()
    return result


def test_a_run_has_room_for_the_trace_that_nobody_passes() -> None:
    assert run().trace_buffer is None
    assert run(trace_size=1024).trace_buffer.any()


@pytest.mark.parametrize("reuse", [False, True])
def test_a_run_writes_its_trace_to_files(tmp_path: Path, reuse: bool) -> None:
    config = TraceConfig(2048, str(tmp_path / "t.txt"), reuse_output_buffer=reuse)
    source, target = tensor(np.arange(N, dtype=np.int32)), tensor(np.zeros(N, np.int32))
    passed.specialize(trace_config=config, reuse=reuse)(source, target)
    assert (target.numpy() == np.arange(N)).all()
    assert config.physical_mlir_path == str(tmp_path / "t.mlir")
    events = parse_trace(config.read_trace(), (tmp_path / "t.mlir").read_text())
    released = [event for event in events if event["name"] == "INSTR_LOCK_RELEASE_REQ" and event["ph"] == "B"]
    assert len(released) == 2
    config.trace_to_json(output_name=str(tmp_path / "t.json"))
    assert json.loads((tmp_path / "t.json").read_text()) == events
    assert get_cycles_summary(tmp_path / "t.json") == [["core_trace for tile2,0"]]


def test_the_words_of_a_file_are_those_of_the_buffer(tmp_path: Path) -> None:
    config = TraceConfig(64, str(tmp_path / "t.txt"))
    words = np.array([0x12, 0, 0xFEFEFEFE, *[0] * 13], np.uint32)
    config.write_trace(words)
    assert (tmp_path / "t.txt").read_text() == "00000012\n00000000\nfefefefe"
    assert (config.read_trace() == words).all()


def test_a_configuration_without_a_run_has_no_design() -> None:
    with pytest.raises(ValueError, match="run a design with this configuration first"):
        TraceConfig(64).trace_to_json()


def test_a_trace_size_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="Invalid trace size: 0"):
        TraceConfig(0)
    assert repr(TraceConfig(64, reuse_output_buffer=True)) == "TraceConfig(trace_size=64, reuse_output_buffer=True)"


def test_the_trace_of_another_design_is_refused() -> None:
    buffer = run(trace_size=1024).trace_buffer
    with pytest.raises(tw.Error, match="which the design does not trace"):
        parse_trace(buffer, "module { aie.device(npu1_1col) { aie.runtime_sequence @sequence() {} } }")


def test_a_worker_asks_for_events_of_its_own() -> None:
    line = np.ndarray[(N,), np.dtype[np.int32]]
    of_in = ObjectFifo(line, name="in")
    worker = Worker(None, [of_in.cons()], trace=TileTrace([CoreEvent.CASCADE_STALL]))
    runtime = Runtime(lambda a, end: end.fill(a, wait=True), [line, of_in.prod()])
    program = Program(NPU1Col1(), runtime, workers=[worker], trace=TraceBuffer(1024))
    text = str(program.resolve_program())
    assert 'aie.trace.event <"CASCADE_STALL">' in text and "INSTR_EVENT_0" not in text
    assert "buffer_size = 1024" in text
