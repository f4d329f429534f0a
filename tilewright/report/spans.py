"""Rows of a trace -> spans: what each part was at from when to when, as columns; and the shares of time they sum to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.device import DmaDirection, TileId, TileType, WireBundle
from tilewright.device.stream_switch import SHIM_DMA_PORTS, STEPS
from tilewright.device.timing import MOST_WARMING
from tilewright.report.phases import BUSY, WAITS, Phase
from tilewright.sim.parts import ArrayPart, PartKind
from tilewright.sim.record import RunRecord
from tilewright.sim.switch import PortName
from tilewright.sim.trace import TraceEvent
from tilewright.txn.opcodes import Opcode

Column = npt.NDArray[np.int64]
AFTER: Mapping[TraceEvent, Phase] = {
    TraceEvent.OPERATION: Phase.EXECUTE,
    TraceEvent.OPERATION_END: Phase.IDLE,
    TraceEvent.TASK: Phase.PREPARE,
    TraceEvent.TASK_END: Phase.IDLE,
    TraceEvent.BD: Phase.PREPARE,
    TraceEvent.MOVE: Phase.WORDS,
    TraceEvent.FLOW: Phase.MOVE,
    TraceEvent.BD_END: Phase.PREPARE,
    TraceEvent.LOCK_WAIT: Phase.LOCK,
    TraceEvent.LOCK_GO: Phase.PREPARE,
    TraceEvent.CORE: Phase.COMPUTE,
    TraceEvent.CORE_END: Phase.IDLE,
    TraceEvent.WAIT: Phase.KERNEL,
    TraceEvent.GO: Phase.COMPUTE,
}
"""What a part is at after an event; rows with other events change nothing."""
WAITING_OPERATIONS = {Opcode.TCT: Phase.TOKEN, Opcode.MASKPOLL: Phase.POLL, Opcode.MASKPOLL_BUSY: Phase.POLL}
STOPS = {
    "aie.put_stream": Phase.ROOM,
    "aie.get_stream": Phase.WORDS,
    "aie.put_cascade": Phase.CASCADE,
    "aie.get_cascade": Phase.CASCADE,
}
"""What a core is at in an operation that reaches out of it."""
Port = tuple[TileId, PortName]


@dataclass(frozen=True)
class Spans:
    """Spans ordered by part and time; `detail` is the operation, descriptor, lock or stop that one is about."""

    part: Column
    phase: Column
    start: Column
    end: Column
    detail: Column
    words: Column
    """Words that a moving channel moves in the span, else 0."""

    def __len__(self) -> int:
        return len(self.part)

    @cached_property
    def cycles(self) -> Column:
        return self.end - self.start

    def __getitem__(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.int64] | slice) -> Spans:
        columns = (self.part, self.phase, self.start, self.end, self.detail, self.words)
        return Spans(*(column[which] for column in columns))


def spans_of(record: RunRecord) -> Spans:
    """Everything that parts were at, idle spans left out."""
    rows = record.trace[np.isin(record.trace[:, 1], list(AFTER))]
    # Stable: the rows of a part stay in the order of time.
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    time, event, part = rows[:, 0], rows[:, 1], rows[:, 2]
    last = np.append(part[1:] != part[:-1], True) if len(part) else np.empty(0, dtype=np.bool_)
    # A span lasts until its part's next row; the last one until the run ends.
    end = np.where(last, record.cycles, np.append(time[1:], record.cycles)[: len(time)])
    phase = np.zeros(max(TraceEvent) + 1, dtype=np.int64)
    phase[list(AFTER)] = list(AFTER.values())
    words = np.where(event == TraceEvent.FLOW, _moved_words(event, rows[:, 4]), 0)
    return _settle(record, Spans(part, phase[event], time, end, rows[:, 3], words), rows)


def _moved_words(event: Column, words: Column) -> Column:
    """At each row the words of the next row of its part, which ends what begins here; 0 where nothing ends it."""
    following = np.append(words[1:], 0)[: len(words)]
    return np.where(np.append(event[1:], -1)[: len(event)] == TraceEvent.BD_END, following, 0)


def _settle(record: RunRecord, spans: Spans, rows: Column) -> Spans:
    """Say more exactly what parts were at where that depends on who they are."""
    parts = record.parts
    phase = spans.phase.copy()
    is_core = np.array([part.kind is PartKind.CORE for part in parts], dtype=np.bool_)[spans.part]
    is_sender = np.array([sends(part) for part in parts], dtype=np.bool_)[spans.part]
    phase[is_core & (rows[:, 1] == TraceEvent.LOCK_GO)] = Phase.COMPUTE
    # Before its first word a sender waits for room, a receiver for words.
    phase[is_sender & (rows[:, 1] == TraceEvent.MOVE)] = Phase.ROOM
    for index in np.flatnonzero(rows[:, 1] == TraceEvent.WAIT).tolist():
        phase[index] = _stop_phase(record, parts[int(spans.part[index])], int(spans.detail[index]))
    settled = _with_open_words(record, _split_waits(record, replace(spans, phase=phase), rows))
    return settled[(settled.phase != Phase.IDLE) & (settled.cycles > 0)]


def _stop_phase(record: RunRecord, part: ArrayPart, number: int) -> Phase:
    stops = record.names.stops.get(part.tile, ()) if part.tile else ()
    return STOPS.get(stops[number].operation, Phase.KERNEL) if number < len(stops) else Phase.KERNEL


def _split_waits(record: RunRecord, spans: Spans, rows: Column) -> Spans:
    """The controller first spends what every operation costs; what it still needs then, it waits.

    A shim channel that reads waits for host memory first, then for room in the stream.
    """
    waits = np.full(256, Phase.EXECUTE, dtype=np.int64)  # opcodes are bytes
    waits[list(WAITING_OPERATIONS)] = list(WAITING_OPERATIONS.values())
    is_operation = rows[:, 1] == TraceEvent.OPERATION
    later = np.where(is_operation, waits[np.where(is_operation, rows[:, 4], 0) & 0xFF], spans.phase)
    reads = np.array([sends(part) and is_shim_channel(record, part) for part in record.parts], dtype=np.bool_)
    latency = reads[spans.part] & (spans.phase == Phase.ROOM)
    cycles = np.where(latency, _read_latencies(record, rows), record.timing.operation_cycles())
    which = latency | is_operation & (later != Phase.EXECUTE)
    changed = replace(spans, phase=np.where(latency, Phase.HOST, spans.phase))
    return _split(changed, which, cycles, np.where(latency, Phase.ROOM, later))


def _read_latencies(record: RunRecord, rows: Column) -> Column:
    """At each row, which are ordered by part, how long host memory takes for the task that its part is at."""
    begun = np.cumsum(rows[:, 1] == TraceEvent.TASK)
    starts = np.append(True, rows[1:, 2] != rows[:-1, 2])[: len(rows)]
    before = np.append(0, begun)[:-1][starts]
    tasks = begun - before[np.cumsum(starts) - 1] - 1
    latencies = np.array([record.timing.host_read_cycles(number) for number in range(MOST_WARMING)])
    return latencies[np.clip(tasks, 0, MOST_WARMING - 1)]


def _with_open_words(record: RunRecord, spans: Spans) -> Spans:
    """Channels that are in the middle of a descriptor in the end: what went over their port is more than what ended."""
    parts, words = record.parts, spans.words.copy()
    ended = record.trace[record.trace[:, 1] == TraceEvent.BD_END]
    for index in np.flatnonzero((spans.phase == Phase.MOVE) & (spans.words == 0)).tolist():
        number = int(spans.part[index])
        # Ports count words of the whole run, ended descriptors only theirs.
        words[index] = max(port_words(record, parts[number]) - int(ended[ended[:, 2] == number, 4].sum()), 0)
    return replace(spans, words=words)


def port_words(record: RunRecord, part: ArrayPart) -> int:
    """Words that went through the port of a channel; where streams join, those of the way that it has for itself."""
    port = port_of(record, part)
    if port is None or not sends(part):
        return record.carried.get(port, 0) if port else 0
    targets = [(c.tile, c.target) for c in record.connections if (c.tile, c.source) == port]
    # Where other streams join a target its count is higher; the way of its own has the least.
    return min((record.carried.get(target, 0) for target in targets), default=0)


def is_shim_channel(record: RunRecord, part: ArrayPart) -> bool:
    """Whether a part is a channel that reaches host memory."""
    tile = part.tile if part.kind is PartKind.CHANNEL else None
    return tile is not None and record.model.tile_type(*tile) is TileType.ShimNOCTile


def _split(spans: Spans, which: npt.NDArray[np.bool_], cycles: Column, later: Column) -> Spans:
    """Cut the chosen spans in two after some cycles; the second part is at something else."""
    cut = which & (spans.cycles > cycles)
    if not cut.any():
        return spans
    order = np.repeat(np.arange(len(spans)), 1 + cut)
    # A span that is cut stands twice in `order`; these are its halves.
    second = np.append(False, order[1:] == order[:-1])
    first = np.append(order[1:] == order[:-1], False)
    middle = spans.start[order] + cycles[order]
    return Spans(
        spans.part[order],
        np.where(second, later[order], spans.phase[order]),
        np.where(second, middle, spans.start[order]),
        np.where(first, middle, spans.end[order]),
        spans.detail[order],
        np.where(second, 0, spans.words[order]),
    )


def port_of(record: RunRecord, part: ArrayPart) -> Port | None:
    """The port of its tile's switch that a channel is joined to: a slave port if it sends, else a master port."""
    match part:
        case ArrayPart(
            kind=PartKind.CHANNEL, tile=TileId() as tile, detail=(DmaDirection() as direction, int() as channel)
        ):
            is_shim = record.model.tile_type(*tile) is TileType.ShimNOCTile
            south = SHIM_DMA_PORTS[direction]
            return tile, PortName(WireBundle.South, south[channel]) if is_shim else PortName(WireBundle.DMA, channel)
        case _:
            return None


