"""Shares of the time that parts were at what: spans summed up, with slow transfers split by what made them slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.device import TileType
from tilewright.report.phases import BUSY, WAITS, Phase
from tilewright.report.spans import Column, Spans, peers_of, sends
from tilewright.sim.parts import PartKind
from tilewright.sim.record import RunRecord


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
    parts = record.parts
    active = np.flatnonzero(shares.cycles.sum(axis=1)).tolist()
    cores = [number for number in active if parts[number].kind is PartKind.CORE]
    share = float(np.mean([shares.busy(number) for number in cores])) if cores else 0.0
    return CoresBusy(len(cores), share / max(shares.total, 1))


def shares_of(record: RunRecord, spans: Spans) -> Shares:
    parts = record.parts
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
        if part.kind is PartKind.CHANNEL and part.tile and record.model.tile_type(*part.tile) is TileType.ShimNOCTile:
            mine = np.flatnonzero((spans.part == number) & (slack > 0))
            away = [_away(spans, peer, spans.start[mine], spans.end[mine]) for peer in peers.get(number, ())]
            if away:
                found[mine] = np.maximum(slack[mine] - np.max(away, axis=0), 0)
            elif not sends(part):  # a core sends, whose time on the stream is not known: the end is still the host's
                found[mine] = np.minimum(slack[mine], record.timing.host_write)
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
