"""Reading of what trace units wrote to a host buffer, whole or in the steps that programs for mlir-aie take."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.device import TileId
from tilewright.device.events import EventModule
from tilewright.device.trace_packets import SLOTS, START, START_COUNTERS, TIMER, RecordingMode
from tilewright.driver.compiled_design import Design, design_from_text
from tilewright.iron.utils.trace.events import NUM_TRACE_TYPES, PacketType, get_events_for_device
from tilewright.iron.utils.trace.utils import Command, commands_of, frame_of
from tilewright.report.hardware_trace import (
    TracedModule,
    TraceSetup,
    decode_trace,
    events_of,
    timed_entries,
    trace_entries,
    trace_registers,
    trace_setups,
)
from tilewright.support.output_files import write_file

NUM_EVENTS = SLOTS


def parse_trace(trace_buffer: Any, mlir_module_str: str, colshift: int | None = None) -> list[dict[str, Any]]:
    """The events of a trace buffer, in the Trace Event Format of ui.perfetto.dev.

    Args:
        trace_buffer: the words
        mlir_module_str: the lowered design, which says what was recorded
        colshift: how many columns further on than it says the design was; without it, the trace itself tells
    """
    device = design_from_text(mlir_module_str, "<design>").device()
    setups = trace_setups(device)
    words = np.asarray(trace_buffer)
    words = words if words.dtype.itemsize == 1 else words.astype(np.uint32)
    return trace_entries(decode_trace(words, setups, colshift), setups)


def setup_text(design: Design) -> str:
    """The register writes that set up the traces of a design as a program of their own, which other decoders read."""
    from tilewright.iron.dialects.aie import AIEDevice, device
    from tilewright.iron.dialects.aiex import npu_write32, runtime_sequence
    from tilewright.iron.extras.context import mlir_mod_ctx

    traced = design.device()
    with mlir_mod_ctx() as ctx:

        @device(AIEDevice[str(traced.model.name)])
        def body() -> None:
            @runtime_sequence()
            def sequence() -> None:
                for (column, row), offset, value in trace_registers(traced):
                    npu_write32(address=offset, value=value, column=column, row=row)

        return str(ctx.module)


# The steps. A place is a text, row before column; streams and commands are listed by the type of packets.


def parse_mlir_trace_events(
    mlir_module_str: str, colshift: int | None = None
) -> tuple[list[dict[str, list[int]]], list[dict[str, int]], Any]:
    """What a lowered design records: numbers of events, modes of cores, and the events of its device."""
    device = design_from_text(mlir_module_str, "<design>").device()
    known = get_events_for_device(str(device.model.name))
    numbers = [known.CoreEvent, known.MemEvent, known.ShimTileEvent, known.MemTileEvent]
    events: list[dict[str, list[int]]] = [{} for _ in PacketType]
    modes: list[dict[str, int]] = [{} for _ in PacketType]
    for (module, (column, row)), setup in trace_setups(device).items():
        place = f"{row},{column + (colshift or 0)}"
        events[module][place] = [int(numbers[module][name]) for name in setup.events]
        if module is EventModule.Core:
            modes[module][place] = int(setup.mode)
    return events, modes, known


def _convert_to_commands_by_mode(  # pyright: ignore[reportUnusedFunction]: programs for mlir-aie call it
    byte_streams: list[dict[str, list[int]]], trace_modes: list[dict[str, int]], zero: bool = True
) -> list[dict[str, list[Command]]]:
    """The commands in bytes, each stream read as its mode says."""
    commands: list[dict[str, list[Command]]] = [{} for _ in range(NUM_TRACE_TYPES)]
    for kind, streams in enumerate(byte_streams):
        for place, stream in streams.items():
            mode = trace_modes[kind].get(place, RecordingMode.TIME)
            # mlir-aie's exception, which its programs expect; `parse_trace` reads mode 2
            if mode not in (RecordingMode.TIME, RecordingMode.PROGRAM_COUNTER):
                raise NotImplementedError(f"trace mode {mode} is not supported for type {kind} tile {place}")
            commands[kind][place] = commands_of(stream, RecordingMode(mode), zero)
    return commands


def flatten_repeat_command(commands: Iterable[Command]) -> list[Command]:
    """Each command as often as it is repeated; a repeat of nothing is dropped."""
    flat = list[Command]()
    last: Command | None = None
    for command in commands:
        if "repeats" not in command:
            flat.append(command)
            last = command
        elif last is not None:
            flat += [last] * command["repeats"]
    return flat


def convert_commands_to_json(
    trace_events: list[dict[str, Any]],
    commands: list[dict[str, list[Command]]],
    pid_events: list[dict[str, list[int]]],
    events_module: Any,
) -> None:
    """Put the events of commands behind `trace_events`; the ninth number of a place is that of its process."""
    for kind, streams in enumerate(commands):
        for place, stream in streams.items():
            numbers = pid_events[kind][place]
            row, column = map(int, place.split(","))
            source = TracedModule(EventModule(kind), TileId(column, row))
            frames = [frame_of(command) for command in stream]
            starts = [frame[TIMER] for frame in frames if frame.kind in (START, START_COUNTERS)]
            names = tuple(lookup_event_name_by_type(kind, number, events_module) for number in numbers[:NUM_EVENTS])
            events = events_of(source, TraceSetup(names, RecordingMode.TIME), frames, min(starts, default=0))
            processes: Mapping[TracedModule, int] = {source: numbers[NUM_EVENTS]}
            trace_events += timed_entries(events, processes)


def lookup_event_name_by_type(trace_type: int, code: int, events_module: Any) -> str:
    """The name of an event by its number."""
    modules = (events_module.CoreEvent, events_module.MemEvent, events_module.ShimTileEvent, events_module.MemTileEvent)
    known = modules[trace_type]
    return known(code).name if known is not None and code in {int(event) for event in known} else "Unknown"


def main() -> None:
    """Turn a text with the words of a trace buffer into JSON: what Makefiles of mlir-aie's examples call."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name, text in (("input", "the words"), ("mlir", "the lowered design"), ("output", "the JSON to write")):
        parser.add_argument(f"--{name}", required=True, help=text)
    parser.add_argument("--colshift", type=int, help="columns that the design was moved by")
    parser.add_argument("--debug", action="store_true", help="accepted, and means nothing")
    given = parser.parse_args()
    try:
        text, design = (Path(file).read_text() for file in (given.input, given.mlir))
        words = [int(line, 16) for line in text.split()]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    events = parse_trace(np.array(words, np.uint32), design, given.colshift)
    write_file(Path(given.output), json.dumps(events).encode())


if __name__ == "__main__":
    main()