def sends(part: ArrayPart) -> bool:
    return part.kind is PartKind.CHANNEL and isinstance(part.detail, tuple) and part.detail[0] is DmaDirection.MM2S


def peers_of(record: RunRecord) -> Mapping[int, set[int]]:
    """For each channel the channels that it sends to or gets words from."""
    parts = record.parts
    senders = {port: n for n, part in enumerate(parts) if sends(part) and (port := port_of(record, part))}
    receivers = {port: n for n, part in enumerate(parts) if not sends(part) and (port := port_of(record, part))}
    targets = defaultdict[Port, list[Port]](list)
    for connection in record.connections:
        targets[connection.tile, connection.source].append((connection.tile, connection.target))
    found = defaultdict[int, set[int]](set)
    for port, sender in senders.items():
        for master in _reached(targets, port):
            if master in receivers:
                found[sender].add(receivers[master])
                found[receivers[master]].add(sender)
    return found


def _reached(targets: Mapping[Port, list[Port]], start: Port) -> Iterator[Port]:
    """The master ports that words from a slave port may go out of, near and far."""
    seen, ahead = {start}, [start]
    while ahead:
        for master in targets.get(ahead.pop(), ()):
            yield master
            beyond = _other_end(*master)
            if beyond is not None and beyond not in seen:
                seen.add(beyond)
                ahead.append(beyond)


