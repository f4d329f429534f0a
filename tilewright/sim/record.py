"""The record of a run, for reports: its trace, and what a trace alone cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import DeviceModel, TileId
from tilewright.device.timing import Timing
from tilewright.dialects.func import CallOp
from tilewright.ir.diagnostics import Diagnostic
from tilewright.sim.core import CoreProgram
from tilewright.sim.debugged_core import FunctionCycles
from tilewright.sim.hangs import OpenWait, open_waits
from tilewright.sim.machine import Machine
from tilewright.sim.parts import ArrayPart, PartKind, part_ids_of
from tilewright.sim.switch import PortName
from tilewright.sim.trace import Printed, Rows, TraceEvent
from tilewright.txn.stream import Stream

MOST_BDS = 1 << 16
"""More than any tile has."""


@dataclass(frozen=True)
class SwitchConnection:
    """A way through a switch: words that come in at `source` go out at `target`."""

    tile: TileId
    source: PortName
    target: PortName
    is_packet: bool


@dataclass(frozen=True)
class HostArgument:
    """A host buffer as the array sees it."""

    number: int
    name: str
    address: int
    size_bytes: int


@dataclass(frozen=True)
class CoreStop:
    """A place where a core's program reaches out of it; events of the core have its number."""

    operation: str
    """Name of the operation, or of the kernel that is called."""
    is_kernel: bool
    location: LocationAttr


@dataclass(frozen=True)
class SourceNames:
    """What the source calls things, where it is known."""

    locks: Mapping[tuple[TileId, int], str] = field(default_factory=dict[tuple[TileId, int], str])
    stops: Mapping[TileId, Sequence[CoreStop]] = field(default_factory=dict[TileId, Sequence[CoreStop]])


@dataclass(frozen=True, repr=False)
class RunRecord:
    """One run, over or stuck."""

    model: DeviceModel
    timing: Timing
    cycles: int
    trace: Rows
    stream: Stream
    locations: Sequence[LocationAttr]
    """The source of each operation of the stream; empty where it is not known."""
    connections: Sequence[SwitchConnection]
    carried: Mapping[tuple[TileId, PortName], int]
    """Words that went out of each master port that is in use."""
    arguments: Sequence[HostArgument]
    descriptors: Mapping[tuple[TileId, int], LocationAttr]
    """Who wrote the descriptors that were run."""
    names: SourceNames
    notes: Sequence[Diagnostic] = ()
    error: Diagnostic | None = None
    """Why it did not end as it should."""
    waits: Sequence[OpenWait] = ()
    """Who waited for whom in the end, where that is why."""
    printed: Sequence[Printed] = ()
    """What cores printed, in order."""
    profiles: Mapping[TileId, Sequence[FunctionCycles]] = field(default_factory=dict[TileId, Sequence[FunctionCycles]])
    """Cycles by function of the cores whose machine code was looked at, since they began."""

    def __repr__(self) -> str:
        return f"<RunRecord: {self.cycles:,} cycles on {self.model}, {len(self.trace):,} events>"

    @property
    def parts(self) -> list[ArrayPart]:
        """The parts of the array, by the number that rows of the trace have."""
        return part_ids_of(self.model.name).parts

    @property
    def clock_hz(self) -> float:
        return self.timing.clock_hz


@dataclass(frozen=True)
class Beginning:
    """What has to be known of a machine before a run to tell later what the run did."""

    cycle: int
    carried: Mapping[tuple[TileId, PortName], int]


def begin_record(machine: Machine) -> Beginning:
    machine.output.begin_run()
    return Beginning(machine.engine.now, dict(_passed(machine)))


def record_run(
    machine: Machine,
    beginning: Beginning,
    stream: Stream,
    locations: Sequence[LocationAttr],
    error: Diagnostic | None = None,
    is_stuck: bool = False,
) -> RunRecord:
    """Read off a machine what a run on it did; `is_stuck` if no part can move any more."""
    rows = machine.trace.since(0)
    # A device that is loaded once counts cycles over all its runs.
    rows[:, 0] -= beginning.cycle
    arguments = [HostArgument(n, b.name, b.address, len(b.data)) for n, b in machine.host.arguments.items()]
    return RunRecord(
        model=machine.model,
        timing=machine.timing,
        cycles=machine.engine.now - beginning.cycle,
        trace=rows,
        stream=stream,
        locations=locations,
        connections=list(_connections(machine)),
        carried={port: words - beginning.carried.get(port, 0) for port, words in _passed(machine)},
        arguments=arguments,
        descriptors=_descriptors(machine, rows),
        names=_names(machine),
        notes=list(machine.policy.notes),
        error=error,
        waits=open_waits(machine, _last_cycles(rows)) if is_stuck else (),
        printed=machine.output.take(),
        profiles={place: core.profile() for place, core in machine.debugged_cores.items()},
    )


def _last_cycles(rows: Rows) -> dict[int, int]:
    """When each part last began something."""
    # Later rows win.
    return dict(zip(rows[:, 2].tolist(), rows[:, 0].tolist(), strict=True))


def _passed(machine: Machine) -> Iterator[tuple[tuple[TileId, PortName], int]]:
    for place, tile in machine.tiles.items():
        for name, fifo in tile.switch.masters.items():
            if fifo.passed:
                yield (place, name), fifo.passed


def _connections(machine: Machine) -> Iterator[SwitchConnection]:
    for place, tile in machine.tiles.items():
        yield from (SwitchConnection(place, *passage) for passage in tile.switch.passages())


def _names(machine: Machine) -> SourceNames:
    locks = {
        (place, lock.number): lock.name for place, tile in machine.tiles.items() for lock in tile.locks if lock.name
    }
    bound = {place: tile.program.program for place, tile in machine.tiles.items() if tile.program is not None}
    return SourceNames(locks, {place: list(_stops(program)) for place, program in bound.items()})


def _stops(program: CoreProgram) -> Iterator[CoreStop]:
    """Where a program that has been compiled reaches out of its core."""
    # One that never ran is not compiled for the sake of its names.
    for stop in program.code.stops if program.is_compiled else ():
        is_kernel = isinstance(stop.op, CallOp)
        name = stop.op.callee.string_value() if isinstance(stop.op, CallOp) else stop.op.name
        yield CoreStop(name, is_kernel, stop.op.location)


def _descriptors(machine: Machine, rows: Rows) -> dict[tuple[TileId, int], LocationAttr]:
    """The sources of the descriptors that were run."""
    found = dict[tuple[TileId, int], LocationAttr]()
    begun = rows[rows[:, 1] == TraceEvent.BD]
    # Part and BD as one number: `np.unique` on rows is much slower.
    numbers: list[int] = np.unique(begun[:, 2] * MOST_BDS + begun[:, 3]).tolist()
    for part, bd in (divmod(number, MOST_BDS) for number in numbers):
        actor = machine.part_ids.parts[part]
        if actor.kind is PartKind.CHANNEL and actor.tile is not None:
            found[actor.tile, bd] = machine.tiles[actor.tile].descriptor_location(bd)
    return found
