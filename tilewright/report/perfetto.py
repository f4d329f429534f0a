"""A run as a trace in the Trace Event Format, for ui.perfetto.dev and chrome://tracing.

Tiles are processes; their channels, cores and locks are tracks. A task is a slice around its descriptors, with arrows
from the operation that pushed it and to the one that waited for its token.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tilewright.device import DeviceModel, TileId
from tilewright.ir.diagnostics import place
from tilewright.report.operations import operation_times
from tilewright.report.phases import LOOKS, Kind, Phase
from tilewright.report.spans import Column, Spans, spans_of
from tilewright.report.tasks import Task, tasks_of
from tilewright.report.tracks import CONTROLLER_NAME, full_lock_name, lock_name, lock_places, part_name, tile_name
from tilewright.sim.record import RunRecord
from tilewright.sim.roster import CONTROLLER, Part, roster_of
from tilewright.sim.trace import Event
from tilewright.txn.opcodes import opcode_name

CONTROLLER_PROCESS = 1
NS_PER_US = 1000
Entry = dict[str, Any]


def perfetto_json(record: RunRecord) -> str:
    """The whole trace; one event per line."""
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in _Writer(record).events())
    other = {"device": str(record.model), "clock_hz": record.clock_hz, "cycles": record.cycles}
    tail = json.dumps({"displayTimeUnit": "ns", "otherData": other})
    return f'{{"traceEvents":[\n{lines}\n],{tail[1:]}\n'


class _Writer:
    def __init__(self, record: RunRecord):
        self.record = record
        self.parts = roster_of(record.model.name).parts
        self.begins = operation_times(record)[0]

    def events(self) -> Iterator[Entry]:
        """What names tracks comes first, the rest is in the order of time: viewers nest slices by that."""
        spans, tasks = spans_of(self.record), tasks_of(self.record)
        timed = [*self.tasks(tasks), *self.spans(spans), *self.locks(), *self.flows(tasks)]
        yield from self.names(spans, tasks)
        yield from sorted(timed, key=lambda entry: (entry["ts"], -entry.get("dur", 0)))

    def time(self, cycle: int) -> float:
        """Microseconds, to the nanosecond; later cycles are never earlier, so slices nest as they did."""
        return int(cycle * 1e9 / self.record.clock_hz) / NS_PER_US

    def slice(self, part: int, name: str, start: int, end: int, **more: Any) -> Entry:
        begin, until = self.time(start), self.time(end)
        duration = round(until - begin, 3)
        return {"ph": "X", **self.track(part), "name": name, "ts": begin, "dur": duration, **more}

    def track(self, part: int) -> Entry:
        return {"pid": process_of(self.record.model, self.parts[part]), "tid": part}

    def names(self, spans: Spans, tasks: list[Task]) -> Iterator[Entry]:
        used = sorted({*np.unique(spans.part).tolist(), *(task.part for task in tasks), 0})
        places = lock_places(self.record.model.name)
        tiles = {self.parts[part].tile for part in used} | {places[lock].tile for lock in self.used_locks()}
        for tile in sorted(tiles, key=lambda tile: tile or TileId(-1, -1)):
            process = process_number(self.record.model, tile)
            title = CONTROLLER_NAME if tile is None else tile_name(self.record.model, tile)
            yield _metadata("process_name", process, 0, name=title)
            yield _metadata("process_sort_index", process, 0, sort_index=process)
        for part in used:
            track = self.track(part)
            yield _metadata("thread_name", track["pid"], track["tid"], name=part_name(self.parts[part]))
            yield _metadata("thread_sort_index", track["pid"], track["tid"], sort_index=part)

    def spans(self, spans: Spans) -> Iterator[Entry]:
        columns = (spans.part, spans.phase, spans.start, spans.end, spans.detail, spans.words)
        for part, phase, start, end, detail, words in zip(*(column.tolist() for column in columns), strict=True):
            look = LOOKS[Phase(phase)]
            category = "stall" if look.kind is Kind.WAIT else look.kind.value
            args = {"cycle": start, "cycles": end - start, **self.about(part, Phase(phase), detail)}
            if words:
                args["words"] = words
            yield self.slice(part, look.label, start, end, cat=category, cname=look.chrome, args=args)

    def about(self, part: int, phase: Phase, detail: int) -> Entry:
        """What a slice is about."""
        tile = self.parts[part].tile
        if tile is None:
            return self.operation(detail)
        if phase is Phase.LOCK:
            return {"lock": full_lock_name(self.record, detail)}
        if phase in (Phase.COMPUTE, Phase.KERNEL, Phase.CASCADE):
            stops = self.record.names.stops.get(tile, ())
            is_stop = phase is not Phase.COMPUTE and detail < len(stops)
            return {"operation": stops[detail].operation, "source": place(stops[detail].location)} if is_stop else {}
        location = self.record.descriptors.get((tile, detail))
        return {"bd": detail} | ({"source": place(location).rstrip(": ")} if location else {})

    def operation(self, number: int) -> Entry:
        about: Entry = {"operation": number, "opcode": opcode_name(int(self.record.stream.opcodes[number]))}
        if number < len(self.record.locations):
            about["source"] = place(self.record.locations[number]).rstrip(": ")
        return about

    def tasks(self, tasks: Iterable[Task]) -> Iterator[Entry]:
        for task in tasks:
            if task.start is not None:
                end = self.record.cycles if task.end is None else task.end
                yield self.slice(task.part, f"task BD {task.bd}", task.start, end, cat="task", args=_known(vars(task)))

    def flows(self, tasks: Iterable[Task]) -> Iterator[Entry]:
        """Arrows: the operation that pushed, the task, the operation that waited. They bind to the slices around."""
        for number, task in enumerate(tasks):
            if task.pushed is None or task.start is None:
                continue
            flow: Entry = {"id": number, "name": "task", "cat": "flow"}
            steps = [(task.part, task.start)]
            if task.operation is not None:
                steps.insert(0, (0, max(task.pushed - 1, 0)))
            if task.token is not None and task.awaited_by is not None:
                steps.append((0, max(task.token - 1, int(self.begins[task.awaited_by]))))
            if len(steps) == 1:
                continue
            for step, (part, cycle) in enumerate(steps):
                kind = "s" if step == 0 else "f" if step == len(steps) - 1 else "t"
                yield {"ph": kind, **flow, **self.track(part), "ts": self.time(cycle)} | ({"bp": "e"} if step else {})

    def used_locks(self) -> list[int]:
        rows = self.record.trace
        return np.unique(rows[(rows[:, 1] == Event.LOCK) & (rows[:, 0] > 0), 3]).tolist()

    def locks(self) -> Iterator[Entry]:
        rows = self.record.trace
        changes: Column = rows[(rows[:, 1] == Event.LOCK) & np.isin(rows[:, 3], self.used_locks())]
        places = lock_places(self.record.model.name)
        numbers: list[list[int]] = changes.tolist()
        for cycle, _, _, lock, value in numbers:
            process = process_number(self.record.model, places[lock].tile)
            name = lock_name(self.record, lock)
            yield {"ph": "C", "pid": process, "name": name, "ts": self.time(cycle), "args": {"value": value}}


def _known(values: Entry) -> Entry:
    return {name: value for name, value in values.items() if value is not None}


def process_of(model: DeviceModel, part: Part) -> int:
    return CONTROLLER_PROCESS if part == CONTROLLER else process_number(model, part.tile)


def process_number(model: DeviceModel, tile: TileId | None) -> int:
    """A number for a tile; columns from left to right, each from the bottom up."""
    return CONTROLLER_PROCESS if tile is None else CONTROLLER_PROCESS + 1 + tile.column * model.rows + tile.row


def _metadata(what: str, process: int, thread: int, **args: Any) -> Entry:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": args}
