"""Relocatable object files as LLVM writes them, and the structures that they share with shared libraries.

64-bit little-endian ELF; names and numbers are those of the System V ABI, "Object Files".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple

from tilewright.errors import Error

MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
FILE_HEADER = Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = Struct("<IIQQQQIIQQ")
PROGRAM_HEADER = Struct("<IIQQQQQQ")
SYMBOL = Struct("<IBBHQQ")
RELOCATION = Struct("<QQq")
DYNAMIC_ENTRY = Struct("<qQ")

ET_REL, ET_DYN = 1, 3
EM_X86_64, EM_AARCH64 = 62, 183
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_HASH, SHT_DYNAMIC, SHT_DYNSYM = 1, 2, 3, 4, 5, 6, 11
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
KEPT_FLAGS = SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR
PT_LOAD, PT_DYNAMIC, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 0x6474E551, 0x6474E552
PF_X, PF_W, PF_R = 1, 2, 4
DT_NULL, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_SONAME = 0, 4, 5, 6, 10, 11, 14
PAGE_MASK = ~0xFFF


class LinkError(Error, ValueError):
    """An object file that no shared library can be made of here; says what is in the way."""


@dataclass(frozen=True)
class ObjectSymbol:
    """A name for a place in a section; section 0 is another library's."""

    name: str
    info: int
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class ObjectRelocation:
    """A place in a section that depends on where a symbol ends up."""

    offset: int
    type: int
    symbol: int
    addend: int


@dataclass
class ObjectSection:
    """A section of an object file; `number` is what symbols call it by."""

    number: int
    name: str
    type: int
    flags: int
    alignment: int
    data: bytes
    relocations: list[ObjectRelocation] = field(default_factory=list[ObjectRelocation])


@dataclass(frozen=True)
class ObjectFile:
    """What is in a relocatable object."""

    machine: int
    sections: list[ObjectSection]
    symbols: list[ObjectSymbol]