def _other_end(tile: TileId, port: PortName) -> Port | None:
    """The slave port that a master port is wired to."""
    if port.bundle not in STEPS:
        return None
    columns, rows = STEPS[port.bundle]
    return TileId(tile.column + columns, tile.row + rows), PortName(port.bundle.opposite, port.channel)


@dataclass(frozen=True)
class Shares:
    """Cycles that each part was at each phase; a moving channel moves for as many cycles as it has words."""

    cycles: npt.NDArray[np.int64]
    """By part and phase."""
    total: int

    def busy(self, part: int) -> int:
        return int(self.cycles[part, BUSY].sum())

    def waiting(self, part: int) -> int:
        return int(self.cycles[part, WAITS].sum())


class CoresBusy(NamedTuple):
    """How many cores had something to do, and the mean share of the run for which they did it."""

    cores: int
    share: float


def cores_busy(record: RunRecord, shares: Shares) -> CoresBusy:
    active = np.flatnonzero(shares.cycles.sum(axis=1)).tolist()
    cores = [number for number in active if record.parts[number].kind is PartKind.CORE]
    share = float(np.mean([shares.busy(number) for number in cores])) if cores else 0.0
    return CoresBusy(len(cores), share / max(shares.total, 1))


def shares_of(record: RunRecord, spans: Spans) -> Shares:
    parts = record.parts
    # by part and phase; `np.add.at` because a part has many spans of a phase
    cycles = np.zeros((len(parts), len(Phase)), dtype=np.int64)
    moving = spans.phase == Phase.MOVE
    # One word a cycle is full speed: a transfer with fewer words than cycles waited in between.
    used = np.where(moving & (spans.words > 0), np.minimum(spans.words, spans.cycles), spans.cycles)
    np.add.at(cycles, (spans.part, spans.phase), used)
    slack = spans.cycles - used
    host = _host_slack(record, spans, slack)
    np.add.at(cycles[:, Phase.HOST], spans.part, host)
    is_sender = np.array([sends(part) for part in parts], dtype=np.bool_)[spans.part]
    np.add.at(cycles, (spans.part, np.where(is_sender, Phase.ROOM, Phase.WORDS)), slack - host)
    return Shares(cycles, record.cycles)


def _host_slack(record: RunRecord, spans: Spans, slack: Column) -> Column:
    """Of the cycles in which shim channels moved too little, those that host memory took.

    A transfer is slow because of the channel at the other end where that one is at something else than the stream; the
    rest is host memory's.
    """
    found, peers = np.zeros(len(spans), dtype=np.int64), peers_of(record)
    for number, part in enumerate(record.parts):
        if is_shim_channel(record, part):
            mine = np.flatnonzero((spans.part == number) & (slack > 0))
            if away := [_away(spans, peer, spans.start[mine], spans.end[mine]) for peer in peers.get(number, ())]:
                found[mine] = np.maximum(slack[mine] - np.max(away, axis=0), 0)
            elif not sends(part):  # a core sends, whose time on the stream is not known: the end is still the host's
                found[mine] = np.minimum(slack[mine], record.timing.cycles(record.timing.host_write_ns))
    return found


ON_STREAM = (Phase.MOVE, Phase.WORDS, Phase.ROOM)


def _away(spans: Spans, part: int, start: Column, end: Column) -> Column:
    """For how many cycles of some stretches of time a channel was neither moving words nor ready to."""
    there = spans[(spans.part == part) & np.isin(spans.phase, ON_STREAM)]
    edges = np.stack([there.start, there.end], axis=1).ravel()
    present = np.append(0, np.cumsum(np.stack([np.zeros(len(there), dtype=np.int64), there.cycles], axis=1).ravel()))
    if not len(edges):
        return end - start
    until_start, until_end = (np.interp(at, edges, present[1:]) for at in (start, end))
    return (end - start) - np.rint(until_end - until_start).astype(np.int64)
