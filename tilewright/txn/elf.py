"""ELF files of 32 bits, in which cores get their programs and hosts get control code: structures and a reader.

Every part is checked before it is believed: `ContainerError` has the byte where a file is damaged. Source: the generic
ABI.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeVar

from tilewright.support.structure import Record, Span, i32, raw, u8, u16, u32

MAGIC = b"\x7fELF"
CLASS_AT, DATA_AT, ABI_AT, ABI_VERSION_AT = 4, 5, 7, 8
CLASS_32, LITTLE_ENDIAN = 1, 1
PAGED_ABI = 64
"""The OS/ABI of files whose control code is for another controller, which reads pages of its own instructions."""
TXN_ABI = 69
ABI_WITH_IMAGES = 0x10
"""The ABI version from which on a file has PDIs with it, and kernels, whose arguments are buffers from the first on."""
LOAD = 1
"""The type of a segment that is loaded."""


class SectionType(int, Enum):
    NULL = 0
    PROGBITS = 1
    SYMTAB = 2
    STRTAB = 3
    RELA = 4
    DYNAMIC = 6
    NOTE = 7
    NOBITS = 8
    REL = 9
    DYNSYM = 11
    GROUP = 17


@dataclass
class ElfHeader(Record):
    identity: bytes = raw(16, note="magic, class, byte order, version, OS/ABI, ABI version")
    type: int = u16(note="1 relocatable, 2 executable")
    machine: int = u16(note="264 is EM_AIE")
    version: int = u32(1)
    entry: int = u32()
    program_headers: int = u32(note="offset")
    section_headers: int = u32(note="offset")
    flags: int = u32(note="of cores: 1 AIE, 2 AIE2, 3 AIE2P")
    header_bytes: int = u16(52)
    program_header_bytes: int = u16(32)
    program_header_count: int = u16()
    section_header_bytes: int = u16(40)
    section_header_count: int = u16()
    names: int = u16(note="section with the names of sections")

    @property
    def os_abi(self) -> int:
        return self.identity[ABI_AT]

    @property
    def abi_version(self) -> int:
        return self.identity[ABI_VERSION_AT]


@dataclass
class ProgramHeader(Record):
    type: int = u32(LOAD)
    offset: int = u32()
    virtual_address: int = u32()
    physical_address: int = u32()
    file_bytes: int = u32()
    memory_bytes: int = u32()
    flags: int = u32(note="1 execute, 2 write, 4 read")
    alignment: int = u32()


@dataclass
class SectionRecord(Record):
    name: int = u32(note="offset in the section of names")
    type: int = u32()
    flags: int = u32()
    address: int = u32()
    offset: int = u32()
    size: int = u32()
    link: int = u32()
    info: int = u32()
    alignment: int = u32()
    entry_bytes: int = u32()


@dataclass
class SymbolRecord(Record):
    name: int = u32(note="offset in the linked section")
    value: int = u32()
    size: int = u32(note="in control code: bytes of the transfer, or the mask of a scalar")
    info: int = u8(note="binding << 4 | type")
    other: int = u8()
    section: int = u16()


@dataclass
class RelaRecord(Record):
    offset: int = u32()
    info: int = u32(note="symbol << 8 | type")
    addend: int = i32()


@dataclass
class RelRecord(Record):
    offset: int = u32()
    info: int = u32(note="symbol << 8 | type")


@dataclass
class DynamicRecord(Record):
    tag: int = i32()
    value: int = u32()


R = TypeVar("R", bound=Record)


def headers_of(span: Span, record: type[R], at: int, count: int, size: int, place: int, what: str) -> list[R]:
    """Headers of a file, one behind the other; `place` is where their size stands."""
    if count and size != record.size_bytes():
        raise span.error(place, f"{what} takes {record.size_bytes()} bytes, not {size}")
    return [record.read(span, at + size * number, f"{what} ({number} of {count})") for number in range(count)]


@dataclass(frozen=True)
class Section:
    """A section: its name, and what its header says."""

    number: int
    name: str
    header: SectionRecord
    at: int
    """Where in the file its header is."""


@dataclass(frozen=True)
class Symbol:
    name: str
    size: int
    section: int


@dataclass(frozen=True)
class Relocation:
    """Something to be done to the bytes at an offset of the symbol's section."""

    offset: int
    type: int
    symbol: Symbol
    addend: int
    at: int
    """Where in the file it is."""


