"""ELF files of 32 bits: programs of cores, and control code with what a host needs to load it.

Structures are those of `txn.elf`, which runs of control code read too. Sources for control code: `symbol.h` and the ELF
writers of aiebu, and `xrt_elf.cpp` of XRT. Files are written anew with every part where its header says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tilewright import txn
from tilewright.containers.pdi import Pdi, is_pdi
from tilewright.support.dwarf_lines import DwarfLine, dwarf_lines
from tilewright.support.structure import (
    ContainerError,
    Content,
    Json,
    Opaque,
    RawContent,
    Record,
    Span,
    bytes_of,
    latin_1,
    padded,
    words_of,
)
from tilewright.txn.elf import (
    ABI_WITH_IMAGES,
    LOAD,
    MAGIC,
    PAGED_ABI,
    TXN_ABI,
    DynamicRecord,
    Elf,
    ElfHeader,
    ProgramHeader,
    RelaRecord,
    RelRecord,
    SectionRecord,
    SectionType,
    SymbolRecord,
    has_bytes,
)

RELOCATABLE = 1
EM_AIE = 264
ARCHITECTURES = {1: "aie", 2: "aie2", 3: "aie2p"}
"""By the flags of the header."""
CONTROL_ABIS = {PAGED_ABI: "aie2ps", TXN_ABI: "aie2", 70: "aie2ps"}
"""Controllers whose code a file has, by its OS/ABI."""
SEGMENT_TYPES = {0: "NULL", 1: "LOAD", 2: "DYNAMIC", 3: "INTERP", 4: "NOTE", 6: "PHDR", 0x6474E551: "GNU_STACK"}
FUNCTION, OBJECT = 2, 1
CODE_SYMBOLS = (0, OBJECT, FUNCTION)
"""Kinds of symbols that name places; others are the section itself and the file."""
EXECUTABLE = 4
"""In the flags of a section."""


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
        elf = Elf(span.data)
        header = elf.header
        if header.machine != EM_AIE and header.os_abi not in CONTROL_ABIS:
            raise span.error(18, f"an ELF file for machine {header.machine}: neither a core's (264) nor control code")
        for number, segment in enumerate(elf.segments):
            span.part(segment.offset, segment.file_bytes, f"segment {number}")
        made = cls(header, elf.segments, [], size=len(span))
        made.sections = [
            ElfSection(it.name, it.header, _content(it.name, it.header, elf.contents(it), header))
            for it in elf.sections
        ]
        made.gaps = [*_gaps(span, made)]
        return made

    @property
    def arch(self) -> str:
        return ARCHITECTURES.get(self.header.flags, f"flags {self.header.flags:#x}")

    @property
    def kind(self) -> str:
        if self.header.machine == EM_AIE:
            return "core-object" if self.header.type == RELOCATABLE else "core-elf"
        return "config-elf" if self.header.abi_version >= ABI_WITH_IMAGES else "control-elf"

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

    def code_sections(self) -> Iterator[tuple[ElfSection, dict[int, str]]]:
        """Sections of machine code, each with its symbols by address."""
        for number, section in enumerate(self.sections):
            if section.header.flags & EXECUTABLE and has_bytes(section.header) and section.header.size:
                names = dict[int, str]()
                for _, name, symbol in self.symbols():
                    if name and symbol.section == number and symbol.info & 0xF in CODE_SYMBOLS:
                        names.setdefault(symbol.value, name)
                yield section, names

    def source_lines(self) -> list[DwarfLine]:
        """Lines that code was compiled from, where the file says it. In an object their addresses are not known yet."""
        if self.header.type == RELOCATABLE:
            return []
        return dwarf_lines({it.name: it.content.write() for it in self.sections if it.name.startswith(".debug")})

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
            abi, version = self.header.os_abi, self.header.abi_version
            found |= {"arch": CONTROL_ABIS.get(abi, f"OS/ABI {abi}"), "version": f"{version >> 4}.{version & 0xF}"}
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


def kernel_name(symbol: str) -> str:
    """The name in a mangled one: `_Z7add_twoPc` is `add_two`."""
    found = re.match(r"_Z(\d{1,4})", symbol)
    return symbol[found.end() : found.end() + int(found[1])] if found else symbol


def _type_name(number: int) -> str | int:
    return SectionType(number).name if number in SectionType._value2member_map_ else number


def _content(name: str, record: SectionRecord, span: Span, header: ElfHeader) -> Content:
    """The content of a section; bytes that are not read further where it is nothing that we know."""
    if not has_bytes(record):
        return RawContent(b"", "nothing")
    reader = _READERS.get(record.type)
    if reader is not None:
        made = reader(span)
        return made if made.write() == span.data else RawContent(span.data, f"section {name}")
    is_control = header.machine != EM_AIE
    if is_control and is_pdi(span.data):
        return PdiContent(Pdi.read(span))
    if is_control and header.os_abi == TXN_ABI and name.startswith((".ctrltext", ".preempt")):
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