class SectionHeader(NamedTuple):
    """An entry of the table of sections, in the order of its fields."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_bytes: int


def read_object(data: bytes) -> ObjectFile:
    """Take a relocatable object apart."""
    if not data.startswith(MAGIC):
        raise LinkError("the object file is no 64-bit little-endian ELF file")
    file: tuple[int, ...] = FILE_HEADER.unpack_from(data)
    _, type, machine, _, _, _, table, _, _, _, _, _, count, names = file
    if type != ET_REL:
        raise LinkError("the ELF file is no relocatable object")
    headers = [SectionHeader(*SECTION_HEADER.unpack_from(data, table + SECTION_HEADER.size * n)) for n in range(count)]
    contents = [data[header.offset : header.offset + header.size] for header in headers]
    sections = [
        ObjectSection(number, _text(contents[names], header.name), header.type, header.flags, header.alignment, content)
        for number, (header, content) in enumerate(zip(headers, contents, strict=True))
    ]
    symbols = list[ObjectSymbol]()
    for header, content in zip(headers, contents, strict=True):
        if header.type == SHT_SYMTAB:
            symbols = [
                ObjectSymbol(_text(contents[header.link], name), info, section, value, size)
                for name, info, _, section, value, size in SYMBOL.iter_unpack(content)
            ]
        elif header.type == SHT_RELA:
            sections[header.info].relocations += [
                ObjectRelocation(offset, info & 0xFFFFFFFF, info >> 32, addend)
                for offset, info, addend in RELOCATION.iter_unpack(content)
            ]
    return ObjectFile(machine, sections, symbols)


def _text(strings: bytes, start: int) -> str:
    return strings[start : strings.index(0, start)].decode()


class Strings:
    """A string table that grows; each text gets the place where it begins."""

    def __init__(self) -> None:
        self.data = bytearray(1)

    def add(self, text: str) -> int:
        start = len(self.data)
        self.data += text.encode() + b"\0"
        return start


@dataclass(frozen=True)
class Relocator:
    """Computes a number from S + A and P, and puts its bits into the little-endian word at the place."""

    number: Callable[[int, int], int]
    insert: Callable[[int, int], int]
    word_bytes: int = 4
    limit_bits: int | None = None
    """The number has to fit this many bits with sign; None where only low bits of an address are meant."""

    def apply(self, data: bytearray, offset: int, target: int, place: int) -> None:
        number = self.number(target, place)
        if self.limit_bits is not None and not -(1 << self.limit_bits - 1) <= number < 1 << self.limit_bits - 1:
            raise LinkError(f"the distance {number} between code and data is too large for the machine's instructions")
        spot = slice(offset, offset + self.word_bytes)
        word = self.insert(int.from_bytes(data[spot], "little"), number)
        data[spot] = word.to_bytes(self.word_bytes, "little")


def _distance(target: int, place: int) -> int:
    return target - place


def _page_distance(target: int, place: int) -> int:
    return (target & PAGE_MASK) - (place & PAGE_MASK) >> 12


def _instructions(target: int, place: int) -> int:
    return target - place >> 2


def _in_page(scale: int) -> Callable[[int, int], int]:
    return lambda target, place: (target & ~PAGE_MASK) >> scale


def _bits(low: int, count: int) -> Callable[[int, int], int]:
    """Replaces some bits of a word."""
    mask = (1 << count) - 1 << low
    return lambda word, number: word & ~mask | number << low & mask


def _adr(word: int, number: int) -> int:
    """The two lowest bits of the number stand apart in ADR and ADRP."""
    return _bits(5, 19)(_bits(29, 2)(word, number), number >> 2)


_X86_64 = {
    2: Relocator(_distance, _bits(0, 32), limit_bits=32),  # R_X86_64_PC32
    4: Relocator(_distance, _bits(0, 32), limit_bits=32),  # R_X86_64_PLT32: nothing here needs a PLT
    24: Relocator(_distance, _bits(0, 64), word_bytes=8),  # R_X86_64_PC64
}
_AARCH64 = {
    260: Relocator(_distance, _bits(0, 64), word_bytes=8),  # R_AARCH64_PREL64
    261: Relocator(_distance, _bits(0, 32), limit_bits=32),  # R_AARCH64_PREL32
    274: Relocator(_distance, _adr, limit_bits=21),  # R_AARCH64_ADR_PREL_LO21
    275: Relocator(_page_distance, _adr, limit_bits=21),  # R_AARCH64_ADR_PREL_PG_HI21
    277: Relocator(_in_page(0), _bits(10, 12)),  # R_AARCH64_ADD_ABS_LO12_NC
    278: Relocator(_in_page(0), _bits(10, 12)),  # R_AARCH64_LDST8_ABS_LO12_NC
    282: Relocator(_instructions, _bits(0, 26), limit_bits=26),  # R_AARCH64_JUMP26
    283: Relocator(_instructions, _bits(0, 26), limit_bits=26),  # R_AARCH64_CALL26
    284: Relocator(_in_page(1), _bits(10, 12)),  # R_AARCH64_LDST16_ABS_LO12_NC
    285: Relocator(_in_page(2), _bits(10, 12)),  # R_AARCH64_LDST32_ABS_LO12_NC
    286: Relocator(_in_page(3), _bits(10, 12)),  # R_AARCH64_LDST64_ABS_LO12_NC
    299: Relocator(_in_page(4), _bits(10, 12)),  # R_AARCH64_LDST128_ABS_LO12_NC
}
# The position-independent ones that LLVM uses: "System V ABI, AMD64 Architecture Processor Supplement", table 4.9, and
# "ELF for the Arm 64-bit Architecture", section 5.7. S is the symbol's address, A the addend, P the place's address.
RELOCATORS: Mapping[int, Mapping[int, Relocator]] = {EM_X86_64: _X86_64, EM_AARCH64: _AARCH64}
