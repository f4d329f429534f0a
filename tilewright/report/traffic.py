"""Bytes that moved: over each channel, and from and to each host buffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilewright.device import DmaDirection, TileId
from tilewright.device.layout import WORD_BYTES
from tilewright.report.spans import Column, is_shim_channel, port_words
from tilewright.report.tasks import operation_times
from tilewright.sim.record import RunRecord
from tilewright.sim.trace import TraceEvent
from tilewright.txn.opcodes import Opcode


class OpenTransfer(NamedTuple):
    """A descriptor that a channel ran, from a cycle on."""

    part: int
    bd: int
    cycle: int
    words: int
    """Those that moved, be it not all of them."""


def channel_bytes(record: RunRecord) -> Mapping[int, int]:
    """Bytes that each channel moved."""
    ended = record.trace[record.trace[:, 1] == TraceEvent.BD_END]
    words = Counter[int]()
    for part, count in [*ended[:, [2, 4]].tolist(), *((open.part, open.words) for open in open_transfers(record))]:
        words[part] += count
    return {part: WORD_BYTES * words[part] for part in sorted(words) if words[part]}


def open_transfers(record: RunRecord) -> Iterator[OpenTransfer]:
    """Descriptors that had not come to their end when the run did: all that went over the port but what ended."""
    rows = record.trace[np.isin(record.trace[:, 1], (TraceEvent.BD, TraceEvent.BD_END))]
    begun: list[list[int]] = rows.tolist()
    last = {row[2]: row for row in begun}  # rows are in the order of time
    for part, (cycle, event, _, bd, _) in last.items():
        if event == TraceEvent.BD:
            ended = int(rows[(rows[:, 2] == part) & (rows[:, 1] == TraceEvent.BD_END), 4].sum())
            yield OpenTransfer(part, bd, cycle, max(port_words(record, record.parts[part]) - ended, 0))


@dataclass(frozen=True)
class HostTraffic:
    """What became of a host buffer."""

    read_bytes: int
    written_bytes: int
    channels: Sequence[int]
    """Parts that moved it."""


@dataclass(frozen=True)
class _Patch:
    """From a cycle on, a descriptor of a shim tile is about an argument."""

    cycle: int
    argument: int


def host_uses(record: RunRecord) -> Mapping[int, HostTraffic]:
    """How the array used each argument, as the addresses that the controller put into descriptors tell."""
    patches, parts = _patches(record), record.parts
    read, written, channels = dict[int, int](), dict[int, int](), dict[int, set[int]]()
    for part, bd, cycle, words in (*_host_transfers(record), *open_transfers(record)):
        tile, detail = parts[part].tile, parts[part].detail
        # the last patch before the descriptor ran
        known = [patch for patch in patches.get((tile, bd), ()) if patch.cycle <= cycle] if tile else []
        if known and detail is not None:
            argument = known[-1].argument
            moved = read if detail[0] is DmaDirection.MM2S else written
            moved[argument] = moved.get(argument, 0) + WORD_BYTES * words
            channels.setdefault(argument, set()).add(part)
    return {n: HostTraffic(read.get(n, 0), written.get(n, 0), sorted(channels[n])) for n in sorted(channels)}


def _patches(record: RunRecord) -> Mapping[tuple[TileId, int], list[_Patch]]:
    """The arguments that descriptors were about, in the order of time."""
    found = dict[tuple[TileId, int], list[_Patch]]()
    _, ended = operation_times(record)
    for number in np.flatnonzero(record.stream.opcodes == Opcode.DDR_PATCH).tolist():
        op, cycle = record.stream.operations[number], int(ended[number])
        tile, offset = record.model.locate(op.address)
        bd = _descriptor_at(record, tile, offset)
        if bd is not None and cycle >= 0:
            found.setdefault((tile, bd), []).append(_Patch(cycle, op.argument_index))
    return found


def _descriptor_at(record: RunRecord, tile: TileId, offset: int) -> int | None:
    """The descriptor that a register belongs to."""
    if not record.model.is_valid_tile(*tile):
        return None
    bds = record.model.registers(*tile).bds
    return next((bd for bd in range(record.model.num_bds(*tile)) if bds[bd] <= offset < bds[bd + 1]), None)


def _host_transfers(record: RunRecord) -> Iterator[OpenTransfer]:
    """The descriptors that shim channels ran to their end."""
    is_host = np.array([is_shim_channel(record, part) for part in record.parts], dtype=np.bool_)
    rows = record.trace[is_host[record.trace[:, 2]] & np.isin(record.trace[:, 1], (TraceEvent.BD, TraceEvent.BD_END))]
    rows: Column = rows[np.argsort(rows[:, 2], kind="stable")]
    begun, ended = rows[:-1], rows[1:]
    pairs = (begun[:, 1] == TraceEvent.BD) & (ended[:, 1] == TraceEvent.BD_END) & (begun[:, 2] == ended[:, 2])
    columns = (ended[pairs, 2], ended[pairs, 3], begun[pairs, 0], ended[pairs, 4])
    return (OpenTransfer(*row) for row in zip(*(column.tolist() for column in columns), strict=True))
