"""Listings of programs: each bundle with its address, its bytes, and the place that it jumps to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.isa.bundles import CoreBundle, DecodeError, decode_bundle
from tilewright.isa.schedule import DELAY_SLOTS
from tilewright.isa.tables import InstructionSet

if TYPE_CHECKING:
    from tilewright.isa.program_places import ProgramPlaces

SMALLEST_BUNDLE = 2
"""Bundles begin at multiples of so many bytes."""
TARGETS = 16
"""What jumps, calls and returns lead to is at multiples of so many bytes (AIEMachineBlockPlacement.cpp of llvm-aie)."""
ADDRESS_OPERAND = "t"
"""The letter that rows have for an address in program memory."""
ALWAYS_JUMP = ("j", "ret")
"""Meanings of instructions that nothing goes on behind."""


@dataclass(frozen=True)
class ListedBundle:
    """A bundle in its place, or two bytes that are none."""

    address: int
    code: bytes
    bundle: CoreBundle | None
    target: int | None
    """Where a jump or call with a constant address leads."""
    is_filler: bool = False
    """Whether nothing leads here: it is behind a jump that is always taken, and before what jumps can lead to."""

    @property
    def text(self) -> str:
        return f".short {int.from_bytes(self.code, 'little'):#06x}" if self.bundle is None else str(self.bundle)


def listed_bundles(data: bytes, address: int = 0, isa: InstructionSet | None = None) -> Iterator[ListedBundle]:
    """All bytes as bundles; where there is no instruction, two bytes are passed over, and it goes on behind them.

    The same is done with filler that looks like the beginning of a bundle and would take bytes of the code behind it.
    """
    at = resumed = 0
    slots: int | None = None  # bundles until a jump shows
    while at < len(data):
        is_filler, bundle = at < resumed, _bundle(data, at, isa)
        if bundle is None or (is_filler and at + bundle.size > resumed):
            yield ListedBundle(address + at, data[at : at + SMALLEST_BUNDLE], None, None, is_filler)
            at += SMALLEST_BUNDLE
            continue
        yield ListedBundle(address + at, data[at : at + bundle.size], bundle, _target(bundle), is_filler)
        at += bundle.size
        if slots is not None:
            slots -= 1
        elif not is_filler and any(it.row.meaning[0] in ALWAYS_JUMP for it in bundle.instructions):
            slots = DELAY_SLOTS
        if slots == 0:
            slots, resumed = None, at + -(address + at) % TARGETS


def _bundle(data: bytes, at: int, isa: InstructionSet | None) -> CoreBundle | None:
    try:
        return decode_bundle(data, at, isa)
    except DecodeError:
        return None


def _target(bundle: CoreBundle) -> int | None:
    for it in bundle.instructions:
        value = it.operands.get(ADDRESS_OPERAND)
        if isinstance(value, int):
            return value
    return None


def listing(data: bytes, address: int, places: ProgramPlaces, isa: InstructionSet | None = None) -> Iterator[str]:
    """The lines of a listing, a line each for bundles, for the functions that begin at them, and for their sources."""
    last = None
    for it in listed_bundles(data, address, isa):
        if it.address in places.functions:
            yield f"{places.functions[it.address]}:"
        source = places.line(it.address)
        if source is not None and source[1:3] != last:
            yield f"// {source.file}:{source.line}"
            last = source[1:3]
        name = "" if it.target is None else places.name(it.target)
        comment = f"  // {name}" if name else ""
        yield f"{it.address:6x}  {it.code.hex(' '):47}  {it.text}{comment}"