class Elf:
    """An ELF file, read as far as it is asked for."""

    def __init__(self, data: bytes):
        self.span = Span(data)
        self.header = ElfHeader.read(self.span, 0, "the ELF header")
        identity = self.header.identity
        if not identity.startswith(MAGIC):
            raise self.span.error(0, "no ELF file")
        if identity[CLASS_AT] != CLASS_32:
            raise self.span.error(CLASS_AT, "a 64-bit ELF file: those for cores and controllers have 32")
        if identity[DATA_AT] != LITTLE_ENDIAN:
            raise self.span.error(DATA_AT, "a big-endian ELF file: those for cores and controllers are little-endian")

    @cached_property
    def segments(self) -> list[ProgramHeader]:
        header = self.header
        return headers_of(self.span, ProgramHeader, header.program_headers, header.program_header_count,
                          header.program_header_bytes, 42, "a program header")  # fmt: skip

    @cached_property
    def sections(self) -> list[Section]:
        """All of them, in order; numbers in the file are places in this list."""
        header, span = self.header, self.span
        records = headers_of(span, SectionRecord, header.section_headers, header.section_header_count,
                             header.section_header_bytes, 46, "a section header")  # fmt: skip
        if records and header.names >= len(records):
            raise span.error(50, f"the names of sections are in section {header.names}, of {len(records)}")
        table = records[header.names] if records else SectionRecord()
        names = span.part(table.offset, table.size, "the names of sections")
        return [
            Section(number, _text(names, record.name, span, self._at(number)), record, self._at(number))
            for number, record in enumerate(records)
        ]

    def _at(self, number: int) -> int:
        return self.header.section_headers + number * self.header.section_header_bytes

    def contents(self, section: Section) -> Span:
        record = section.header
        # such a section may have a size, but has no bytes in the file
        if not has_bytes(record):
            return Span(b"", record.offset)
        return self.span.part(record.offset, record.size, f"section {section.name or section.number}")

    def relocations(self) -> Iterator[Relocation]:
        """The relocations of all sections that have some."""
        for section in self.sections:
            if section.header.type == SectionType.RELA:
                yield from self._relocations(section, self._symbols(self._linked(section)))

    def _relocations(self, section: Section, symbols: list[Symbol]) -> Iterator[Relocation]:
        for at, entry in self._entries(section, RelaRecord):
            if entry.info >> 8 >= len(symbols):
                raise self.span.error(at, f"a relocation refers to symbol {entry.info >> 8}, of {len(symbols)}")
            yield Relocation(entry.offset, entry.info & 0xFF, symbols[entry.info >> 8], entry.addend & 0xFFFFFFFF, at)

    def _symbols(self, table: Section) -> list[Symbol]:
        names = self.contents(self._linked(table))
        return [
            Symbol(_text(names, entry.name, self.span, at), entry.size, entry.section)
            for at, entry in self._entries(table, SymbolRecord)
        ]

    def _entries(self, section: Section, record: type[R]) -> Iterator[tuple[int, R]]:
        span, size = self.contents(section), record.size_bytes()
        if len(span) % size:
            raise self.span.error(section.at, f"{section.name} has {len(span)} bytes, which is no multiple of {size}")
        for at in range(0, len(span), size):
            yield span.start + at, record.read(span, at, f"an entry of {section.name}")

    def _linked(self, section: Section) -> Section:
        """The section that another one refers to: names of symbols, symbols of relocations."""
        link = section.header.link
        if link >= len(self.sections):
            raise self.span.error(section.at, f"{section.name} refers to section {link}, of {len(self.sections)}")
        return self.sections[link]


def has_bytes(header: SectionRecord) -> bool:
    return header.type not in (SectionType.NULL, SectionType.NOBITS)


def _text(names: Span, start: int, file: Span, at: int) -> str:
    """The name that begins at an offset of a section with names; `at` is where the offset stands."""
    # a name that begins at the very end is empty, which linkers write for nameless sections
    if start > len(names):
        raise file.error(at, f"a name begins at byte {start} of {len(names)}, or does not end")
    return Span(names.data + b"\0", names.start).name(start, "a name")
