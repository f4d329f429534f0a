"""The parts of a container as files of their own. Names are ours: none comes from the container."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tilewright.containers import Container
from tilewright.containers.aie_partition import AiePartition
from tilewright.containers.cdo import Cdo
from tilewright.containers.documents import Document, Writing
from tilewright.containers.effects import model_of, uses
from tilewright.containers.elf import ControlText, ElfFile, PdiContent
from tilewright.containers.instructions import InstructionFile
from tilewright.containers.pdi import Pdi
from tilewright.containers.xclbin import Xclbin
from tilewright.support.structure import Content
from tilewright.txn.elf import has_bytes
from tilewright.txn.text import disassemble


class Part(NamedTuple):
    name: str
    data: bytes
    about: str


def parts(container: Container, prefix: str = "") -> Iterator[Part]:
    """What a container is made of."""
    match container:
        case Xclbin():
            yield from _xclbin(container)
        case Pdi():
            yield Part(f"{prefix}cdo.bin", container.cdo.write(), "the commands, as a CDO file")
            yield from _programs(container.cdo, prefix)
        case Cdo():
            yield from _programs(container, prefix)
        case ElfFile():
            yield from _elf(container)
        case InstructionFile():
            stream = container.stream()
            yield Part(
                "stream.txt", "".join(f"{line}\n" for line in disassemble(stream)).encode(), "the text of `txn dis`"
            )
            yield Part("words.bin", container.data(), "the words as bytes")


def _programs(cdo: Cdo, prefix: str) -> Iterator[Part]:
    operations = cdo.operations()
    for tile, use in uses(operations, model_of(operations)).items():
        if use.program:
            name = f"{prefix}core_{tile.column}_{tile.row}.program.bin"
            yield Part(name, use.image(), f"program memory of the core {tile}")


_SUFFIXES = {Writing.XML: "xml", Writing.OTHER: "txt"}


def _suffix(content: Content) -> str:
    match content:
        case Document():
            return _SUFFIXES.get(content.writing, "json")
        case Pdi() | PdiContent():
            return "pdi"
        case ControlText():
            return "txn"
        case _:
            return "bin"


def _xclbin(xclbin: Xclbin) -> Iterator[Part]:
    for number, section in enumerate(xclbin.sections):
        name = f"section_{number:02}_{section.kind_name.lower()}.{_suffix(section.content)}"
        yield Part(name, section.content.write(), f"section {section.kind_name}")
        if isinstance(section.content, AiePartition):
            for index, pdi in enumerate(section.content.pdis):
                yield Part(f"pdi_{index}.pdi", pdi.image.write(), f"PDI {pdi.uuid}")
                yield from parts(pdi.image, f"pdi_{index}.")


def _elf(elf: ElfFile) -> Iterator[Part]:
    for number, section in enumerate(elf.sections):
        if has_bytes(section.header):
            name = f"section_{number:02}.{_suffix(section.content)}"
            yield Part(name, section.content.write(), f"section {section.name}")
        if isinstance(section.content, PdiContent):
            yield from parts(section.content.pdi, f"section_{number:02}.")
