"""Flags of `tilewright run` that look into cores: traces of their instructions, coverage, names of functions."""

from __future__ import annotations

import re
from argparse import Namespace
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tilewright.cli.files import write_text
from tilewright.cli.parsers import value, values
from tilewright.cli.run_values import usage

if TYPE_CHECKING:
    from tilewright.driver.loaded_device import SimulatedDevice
    from tilewright.isa.observed_core import IssuedBundle
    from tilewright.sim.debugged_core import DebuggedCore

STDOUT = "-"
DEBUGGING = {
    "--core": values("COL,ROW", "cores to look into (default: all that run machine code)"),
    "--core-elf": values("COL,ROW=FILE", "the ELF file of a core's program, for names of functions and lines"),
    "--trace-instructions": value(
        "FILE",
        "write each bundle that the cores issue, with what it writes (default: to stdout)",
        nargs="?",
        const=STDOUT,
    ),
    "--coverage": value(
        "FILE", "write how often each bundle of their programs was issued (default: to stdout)", nargs="?", const=STDOUT
    ),
}
_PLACE = re.compile(r"\s*(\d+)\s*,\s*(\d+)\s*$")


@dataclass
class LookedAtCores:
    """Cores that are looked at, and where what was seen goes."""

    cores: list[DebuggedCore] = field(default_factory=list["DebuggedCore"])
    trace: str | None = None
    coverage: str | None = None
    lines: list[str] = field(default_factory=list[str])
    """Of the trace."""

    def write(self) -> None:
        """Write what was asked for, of a run that is over, however it ended."""
        for core in self.cores:
            core.finish()
        if self.trace is not None:
            write_text(self.trace, "".join(f"{line}\n" for line in self.lines))
        if self.coverage is not None:
            write_text(self.coverage, "\n".join(map(_coverage, self.cores)))

    def show(self, core: DebuggedCore, made: IssuedBundle) -> None:
        """Add a bundle to the trace."""
        name = core.places.name(made.address) or f"{made.address:#x}"
        place = f"({core.tile.column}, {core.tile.row})  " if len(self.cores) > 1 else ""
        effects = made.effects()
        self.lines.append(f"{made.time:10}  {place}{name:24}  {made.bundle}" + (f"  // {effects}" if effects else ""))


def look_at_cores(device: SimulatedDevice, args: Namespace) -> LookedAtCores:
    """Look at the cores that flags ask for; without such flags at none."""
    elves = {_place("--core-elf", text.partition("=")[0]): text.partition("=")[2] for text in args.core_elf}
    chosen = [_place("--core", text) for text in args.core]
    wanted = args.trace_instructions or args.coverage or args.report
    if not (wanted or chosen or elves):
        return LookedAtCores()
    coded = [(it.column, it.row) for it in device.machine_code_cores()]
    if not coded and not (chosen or elves or args.trace_instructions or args.coverage):
        return LookedAtCores()  # a report alone is one of any run
    if not coded:
        raise usage("no core of this run has machine code: cores of a DESIGN are run as what they were compiled from")
    if unknown := [it for it in [*chosen, *elves] if it not in coded]:
        raise usage(f"no core at {unknown[0]} has machine code; there are {', '.join(map(str, coded))}")
    for place, file in elves.items():
        if not file:
            raise usage("--core-elf takes COL,ROW=FILE")
        device.core(*place, file)
    found = LookedAtCores([device.core(*place) for place in chosen or coded], args.trace_instructions, args.coverage)
    for core in found.cores if found.trace is not None else ():
        core.show = partial(found.show, core)
    return found


def _place(flag: str, text: str) -> tuple[int, int]:
    found = _PLACE.match(text)
    if found is None:
        raise usage(f"{flag} takes COL,ROW, got {text!r}")
    return int(found[1]), int(found[2])


def _coverage(core: DebuggedCore) -> str:
    from tilewright.sim.debugged_core import NotRunningError

    head = f"core ({core.tile.column}, {core.tile.row})"
    try:
        found = core.coverage()
    except NotRunningError:
        return f"{head}: it did not start\n"
    rows = [f"  {it.function or '(before all functions)'}: {it.issued} of {it.bundles}" for it in found.functions()]
    return "\n".join([f"{head}: {found.summary()}", *rows, *found.lines(), ""])
