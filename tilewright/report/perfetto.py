"""A run as a trace in the Trace Event Format, for ui.perfetto.dev and chrome://tracing.

Tiles are processes; their channels, cores and locks are tracks. A task is a slice around its descriptors, with arrows
from the operation that pushed it and to the one that waited for its token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import DeviceModel, TileId
from tilewright.ir.diagnostics import place
from tilewright.ir.escapes import shown_json
from tilewright.report.phases import LOOKS, Phase, PhaseKind
from tilewright.report.spans import Column, Spans, spans_of
from tilewright.report.tasks import TaskSpan, operation_times, tasks_of
from tilewright.report.tracks import (
    CONTROLLER_NAME,
    full_lock_name,
    lock_name,
    lock_places,
    part_name,
    tile_name,
    used_locks,
)
from tilewright.sim.record import RunRecord
from tilewright.sim.trace import TraceEvent
from tilewright.txn.opcodes import opcode_name

CONTROLLER_PROCESS = 1
NS_PER_S = 1_000_000_000
Entry = dict[str, Any]


class Timed(NamedTuple):
    """An event as text. They are sorted by these fields: what is around others comes before them."""

    ns: int
    minus_duration: int
    text: str


def perfetto_json(record: RunRecord) -> str:
    """The whole trace; one event per line."""
    writer = _Writer(record, spans_of(record), tasks_of(record))
    lines = [*map(shown_json, writer.names()), *(timed.text for timed in sorted(writer.timed()))]
    other = {"device": str(record.model), "clock_hz": record.clock_hz, "cycles": record.cycles}
    tail = json.dumps({"displayTimeUnit": "ns", "otherData": other})
    return '{"traceEvents":[\n' + ",\n".join(lines) + f"\n],{tail[1:]}\n"


class _Writer:
    def __init__(self, record: RunRecord, spans: Spans, tasks: list[TaskSpan]):
        self.record, self.spans, self.tasks = record, spans, tasks
        self.parts, self.locks = record.parts, used_locks(record)
        self.begins = operation_times(record)[0]
        self.about = cache(self._about)  # few of a run's many slices differ in more than times

    def timed(self) -> Iterator[Timed]:
        yield from self._task_slices()
        yield from self._span_slices()
        yield from self._counters()
        yield from self._flows()

    def ns(self, cycle: int) -> int:
        """Later cycles are never earlier, so slices nest as they did."""
        return int(cycle * NS_PER_S / self.record.clock_hz)

    def names(self) -> Iterator[Entry]:
        """What tracks are called, in the order of their tiles."""
        used = sorted({*np.unique(self.spans.part).tolist(), *(task.part for task in self.tasks), 0})
        places = lock_places(self.record.model.name)
        tiles = {self.parts[part].tile for part in used} | {places[lock].tile for lock in self.locks}
        for tile in sorted(tiles, key=lambda tile: tile or TileId(-1, -1)):
            process = process_number(self.record.model, tile)
            title = CONTROLLER_NAME if tile is None else tile_name(self.record.model, tile)
            yield _metadata("process_name", process, 0, name=title)
            yield _metadata("process_sort_index", process, 0, sort_index=process)
        for part in used:
            process = process_number(self.record.model, self.parts[part].tile)
            yield _metadata("thread_name", process, part, name=part_name(self.parts[part]))
            yield _metadata("thread_sort_index", process, part, sort_index=part)

    def _track(self, part: int) -> Entry:
        return {"pid": process_number(self.record.model, self.parts[part].tile), "tid": part}

    def _span_slices(self) -> Iterator[Timed]:
        """A run may have millions: what spans have in common is made into text once."""
        spans, clock = self.spans, self.record.clock_hz
        starts, ends = ((column * NS_PER_S / clock).astype(np.int64).tolist() for column in (spans.start, spans.end))
        columns = (spans.part, spans.phase, spans.detail, spans.start, spans.cycles, spans.words)
        rows = zip(starts, ends, *(column.tolist() for column in columns), strict=True)
        for start, end, part, phase, detail, cycle, cycles, words in rows:
            head, about = self.about(part, phase, detail)
            moved = f',"words":{words}' if words else ""
            times = f'"ts":{start / 1000:.3f},"dur":{(end - start) / 1000:.3f}'
            text = f'{head},{times},"args":{{"cycle":{cycle},"cycles":{cycles}{moved}{about}}}}}'
            yield Timed(start, start - end, text)

    def _about(self, part: int, phase: int, detail: int) -> tuple[str, str]:
        """The beginning of a slice's text, and what its arguments have beside times."""
        look = LOOKS[Phase(phase)]
        category = "stall" if look.kind is PhaseKind.WAIT else look.kind.value
        head = {"ph": "X", **self._track(part), "name": look.label, "cat": category, "cname": look.chrome}
        facts = shown_json(self._facts(part, phase, detail))[1:-1]
        return shown_json(head)[:-1], f",{facts}" if facts else ""

    def _facts(self, part: int, phase: int, detail: int) -> Entry:
        tile = self.parts[part].tile
        if tile is None:
            return self._operation(detail)
        if phase == Phase.LOCK:
            return {"lock": full_lock_name(self.record, detail)}
        if phase in (Phase.COMPUTE, Phase.KERNEL, Phase.CASCADE):
            stops = self.record.names.stops.get(tile, ())
            is_stop = phase != Phase.COMPUTE and detail < len(stops)
            return {"operation": stops[detail].operation, "source": _source(stops[detail].location)} if is_stop else {}
        location = self.record.descriptors.get((tile, detail))
        return {"bd": detail} | ({"source": _source(location)} if location else {})

    def _operation(self, number: int) -> Entry:
        about: Entry = {"operation": number, "opcode": opcode_name(int(self.record.stream.opcodes[number]))}
        if number < len(self.record.locations):
            about["source"] = _source(self.record.locations[number])
        return about

    def _task_slices(self) -> Iterator[Timed]:
        for task in self.tasks:
            if task.start is not None:
                start, end = self.ns(task.start), self.ns(self.record.cycles if task.end is None else task.end)
                times = {"ts": start / 1000, "dur": (end - start) / 1000}
                slice = {"ph": "X", **self._track(task.part), "name": f"task BD {task.bd}", "cat": "task", **times}
                known = {name: value for name, value in vars(task).items() if value is not None}
                # Before a span that is as long: viewers nest slices in the order in which they come.
                yield Timed(start, start - end - 1, shown_json(slice | {"args": known}))

    def _flows(self) -> Iterator[Timed]:
        """Arrows: the operation that pushed, the task, the operation that waited. They bind to the slices around."""
        for number, task in enumerate(self.tasks):
            steps = list(self._steps(task))
            for step, (part, cycle) in enumerate(steps if len(steps) > 1 else ()):
                kind = "s" if step == 0 else "f" if step == len(steps) - 1 else "t"
                flow: Entry = {"ph": kind, "id": number, "name": "task", "cat": "flow", **self._track(part)}
                # Binds to the slice around, not to the next one that begins.
                binding = {"bp": "e"} if step else {}
                yield Timed(self.ns(cycle), 1, shown_json(flow | {"ts": self.ns(cycle) / 1000} | binding))

    def _steps(self, task: TaskSpan) -> Iterator[tuple[int, int]]:
        """Parts and cycles between which a task's arrows go."""
        if task.pushed is None or task.start is None:
            return
        if task.operation is not None:
            yield 0, max(task.pushed - 1, 0)  # inside the operation's slice, which ends with the push
        yield task.part, task.start
        if task.token is not None and task.awaited_by is not None:
            yield 0, max(task.token - 1, int(self.begins[task.awaited_by]))

    def _counters(self) -> Iterator[Timed]:
        # a counter is drawn for each lock that changes, with what it held before
        rows, places = self.record.trace, lock_places(self.record.model.name)
        changes: Column = rows[(rows[:, 1] == TraceEvent.LOCK) & np.isin(rows[:, 3], self.locks)]
        heads = {lock: self._counter(lock, places[lock].tile) for lock in self.locks}
        numbers: list[list[int]] = changes[:, [0, 3, 4]].tolist()
        for cycle, lock, value in numbers:
            ns = self.ns(cycle)
            yield Timed(ns, 1, f'{heads[lock]},"ts":{ns / 1000:.3f},"args":{{"value":{value}}}}}')

    def _counter(self, lock: int, tile: TileId) -> str:
        process = process_number(self.record.model, tile)
        return shown_json({"ph": "C", "pid": process, "name": lock_name(self.record, lock)})[:-1]


def process_number(model: DeviceModel, tile: TileId | None) -> int:
    """A number for a tile; columns from left to right, each from the bottom up."""
    return CONTROLLER_PROCESS if tile is None else CONTROLLER_PROCESS + 1 + tile.column * model.rows + tile.row


def _metadata(what: str, process: int, thread: int, **args: Any) -> Entry:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": args}


def _source(location: LocationAttr) -> str:
    return place(location).rstrip(": ")
