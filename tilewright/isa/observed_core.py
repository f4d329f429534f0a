"""A core that is looked at while it runs: each bundle with the values that it writes, and how often it was issued.

It is the plain core, with eyes: what native code runs is not seen bundle by bundle.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tilewright.isa.bundles import CoreBundle, decode_bundle
from tilewright.isa.core import CorePorts, MachineCore
from tilewright.isa.registers import CoreRegister
from tilewright.isa.tables import InstructionSet

LONGEST_FLIGHT = 16
"""Cycles after which all that a bundle writes is written."""


class RegisterWrite(NamedTuple):
    """A part of a register that got a value, so many cycles behind the bundle that is the cause."""

    unit: str
    value: Any
    after: int

    def __str__(self) -> str:
        value = f"{self.value:#x}" if isinstance(self.value, int) else f"0x{self.value[::-1].hex()}"
        return f"{self.unit} = {value}" + (f" (after {self.after})" if self.after > 1 else "")


@dataclass
class IssuedBundle:
    """A bundle as it was issued, and what came of it."""

    time: int
    address: int
    bundle: CoreBundle
    cycle: int
    """By the core's own count, which stands still when the core does."""
    writes: list[RegisterWrite] = field(default_factory=list[RegisterWrite])
    stores: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])

    def effects(self) -> str:
        """Values that it wrote, to registers and to memory."""
        stored = [f"[{at:#x}] = 0x{data[::-1].hex()}" for at, data in self.stores]
        return ", ".join([*map(str, self.writes), *stored])


class _SeenUnits(dict[str, Any]):
    """Registers that tell of being written."""

    def __init__(self, units: dict[str, Any], tell: Callable[[str, Any], None]):
        super().__init__(units)
        self._tell = tell

    def __setitem__(self, unit: str, value: Any) -> None:
        super().__setitem__(unit, value)
        self._tell(unit, value)


class _SeenPorts:
    """Surroundings that tell of stores."""

    def __init__(self, ports: CorePorts, tell: Callable[[int, bytes], None]):
        self._ports, self._tell = ports, tell

    def store(self, address: int, data: bytes) -> None:
        self._tell(address, data)
        self._ports.store(address, data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ports, name)


class ObservedCore(MachineCore):
    """A core whose bundles are counted, and told to `show` once all is written that they write."""

    def __init__(
        self,
        program: bytes,
        ports: CorePorts,
        isa: InstructionSet | None = None,
        *,
        clock: Callable[[], int] | None = None,
        halts: Callable[[], bool] | None = None,
        show: Callable[[IssuedBundle], None] | None = None,
    ):
        """`clock` tells the time, which is the core's own cycle without it; a core that `halts` has to wait."""
        super().__init__(program, ports, isa)
        self.issues = Counter[int]()
        """How often the bundle at an address was issued."""
        self.spent = Counter[int]()
        """Cycles from a bundle to the next, by the address of the first: one, and those in which the core waited."""
        self._clock, self._halts, self._show = clock or (lambda: self.elapsed), halts, show
        self._last: tuple[int, int] | None = None
        self._has_ended = False
        self._decoded = dict[int, CoreBundle]()
        self._issuing: IssuedBundle | None = None
        self._open = deque[tuple[IssuedBundle, list[tuple[int, str]]]]()
        self._due = dict[tuple[int, str], IssuedBundle]()
        self._stores_due = dict[int, list[IssuedBundle]]()
        if show is not None:
            self.units = _SeenUnits(self.units, self._written)
            self.ports = _SeenPorts(ports, self._stored)

    def step(self) -> bool:
        if self._has_ended:
            moved = super().step()
            if self.is_done:
                self.finish()
            return moved
        if self._halts is not None and self._halts():
            return False
        address, time = self.pc, self._clock()
        if self._show is not None:
            self._expect(address, time)
        if not super().step():
            return False
        self._count(address, time)
        self._has_ended = any(it.row.meaning == ("done",) for it in self._bundle_at(address).instructions)
        self._issuing = None
        self._show_written(self.cycle - LONGEST_FLIGHT - 1)
        return True

    def finish(self) -> None:
        """Show what has not been shown, of a core that has ended or goes no further."""
        if self._last is not None:
            self.spent[self._last[0]] += 1
            self._last = None
        self._show_written(self.cycle)

    def _count(self, address: int, time: int) -> None:
        self.issues[address] += 1
        if self._last is not None:
            self.spent[self._last[0]] += time - self._last[1]
        self._last = address, time

    def _bundle_at(self, address: int) -> CoreBundle:
        if address not in self._decoded:
            self._decoded[address] = decode_bundle(self.program, address, self.isa)
        return self._decoded[address]

    def _expect(self, address: int, time: int) -> None:
        """Note what a bundle that is about to be issued will write, and when; one that had to wait is noted already."""
        if self._issuing is not None:
            self._issuing.time = time
            return
        made = self._issuing = IssuedBundle(time, address, self._bundle_at(address), self.cycle)
        expected = list[tuple[int, str]]()
        self._open.append((made, expected))
        for it in made.bundle.instructions:
            for operand in it.row.operands:
                register = it.operands[operand.letter] if operand.letter else operand.kind
                if operand.written is not None and isinstance(register, CoreRegister):
                    expected += [(self.cycle + operand.written, unit) for unit in register.units]
            if it.row.meaning[0] == "store":
                self._stores_due.setdefault(self.cycle + it.row.memory[-1], []).append(made)
        self._due.update(dict.fromkeys(expected, made))

    def _written(self, unit: str, value: Any) -> None:
        # the count of a hardware loop is no operand of the bundle that ends it
        cause = self._due.pop((self.cycle + 1, unit), self._issuing)
        if cause is not None:
            cause.writes.append(RegisterWrite(unit, value, self.cycle + 1 - cause.cycle if unit != "lc" else 1))

    def _stored(self, address: int, data: bytes) -> None:
        if waiting := self._stores_due.get(self.cycle + 1):
            waiting.pop(0).stores.append((address, data))
            if not waiting:
                del self._stores_due[self.cycle + 1]

    def _show_written(self, before: int) -> None:
        while self._show is not None and self._open and self._open[0][0].cycle <= before:
            made, expected = self._open.popleft()
            self._show(made)
            # not all that may be written is: of a modifier its counts alone
            for key in expected:
                self._due.pop(key, None)
