"""Programs of cores in a container, as listings of their machine code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import LocatedError

if TYPE_CHECKING:
    from tilewright.containers import Cdo, Container, ElfFile
    from tilewright.isa.program_places import ProgramPlaces
    from tilewright.support.dwarf_lines import DwarfLine


@dataclass
class ListedProgram:
    """Machine code that lies together, and the symbols in it."""

    name: str
    """For people: the core, or the section."""
    architecture: str
    address: int
    data: bytes
    symbols: dict[int, str] = field(default_factory=dict[int, str])
    lines: list[DwarfLine] = field(default_factory=list["DwarfLine"])
    """Where code comes from, where the file says it."""
    place: tuple[int, int] | None = None
    """Column and row of the core, where an image says it."""


def disassembly(file: str, container: Container) -> list[ListedProgram]:
    """All machine code of a container; an error if there is none, or none that is known here."""
    from tilewright.isa.tables import ARCHITECTURES
    from tilewright.support.structure import ContainerError

    try:
        found = [*programs(container)]
    except ContainerError as error:
        raise error.with_file(file) from None
    if not found:
        raise LocatedError(f"{file}: error: no program of a core is in it")
    unknown = sorted({it.architecture for it in found} - {*ARCHITECTURES})
    if unknown:
        what = f"machine code of {', '.join(unknown)}: known are the instructions of {', '.join(ARCHITECTURES)}"
        raise LocatedError(f"{file}: error: {what}")
    return found


def lines(program: ListedProgram) -> Iterator[str]:
    """A program for people."""
    from tilewright.ir.escapes import visible
    from tilewright.isa.listing import listing
    from tilewright.isa.tables import instruction_set

    yield f"{visible(program.name)}, {len(program.data)} bytes of {program.architecture}"
    yield from listing(program.data, program.address, places(program), instruction_set(program.architecture))


def places(program: ListedProgram) -> ProgramPlaces:
    """Functions and lines of a program, as people may read them."""
    from tilewright.ir.escapes import visible
    from tilewright.isa.program_places import ProgramPlaces

    names = {at: visible(name) for at, name in program.symbols.items()}
    return ProgramPlaces(names, (it._replace(file=visible(it.file)) for it in program.lines))


def to_json(program: ListedProgram) -> dict[str, Any]:
    """A program for other programs: a row for each bundle, instructions one by one."""
    from tilewright.isa.listing import listed_bundles
    from tilewright.isa.tables import instruction_set

    known = places(program)
    bundles = [
        {"address": it.address, "bytes": it.code.hex()}
        | ({} if it.bundle is None else {"instructions": [str(each) for each in it.bundle.instructions]})
        | ({} if it.target is None else {"target": it.target})
        | ({} if (line := known.line(it.address)) is None else {"file": line.file, "line": line.line})
        for it in listed_bundles(program.data, program.address, instruction_set(program.architecture))
    ]
    symbols = [{"address": at, "name": name} for at, name in sorted(program.symbols.items())]
    place = {} if program.place is None else {"core": list(program.place)}
    return {"name": program.name, "arch": program.architecture} | place | {"symbols": symbols, "bundles": bundles}


def programs(container: Container) -> Iterator[ListedProgram]:
    """Machine code in a container, and in the containers in it."""
    from tilewright.containers import Cdo, ElfFile, Pdi, Xclbin
    from tilewright.containers.aie_partition import AiePartition
    from tilewright.containers.elf import EM_AIE, PdiContent

    match container:
        case Xclbin():
            for section in container.sections:
                if isinstance(section.content, AiePartition):
                    for number, pdi in enumerate(section.content.pdis):
                        yield from _of_image(pdi.image.cdo, f"PDI {number}, ")
        case Pdi():
            yield from _of_image(container.cdo)
        case Cdo():
            yield from _of_image(container)
        case ElfFile() if container.header.machine == EM_AIE:
            yield from _of_elf(container)
        case ElfFile():
            for section in container.sections:
                if isinstance(section.content, PdiContent):
                    yield from _of_image(section.content.pdi.cdo, f"PDI in {section.name}, ")
        case _:
            pass


def _of_image(cdo: Cdo, prefix: str = "") -> Iterator[ListedProgram]:
    from tilewright.containers.effects import model_of, uses

    operations = cdo.operations()
    for tile, use in uses(operations, model_of(operations)).items():
        for start, data in _joined(use.program):
            yield ListedProgram(f"{prefix}core {tile}", _likely(data), start, data, place=(tile.column, tile.row))


@lru_cache(64)  # cores often have the same program
def _likely(data: bytes) -> str:
    """The architecture of code in an image, which does not say it: under another one's tables most of it is no code."""
    from tilewright.isa.listing import listed_bundles
    from tilewright.isa.tables import ARCHITECTURES, instruction_set

    code = data.rstrip(b"\0")
    unread = {
        name: sum(it.bundle is None for it in listed_bundles(code, isa=instruction_set(name))) for name in ARCHITECTURES
    }
    return min(ARCHITECTURES, key=unread.__getitem__)


def _joined(blocks: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Blocks that follow each other as one; what lies between others is not listed."""
    made = list[tuple[int, bytes]]()
    for at, data in sorted(blocks):
        if made and made[-1][0] + len(made[-1][1]) == at:
            made[-1] = made[-1][0], made[-1][1] + data
        else:
            made.append((at, data))
    return made


def _of_elf(elf: ElfFile) -> Iterator[ListedProgram]:
    from tilewright.containers.elf import RELOCATABLE

    is_object, found = elf.header.type == RELOCATABLE, elf.source_lines()
    for section, names in elf.code_sections():
        start = 0 if is_object else section.header.address
        yield ListedProgram(section.name, elf.arch, start, section.content.write(), names, found)
