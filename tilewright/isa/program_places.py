"""Places of a program: addresses by the functions that they are in, and by the lines that they were compiled from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from tilewright.errors import UnknownNameError, near_match
from tilewright.isa.listing import listed_bundles
from tilewright.isa.tables import InstructionSet
from tilewright.support.dwarf_lines import DwarfLine


class ProgramPlaces:
    """Functions of a program by their first addresses, and its lines where they are known."""

    def __init__(self, functions: Mapping[int, str] | None = None, lines: Iterable[DwarfLine] = ()):
        self.functions = dict(sorted((functions or {}).items()))
        self._starts = [*self.functions]
        self._lines = sorted(lines)
        self._line_starts = [it.address for it in self._lines]

    @classmethod
    def of_code(cls, program: bytes, isa: InstructionSet | None = None) -> ProgramPlaces:
        """For code without symbols: it begins a function where it begins, and where calls lead."""
        calls = {
            it.target
            for it in listed_bundles(program, isa=isa)
            if it.bundle is not None and it.target is not None
            if any(each.row.meaning[0] == "jl" for each in it.bundle.instructions)
        }
        return cls({at: f"{at:#x}" for at in calls | {0} if at < len(program)})

    def start(self, address: int) -> int | None:
        """The first address of the function that an address is in."""
        number = bisect_right(self._starts, address) - 1
        return self._starts[number] if number >= 0 else None

    def function(self, address: int) -> str:
        """The function that an address is in; empty if none begins before it."""
        start = self.start(address)
        return "" if start is None else self.functions[start]

    def name(self, address: int) -> str:
        """An address by the function at or before it; empty if there is none."""
        start = self.start(address)
        if start is None or start == address:
            return self.functions.get(address, "")
        return f"{self.functions[start]}+{address - start:#x}"

    def line(self, address: int) -> DwarfLine | None:
        """The line that the code at an address is of."""
        number = bisect_right(self._line_starts, address) - 1
        found = self._lines[number] if number >= 0 else None
        return found if found is not None and found.line else None

    def address(self, place: str | int) -> int:
        """The address of a function by its name; of an address itself."""
        if isinstance(place, int):
            return place
        for at, name in self.functions.items():
            if name == place:
                return at
        known = ", ".join(self.functions.values()) or "none: the program has no symbols, so give an address"
        raise UnknownNameError(f"no function {place!r}{near_match(place, self.functions.values())}; there are {known}")
