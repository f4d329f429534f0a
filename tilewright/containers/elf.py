"""ELF files of 32 bits: programs of cores, and control code with what a host needs to load it.

Sources: the generic ABI for the structures; for control code, `symbol.h` and the ELF writers of aiebu, and
`xrt_elf.cpp` of XRT. Files are written anew with every part where its header says; `tilewright.txn.elf` reads what
runs of control code need from the same files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from tilewright import txn
from tilewright.containers.pdi import Pdi, is_pdi
from tilewright.containers.structure import (
    ContainerError,
    Content,
    Json,
    Opaque,
    RawContent,
    Record,
    Span,
    bytes_of,
    i32,
    latin_1,
    padded,
    raw,
    u8,
    u16,
    u32,
    words_of,
)

MAGIC = b"\x7fELF"
CLASS_AT, DATA_AT, ABI_AT = 4, 5, 7
CLASS_32, LITTLE_ENDIAN = 1, 1
RELOCATABLE = 1
EM_AIE = 264
ARCHITECTURES = {1: "aie", 2: "aie2", 3: "aie2p"}
"""By the flags of the header."""
CONTROL_ABIS = {64: "aie2ps", 69: "aie2", 70: "aie2ps"}
"""Controllers whose code a file has, by its OS/ABI."""
TXN_ABI = 69
CONFIG_VERSION = 0x10
"""The ABI version from which on a file has its PDIs with it."""
MOST_HEADERS = 1 << 16


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


LOAD = 1
SEGMENT_TYPES = {0: "NULL", 1: "LOAD", 2: "DYNAMIC", 3: "INTERP", 4: "NOTE", 6: "PHDR", 0x6474E551: "GNU_STACK"}
FUNCTION, OBJECT = 2, 1


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


@dataclass
class Records:
    """A section of structures of one kind."""

    entries: list[Record]

    def write(self) -> bytes:
        return b"".join(entry.write() for entry in self.entries)

    def to_json(self) -> Json:
        return [entry.to_json() for entry in self.entries]

    def opaque(self) -> Iterator[Opaque]:
        return iter(())


@dataclass
class StringTable:
    """A section of names."""

    texts: list[str]

    def write(self) -> bytes:
        return b"\0".join(map(latin_1, self.texts))

    def to_json(self) -> Json:
        return [text for text in self.texts if text]

    def opaque(self) -> Iterator[Opaque]:
        return iter(())


@dataclass
class WordContent:
    """A section of words: the numbers of sections in a group."""

    words: list[int]

    def write(self) -> bytes:
        return bytes_of(self.words)

    def to_json(self) -> Json:
        return self.words

    def opaque(self) -> Iterator[Opaque]:
        return iter(())


@dataclass
class Note:
    name: str
    type: int
    description: bytes


@dataclass
class Notes:
    notes: list[Note]

    def write(self) -> bytes:
        return b"".join(self._write(note) for note in self.notes)

    def _write(self, note: Note) -> bytes:
        name = note.name.encode("latin-1") + b"\0"
        head = bytes_of([len(name), len(note.description), note.type])
        return head + padded(name, 4) + padded(note.description, 4)

    def to_json(self) -> Json:
        return [vars(note) | {"description": note.description.hex()} for note in self.notes]

    def opaque(self) -> Iterator[Opaque]:
        return iter(())


@dataclass
class ControlText:
    """A section with a TXN stream."""

    stream: txn.Stream

    def write(self) -> bytes:
        return txn.encode(self.stream).astype("<u4").tobytes()

    def to_json(self) -> Json:
        return {"operations": len(self.stream.opcodes), "version": "{}.{}".format(*self.stream.header.version)}

    def opaque(self) -> Iterator[Opaque]:
        return iter(())


@dataclass
class PdiContent:
    """A section with a PDI."""

    pdi: Pdi

    def write(self) -> bytes:
        return self.pdi.write()

    def to_json(self) -> Json:
        return self.pdi.to_json()

    def opaque(self) -> Iterator[Opaque]:
        return self.pdi.opaque()


@dataclass
class ElfSection:
    name: str
    header: SectionRecord
    content: Content


@dataclass
class Gap:
    """Bytes that are in no section."""

    offset: int
    data: bytes


@dataclass
class ElfFile:
    """A file: headers, and the content of each section."""

    header: ElfHeader
    segments: list[ProgramHeader]
    sections: list[ElfSection]
    gaps: list[Gap] = field(default_factory=list[Gap])
    size: int = 0

    @classmethod
    def read(cls, span: Span) -> ElfFile:
        """A whole file; `ContainerError` with the offset if it is none, or damaged."""
        header = ElfHeader.read(span, 0, "the ELF header")
        _check_identity(span, header)
        segments = _headers(span, ProgramHeader, header.program_headers, header.program_header_count,
                            header.program_header_bytes, 42, "a program header")  # fmt: skip
        records = _headers(span, SectionRecord, header.section_headers, header.section_header_count,
                           header.section_header_bytes, 46, "a section header")  # fmt: skip
        for number, segment in enumerate(segments):
            span.part(segment.offset, segment.file_bytes, f"segment {number}")
        made = cls(header, segments, [], size=len(span))
        made.sections = [*_sections(span, header, records)]
        made.gaps = [*_gaps(span, made)]
        return made

    @property
    def arch(self) -> str:
        return ARCHITECTURES.get(self.header.flags, f"flags {self.header.flags:#x}")

    @property
    def os_abi(self) -> int:
        return self.header.identity[ABI_AT]

    @property
    def abi_version(self) -> int:
        return self.header.identity[ABI_AT + 1]

    @property
    def kind(self) -> str:
        if self.header.machine == EM_AIE:
            return "core-object" if self.header.type == RELOCATABLE else "core-elf"
        return "config-elf" if self.abi_version >= CONFIG_VERSION else "control-elf"

    def write(self) -> bytes:
        made = bytearray(self.size)
        _place(made, 0, self.header.write())
        for number, segment in enumerate(self.segments):
            _place(made, self.header.program_headers + number * self.header.program_header_bytes, segment.write())
        for gap in self.gaps:
            _place(made, gap.offset, gap.data)
        for number, section in enumerate(self.sections):
            data = section.content.write()
            if has_bytes(section.header):
                section.header.size = len(data)
                _place(made, section.header.offset, data)
            _place(
                made, self.header.section_headers + number * self.header.section_header_bytes, section.header.write()
            )
        return bytes(made)

    def symbols(self) -> Iterator[tuple[ElfSection, str, SymbolRecord]]:
        """Each symbol with its table and its name."""
        for section in self.sections:
            if isinstance(section.content, Records) and section.header.type in _SYMBOLS:
                strings = self._bytes(section.header.link)
                for entry in section.content.entries:
                    assert isinstance(entry, SymbolRecord)
                    yield section, strings.name(entry.name, "the name of a symbol"), entry

    def _bytes(self, number: int) -> Span:
        if number >= len(self.sections):
            raise ContainerError(None, f"a reference to section {number}, of {len(self.sections)}")
        section = self.sections[number]
        return Span(section.content.write() + b"\0", section.header.offset)

    def relocations(self) -> int:
        return sum(
            len(section.content.entries)
            for section in self.sections
            if isinstance(section.content, Records) and section.header.type in (SectionType.RELA, SectionType.REL)
        )

    def kernels(self) -> list[dict[str, Json]]:
        """The kernels of a file for a whole context, each with its instances."""
        symbols = [(name, symbol) for section, name, symbol in self.symbols() if section.name == ".symtab"]
        return [
            {
                "name": kernel_name(name),
                "symbol": name,
                "instances": [
                    other
                    for other, it in symbols
                    # an instance has the number of its kernel's symbol in place of a section
                    if it.info & 0xF == OBJECT and it.section == number
                ],
            }
            for number, (name, symbol) in enumerate(symbols)
            if symbol.info & 0xF == FUNCTION
        ]

    def to_json(self) -> dict[str, Json]:
        sections = [
            it.header.to_json() | {"name": it.name, "type": _type_name(it.header.type), "content": it.content.to_json()}
            for it in self.sections
        ]
        found: dict[str, Json] = {"kind": self.kind, "entry": self.header.entry}
        if self.header.machine == EM_AIE:
            found["arch"] = self.arch
        else:
            found |= {"arch": CONTROL_ABIS.get(self.os_abi, f"OS/ABI {self.os_abi}"),
                      "version": f"{self.abi_version >> 4}.{self.abi_version & 0xF}"}  # fmt: skip
        found["segments"] = [
            {"address": it.virtual_address, "size": it.file_bytes, "memory_size": it.memory_bytes, "offset": it.offset,
             "flags": it.flags}
            for it in self.segments
            if it.type == LOAD
        ]  # fmt: skip
        found |= {"sections": sections, "relocations": self.relocations()}
        found["symbols"] = [
            {"name": name, "value": it.value, "size": it.size, "info": it.info, "section": it.section}
            for _, name, it in self.symbols()
            if name
        ]
        return found | ({"kernels": self.kernels()} if self.kind == "config-elf" else {})

    def opaque(self) -> Iterator[Opaque]:
        for section in self.sections:
            yield from section.content.opaque()
        for gap in self.gaps:
            yield Opaque("bytes in no section", len(gap.data))


_SYMBOLS = (SectionType.SYMTAB, SectionType.DYNSYM)


def is_elf(data: bytes) -> bool:
    return data.startswith(MAGIC)


def has_bytes(header: SectionRecord) -> bool:
    return header.type not in (SectionType.NULL, SectionType.NOBITS)


def kernel_name(symbol: str) -> str:
    """The name in a mangled one: `_Z7add_twoPc` is `add_two`."""
    found = re.match(r"_Z(\d{1,4})", symbol)
    return symbol[found.end() : found.end() + int(found[1])] if found else symbol


def _type_name(number: int) -> str | int:
    return SectionType(number).name if number in SectionType._value2member_map_ else number


def _check_identity(span: Span, header: ElfHeader) -> None:
    identity = header.identity
    if not identity.startswith(MAGIC):
        raise span.error(0, "no ELF file")
    if identity[CLASS_AT] != CLASS_32:
        raise span.error(CLASS_AT, "an ELF file of 64 bits: those for cores and controllers have 32")
    if identity[DATA_AT] != LITTLE_ENDIAN:
        raise span.error(DATA_AT, "a big-endian ELF file: those for cores and controllers are little-endian")
    if header.machine != EM_AIE and identity[ABI_AT] not in CONTROL_ABIS:
        raise span.error(18, f"an ELF file for machine {header.machine}: neither a core's (264) nor control code")


def _headers(span: Span, record: type[R], at: int, count: int, size: int, place: int, what: str) -> list[R]:
    if count and size != record.size_bytes():
        raise span.error(place, f"{what} takes {record.size_bytes()} bytes, not {size}")
    return [record.read(span, at + size * number, what) for number in range(count)]


def _sections(span: Span, header: ElfHeader, records: list[SectionRecord]) -> Iterator[ElfSection]:
    if records and header.names >= len(records):
        raise span.error(50, f"the names of sections are in section {header.names}, of {len(records)}")
    table = records[header.names] if records else SectionRecord()
    names = span.part(table.offset, table.size, "the names of sections")
    names = Span(names.data + b"\0", names.start)  # a name may begin at the very end, where linkers write nameless ones
    for number, record in enumerate(records):
        at = header.section_headers + number * header.section_header_bytes
        if record.name >= len(names):
            raise span.error(at, f"a name at byte {record.name} of {len(names) - 1}")
        name = names.name(record.name, "the name of a section")
        if not has_bytes(record):
            yield ElfSection(name, record, RawContent(b"", "nothing"))
            continue
        data = span.part(record.offset, record.size, f"section {name or number}")
        yield ElfSection(name, record, _content(name, record, data, header))


def _content(name: str, record: SectionRecord, span: Span, header: ElfHeader) -> Content:
    """The content of a section; bytes that are not read further where it is nothing that we know."""
    reader = _READERS.get(record.type)
    if reader is not None:
        made = reader(span)
        return made if made.write() == span.data else RawContent(span.data, f"section {name}")
    is_control = header.machine != EM_AIE
    if is_control and is_pdi(span.data):
        return PdiContent(Pdi.read(span))
    if is_control and header.identity[ABI_AT] == TXN_ABI and name.startswith((".ctrltext", ".preempt")):
        try:
            made = ControlText(txn.decode(np.frombuffer(span.data, dtype="<u4") if len(span) % 4 == 0 else span.data))
        except txn.TxnError as error:
            raise span.error(error.offset or 0, f"{name}: {error.reason}") from None
        return made if made.write() == span.data else RawContent(span.data, f"section {name}")
    return RawContent(span.data, _kind(name, record, is_control))


def _kind(name: str, record: SectionRecord, is_control: bool) -> str:
    """What bytes are that are kept as they are."""
    if is_control:
        return f"control code's {re.sub(r'[.]?[0-9]+', '', name) or 'nameless section'}"
    if name.startswith((".debug", ".comment", ".llvm", ".stack", ".note")) or record.type not in (1, 14, 15):
        return "debugging and compiler's notes"
    return "machine code" if record.flags & 4 else "data"


def _records(record: type[R]) -> Callable[[Span], Content]:
    def read(span: Span) -> Content:
        size = record.size_bytes()
        if len(span) % size:
            raise span.error(0, f"{len(span)} bytes are no whole number of entries of {size}")
        return Records([record.read(span, at, "an entry") for at in range(0, len(span), size)])

    return read


def _read_strings(span: Span) -> Content:
    return StringTable(span.data.decode("latin-1").split("\0"))


def _read_words(span: Span) -> Content:
    if len(span) % 4:
        raise span.error(0, f"{len(span)} bytes are no whole number of words")
    return WordContent(words_of(span.data))


def _read_notes(span: Span) -> Content:
    found, at = list[Note](), 0
    while at < len(span):
        name_bytes, size, kind = words_of(span.bytes(at, 12, "a note"))
        name = span.bytes(at + 12, name_bytes, "the name of a note")
        at += 12 + len(name) + -len(name) % 4
        found.append(Note(name[:-1].decode("latin-1"), kind, span.bytes(at, size, "the content of a note")))
        at += size + -size % 4
    return Notes(found)


_READERS: dict[int, Callable[[Span], Any]] = {
    SectionType.SYMTAB: _records(SymbolRecord),
    SectionType.DYNSYM: _records(SymbolRecord),
    SectionType.STRTAB: _read_strings,
    SectionType.RELA: _records(RelaRecord),
    SectionType.REL: _records(RelRecord),
    SectionType.DYNAMIC: _records(DynamicRecord),
    SectionType.NOTE: _read_notes,
    SectionType.GROUP: _read_words,
}


def _gaps(span: Span, elf: ElfFile) -> Iterator[Gap]:
    """Bytes that are in no header and no section, unless they are zero."""
    header, at = elf.header, 0
    taken = [(0, header.size_bytes())]
    taken += [(header.program_headers, header.program_header_bytes * len(elf.segments))] if elf.segments else []
    taken += [(header.section_headers, header.section_header_bytes * len(elf.sections))] if elf.sections else []
    taken += [(it.header.offset, it.header.size) for it in elf.sections if has_bytes(it.header)]
    for offset, size in [*sorted(taken), (len(span), 0)]:
        if offset > at and any(span.data[at:offset]):
            yield Gap(at, span.data[at:offset])
        at = max(at, offset + size)


def _place(made: bytearray, at: int, data: bytes) -> None:
    if at + len(data) > len(made):
        made.extend(bytes(at + len(data) - len(made)))
    made[at : at + len(data)] = data
