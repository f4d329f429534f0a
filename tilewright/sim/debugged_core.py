"""Debugging of cores that run machine code: halts at functions and addresses, registers, traces, profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, StringAttr

from tilewright.device import TileId
from tilewright.errors import ArgumentError, Error
from tilewright.isa.bundles import decode_bundle
from tilewright.isa.coverage import ProgramCoverage
from tilewright.isa.observed_core import IssuedBundle, ObservedCore
from tilewright.isa.program_places import ProgramPlaces
from tilewright.support.dwarf_lines import DwarfLine

if TYPE_CHECKING:
    from tilewright.sim.machine_code import MachineCodePorts

RegisterValue: TypeAlias = "int | bytes | tuple[int, ...]"


class NotRunningError(Error):
    """A core that has not begun, or that runs no machine code."""


@dataclass(frozen=True)
class CoreHalt:
    """A core as it was when it halted, before the bundle at its address."""

    time: int
    address: int
    place: str
    """The function and what is added to it; the address where no function is known."""
    registers: dict[str, Any] = field(repr=False)


HaltAction: TypeAlias = "Callable[[DebuggedCore], object]"


@dataclass(frozen=True)
class FunctionCycles:
    """What a core spent in a function, without what that calls."""

    function: str
    cycles: int
    bundles: int
    waited: int
    """Cycles of these in which the core stood still."""


class DebuggedCore:
    """A core of a device, to be looked at while runs go on.

    Settings hold for all runs that follow; a core that is under way already is not seen before it starts anew.
    """

    def __init__(self, place: TileId):
        self.tile = place
        self.places = ProgramPlaces()
        """Functions and lines of the program, as far as they are known."""
        self.halts = list[CoreHalt]()
        """All halts so far, in order."""
        self.show: Callable[[IssuedBundle], None] | None = None
        """Called with each bundle, once all is written that it writes."""
        self._actions: dict[int, HaltAction | None] = {}
        self._steps: int | None = None
        """Bundles until the next halt."""
        self._step_action: HaltAction | None = None
        self._core: ObservedCore | None = None
        self._ports: MachineCodePorts | None = None
        self._let_go = -1
        """The core's cycle when the last bundle was let go."""
        self._issues, self._spent = Counter[int](), Counter[int]()

    def __repr__(self) -> str:
        return f"<DebuggedCore: the core of tile ({self.tile.column}, {self.tile.row})>"

    def name_places(self, functions: Mapping[int, str], lines: Iterable[DwarfLine] = ()) -> None:
        """Say which functions begin where in the program, and what lines its code is of."""
        self.places = ProgramPlaces(functions, lines)

    # ---- where and when to halt ----

    def break_at(self, place: str | int, action: HaltAction | None = None) -> int:
        """Halt before the bundle at a function or an address each time that it is reached; gives the address.

        Args:
            place: a function's name, or an address in program memory
            action: called with this core while all of the device stands still; what it raises ends the run
        """
        address = self.places.address(place)
        self._actions[address] = action
        return address

    def clear(self, place: str | int) -> None:
        """Halt there no more."""
        self._actions.pop(self.places.address(place), None)

    def step(self, bundles: int = 1, action: HaltAction | None = None) -> None:
        """Halt once more after so many bundles from here, or from where the next run goes on."""
        if bundles < 1:
            raise ArgumentError(f"bundles to step over are 1 or more, got {bundles}")
        self._steps, self._step_action = bundles, action

    # ---- what there is to see ----

    @property
    def core(self) -> ObservedCore:
        """The core itself, as it runs."""
        if self._core is None:
            raise NotRunningError(
                f"the core of tile ({self.tile.column}, {self.tile.row}) has not run machine code yet: cores of a "
                "package of others do, from its first run on; those of a design are run as what they were compiled from"
            )
        return self._core

    @property
    def address(self) -> int:
        """Of the bundle that comes next."""
        return self.core.pc

    @property
    def time(self) -> int:
        """The cycle of the device that the core has reached."""
        return self._now()

    def registers(self, *names: str) -> dict[str, RegisterValue]:
        """Values of registers: whole numbers, bytes of vectors, parts of modifiers; without names of all units."""
        core = self.core
        return {name: core.register(name) for name in names} if names else dict(core.units)

    def set_register(self, name: str, value: RegisterValue) -> None:
        """Give a register another value, of bytes for vectors."""
        self.core.set_register(name, value)

    def describe(self) -> str:
        """The place, the bundle that comes next, and the registers that are not 0."""
        core = self.core
        shown = [
            f"{name:>10} = {value:#x}" if isinstance(value, int) else f"{name:>10} = 0x{value[::-1].hex()}"
            for name, value in core.units.items()
            if (any(value) if isinstance(value, bytes) else value)
        ]
        return "\n".join(
            [f"cycle {self.time}, {self.position()}: {decode_bundle(core.program, core.pc, core.isa)}", *shown]
        )

    def position(self) -> str:
        """The place in the program: the function and the line as far as they are known."""
        name, line = self.places.name(self.address) or f"{self.address:#x}", self.places.line(self.address)
        return name if line is None else f"{name} ({line.file}:{line.line})"

    # ---- counts ----

    @property
    def issues(self) -> Counter[int]:
        """How often the bundle at each address was issued."""
        return self._issues + (self._core.issues if self._core is not None else Counter())

    @property
    def spent(self) -> Counter[int]:
        """Cycles from each bundle to the next."""
        return self._spent + (self._core.spent if self._core is not None else Counter())

    def profile(self) -> list[FunctionCycles]:
        """Cycles by function, most first. Where no symbols are known, functions begin where calls lead."""
        return profile_of(self.issues, self.spent, self._functions())

    def coverage(self) -> ProgramCoverage:
        """The program, and how much of it was issued."""
        return ProgramCoverage(self.core.program, self.issues, self._functions(), self.core.isa)

    def _functions(self) -> ProgramPlaces:
        if self.places.functions or self._core is None:
            return self.places
        return ProgramPlaces.of_code(self._core.program, self._core.isa)

    # ---- in the machine ----

    def start(self, program: bytes, ports: MachineCodePorts) -> ObservedCore:
        """The core of a tile that begins to run a program."""
        if self._core is not None:
            self._issues, self._spent = self.issues, self.spent
        self._ports, self._let_go = ports, -1
        self._core = ObservedCore(program, ports, clock=self._now, halts=self._halts, show=self.show)
        return self._core

    def finish(self) -> None:
        """Show what a run that is over has left to show."""
        if self._core is not None:
            self._core.finish()

    def _now(self) -> int:
        return 0 if self._ports is None else self._ports.machine.engine.now + self._ahead()

    def _ahead(self) -> int:
        """Cycles that the core has gone on while all others stand."""
        return 0 if self._ports is None or self._core is None else self._core.elapsed - self._ports.turn_began

    def _halts(self) -> bool:
        """Halt before a bundle if it is time; true if others have to come as far first."""
        core = self.core
        if core.cycle == self._let_go:  # it has to wait, and is asked for again
            return False
        is_due = self._steps == 0
        if is_due or core.pc in self._actions:
            if self._ahead():
                return True
            self._halt(self._step_action if is_due else self._actions[core.pc])
        self._let_go = core.cycle
        if self._steps is not None:
            self._steps -= 1
        return False

    def _halt(self, action: HaltAction | None) -> None:
        self._steps = None
        address = self.core.pc
        place = self.places.name(address) or f"{address:#x}"
        self.halts.append(CoreHalt(self._now(), address, place, dict(self.core.units)))
        if action is not None:
            action(self)


def program_position(places: ProgramPlaces, address: int) -> tuple[LocationAttr, str]:
    """An address by the line that it was compiled from, and in words: by its function, or as it is."""
    line, name = places.line(address), places.name(address)
    location = (
        UNKNOWN_LOC if line is None else FileLineColLoc(StringAttr(line.file), IntAttr(line.line), IntAttr(line.column))
    )
    return location, f"in {name}" if name else f"at {address:#x}"


def profile_of(issues: Counter[int], spent: Counter[int], places: ProgramPlaces) -> list[FunctionCycles]:
    """What was spent in each function, most first."""
    found = dict[str, list[int]]()
    for address in issues:
        row = found.setdefault(places.function(address) or f"{address:#x}", [0, 0])
        row[0] += spent[address]
        row[1] += issues[address]
    made = [
        FunctionCycles(name, cycles, bundles, max(cycles - bundles, 0)) for name, (cycles, bundles) in found.items()
    ]
    return sorted(made, key=lambda it: (-it.cycles, it.function))
