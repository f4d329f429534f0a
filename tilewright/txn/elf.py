"""ELF files of 32 bits: sections, symbols and relocations, each checked before it is believed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from struct import Struct

from tilewright.txn.stream import TxnError

MAGIC = b"\x7fELF"
CLASS_32, LITTLE_ENDIAN = 1, 1
NO_BITS, RELOCATIONS = 8, 4
IDENTITY_BYTES = 16
_HEADER = Struct(f"<{IDENTITY_BYTES}xHHIIIIIHHHHHH")
_SECTION = Struct("<10I")
_SYMBOL = Struct("<IIIBBH")
_RELOCATION = Struct("<IIi")


@dataclass(frozen=True)
class Section:
    """A section: what its header says."""

    number: int
    name: str
    type: int
    offset: int
    size: int
    link: int
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
    """An ELF file; `TxnError` with the byte where it is damaged."""

    def __init__(self, data: bytes):
        self.data = data
        fields = self._unpack(_HEADER, 0, "the ELF header")
        identity = data[:IDENTITY_BYTES]
        if identity[4] != CLASS_32:
            raise TxnError(4, "a 64-bit ELF file; control code comes in 32-bit ones")
        if identity[5] != LITTLE_ENDIAN:
            raise TxnError(5, "a big-endian ELF file; control code comes in little-endian ones")
        self.os_abi, self.abi_version = identity[7], identity[8]
        self._headers_at, self._header_bytes, self._count, self._names = fields[5], *fields[10:13]

    @cached_property
    def sections(self) -> list[Section]:
        """All of them, in order; numbers in the file are places in this list."""
        if self._count and self._header_bytes < _SECTION.size:
            raise TxnError(
                46, f"section headers of {self._header_bytes} bytes are too short, they take {_SECTION.size}"
            )
        raw = [self._section_header(number) for number in range(self._count)]
        if raw and self._names >= len(raw):
            raise TxnError(50, f"the names of sections are in section {self._names}, of {len(raw)}")
        names = self._bytes(raw[self._names][4], raw[self._names][5], self._at(self._names)) if raw else b""
        return [
            Section(number, _text(names, fields[0], self._at(number)), fields[1], fields[4], fields[5], fields[6],
                    self._at(number))
            for number, fields in enumerate(raw)
        ]  # fmt: skip

    def contents(self, section: Section) -> bytes:
        # Such a section has a size but no bytes in the file.
        return b"" if section.type == NO_BITS else self._bytes(section.offset, section.size, section.at)

    def relocations(self) -> Iterator[Relocation]:
        """The relocations of all sections that have some."""
        for section in self.sections:
            if section.type == RELOCATIONS:
                symbols = self._symbols(self._linked(section))
                yield from self._relocations(section, symbols)

    def _relocations(self, section: Section, symbols: list[Symbol]) -> Iterator[Relocation]:
        for at in _entries(section, len(self.contents(section)), _RELOCATION.size):
            offset, info, addend = self._unpack(_RELOCATION, at, "a relocation")
            if info >> 8 >= len(symbols):
                raise TxnError(at, f"a relocation refers to symbol {info >> 8}, of {len(symbols)}")
            yield Relocation(offset, info & 0xFF, symbols[info >> 8], addend & 0xFFFFFFFF, at)

    def _symbols(self, table: Section) -> list[Symbol]:
        names = self.contents(self._linked(table))
        found = list[Symbol]()
        for at in _entries(table, len(self.contents(table)), _SYMBOL.size):
            name, _, size, _, _, section = self._unpack(_SYMBOL, at, "a symbol")
            found.append(Symbol(_text(names, name, at), size, section))
        return found

    def _linked(self, section: Section) -> Section:
        """The section that another one refers to: names of symbols, symbols of relocations."""
        if section.link >= len(self.sections):
            raise TxnError(section.at, f"{section.name} refers to section {section.link}, of {len(self.sections)}")
        return self.sections[section.link]

    def _at(self, number: int) -> int:
        return self._headers_at + number * self._header_bytes

    def _section_header(self, number: int) -> tuple[int, ...]:
        return self._unpack(_SECTION, self._at(number), f"the header of section {number}, of {self._count}")

    def _bytes(self, offset: int, size: int, at: int) -> bytes:
        if offset + size > len(self.data):
            text = f"a section is at bytes {offset} to {offset + size}, the file has {len(self.data)}"
            raise TxnError(at, text)
        return self.data[offset : offset + size]

    def _unpack(self, layout: Struct, at: int, what: str) -> tuple[int, ...]:
        if at + layout.size > len(self.data):
            raise TxnError(min(at, len(self.data)), f"the file ends before the end of {what}")
        return layout.unpack_from(self.data, at)


def _entries(section: Section, size: int, each: int) -> range:
    if size % each:
        raise TxnError(section.at, f"{section.name} has {size} bytes, which is no multiple of {each}")
    return range(section.offset, section.offset + size, each)


def _text(names: bytes, start: int, at: int) -> str:
    """The name that begins at an offset of a section with names."""
    end = names.find(b"\0", start)
    # A name that begins at the very end is empty, which linkers write for nameless sections.
    if start > len(names) or (end < 0 and start < len(names)):
        raise TxnError(at, f"a name begins at byte {start} of {len(names)}, or does not end")
    return names[start : max(end, start)].decode("ascii", errors="replace")
