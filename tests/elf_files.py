"""ELF files with control code, made piece by piece, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import pack
from typing import NamedTuple

HEADER_BYTES, SECTION_BYTES = 52, 40
PROGBITS, STRTAB, RELA, DYNSYM = 1, 3, 4, 11


class Reloc(NamedTuple):
    """An address of a buffer for the words at an offset of a section."""

    section: str
    offset: int
    buffer: str
    type: int = 5
    addend: int = 0
    size: int = 0


class Names:
    """A section of names."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, name: str) -> int:
        at = len(self.data)
        self.data += name.encode() + b"\0"
        return at


def elf_file(
    contents: Mapping[str, bytes], relocations: Sequence[Reloc] = (), *, os_abi: int = 0x45, abi_version: int = 2
) -> bytes:
    """A file with these sections, and relocations of words in them."""
    numbers = {
        name: number for number, name in enumerate(["", *contents, ".dynstr", ".dynsym", ".rela.dyn", ".shstrtab"])
    }
    symbols, tables = Names(), b"\0" * 16
    entries = b""
    for number, it in enumerate(relocations, 1):
        tables += pack("<IIIBBH", symbols.add(it.buffer), 0, it.size, 17, 0, numbers[it.section])
        entries += pack("<III", it.offset, number << 8 | it.type, it.addend)
    rows = [(name, PROGBITS, data, 0) for name, data in contents.items()]
    rows.append((".dynstr", STRTAB, symbols.data, 0))
    rows.append((".dynsym", DYNSYM, tables, numbers[".dynstr"]))
    rows.append((".rela.dyn", RELA, entries, numbers[".dynsym"]))
    return _assemble(rows, os_abi, abi_version)


def _assemble(rows: Sequence[tuple[str, int, bytes, int]], os_abi: int, abi_version: int) -> bytes:
    names = Names()
    body, headers = b"", b"\0" * SECTION_BYTES
    for name, type, data, link in rows:
        body += b"\0" * (-len(body) % 4)
        headers += pack("<10I", names.add(name), type, 0, 0, HEADER_BYTES + len(body), len(data), link, 0, 4, 0)
        body += data
    at = names.add(".shstrtab")
    headers += pack("<10I", at, STRTAB, 0, 0, HEADER_BYTES + len(body), len(names.data), 0, 0, 1, 0)
    body += names.data
    identity = b"\x7fELF" + bytes([1, 1, 1, os_abi, abi_version]) + b"\0" * 7
    count = len(rows) + 2
    start = HEADER_BYTES + len(body)
    sizes = (HEADER_BYTES, 0, 0, SECTION_BYTES, count, count - 1)
    return identity + pack("<HHIIIIIHHHHHH", 2, 1, 1, 0, 0, start, 0, *sizes) + body + headers
