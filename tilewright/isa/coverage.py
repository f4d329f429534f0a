"""Coverage of a program: which of its bundles and instructions runs have issued, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tilewright.isa.listing import ListedBundle, listed_bundles
from tilewright.isa.program_places import ProgramPlaces
from tilewright.isa.tables import InstructionSet


class FunctionCoverage(NamedTuple):
    """How much of a function was issued."""

    function: str
    issued: int
    bundles: int


class ProgramCoverage:
    """The bundles of a program, and how often each was issued."""

    def __init__(
        self, program: bytes, issues: Mapping[int, int], places: ProgramPlaces, isa: InstructionSet | None = None
    ):
        """`issues` has counts by address. What lies behind the program in its memory is 0, and no part of it."""
        self.issues, self.places = issues, places
        end = max([len(program.rstrip(b"\0")), *(at + 1 for at in issues)], default=0)
        self.listed = [it for it in listed_bundles(program, isa=isa) if it.address < end]

    @property
    def bundles(self) -> list[ListedBundle]:
        """Of the program; bytes that are no instructions are left out."""
        return [it for it in self.listed if it.bundle is not None]

    def functions(self) -> list[FunctionCoverage]:
        """Coverage by function, in the order of addresses."""
        rows = dict[str, list[int]]()
        for it in self.bundles:
            row = rows.setdefault(self.places.function(it.address), [0, 0])
            row[0] += it.address in self.issues
            row[1] += 1
        return [FunctionCoverage(name, *row) for name, row in rows.items()]

    def instructions(self) -> Counter[str]:
        """How often each instruction of the program was issued, by the name of its row; nothing but waiting is none."""
        found = Counter[str]()
        for it in self.bundles:
            for each in it.bundle.instructions if it.bundle is not None else ():
                if each.row.meaning != ("nop",):
                    found[each.row.record] += self.issues.get(it.address, 0)
        return found

    def summary(self) -> str:
        """Shares of bundles and of instructions, in a line."""
        bundles, instructions = self.bundles, self.instructions()
        issued = sum(it.address in self.issues for it in bundles)
        seen = sum(bool(count) for count in instructions.values())
        share = 100 * issued / max(len(bundles), 1)
        return (
            f"{issued} of {len(bundles)} bundles issued ({share:.0f} %), {seen} of {len(instructions)} instructions of "
            "the program"
        )

    def lines(self) -> Iterator[str]:
        """The program, each bundle behind the number of its issues; what was never issued has a mark."""
        for it in self.listed:
            if it.address in self.places.functions:
                yield f"{self.places.functions[it.address]}:"
            count = self.issues.get(it.address, 0)
            yield f"{f'{count:,}' if count else '####':>14}  {it.address:6x}  {it.text}"
