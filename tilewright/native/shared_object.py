"""A relocatable object -> a shared library, without a linker on the machine.

What comes in refers to nothing outside of itself and has no writable data, so a library of three parts does: read-only
data with the dynamic symbols, code, and the dynamic section. Nothing is left for the loader to relocate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from llvmlite import ir

from tilewright.native import elf
from tilewright.native.elf import RELOCATORS, LinkError, ObjectFile, ObjectSection, ObjectSymbol, Strings
from tilewright.native.values import I8, I32, I64, POINTER

MACHINES = {elf.EM_X86_64: "x86-64", elf.EM_AARCH64: "AArch64"}
PAGE_BYTES = {elf.EM_X86_64: 0x1000, elf.EM_AARCH64: 0x10000}  # the largest pages that kernels for them have
READ, EXECUTE, WRITE = elf.PF_R, elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W
PROGRAM_HEADERS = 6
ByteAt = Callable[[ir.IRBuilder, ir.Value], ir.Value]


@dataclass
class LibrarySection:
    """A section of the library; `address` and `offset` are known once everything has its size."""

    name: str
    type: int
    flags: int
    alignment: int
    data: bytearray
    link: str = ""
    info: int = 0
    entry_bytes: int = 0
    address: int = 0
    offset: int = 0


@dataclass
class LoadSegment:
    """Sections that are loaded together, with the same rights."""

    rights: int
    sections: list[LibrarySection]
    offset: int = 0
    address: int = 0
    end: int = field(default=0)

    @property
    def size(self) -> int:
        return self.end - self.offset


def link_shared(data: bytes, soname: str, exported: Collection[str]) -> bytes:
    """The shared library of an object file: `exported` are the functions that others can call."""
    source = elf.read_object(data)
    if source.machine not in MACHINES:
        known = ", ".join(MACHINES.values())
        raise LinkError(f"no shared library can be made for ELF machine {source.machine}; known are {known}")
    _check_self_contained(source)
    return _Library(source, soname, exported).link()


def _check_self_contained(source: ObjectFile) -> None:
    for section in source.sections:
        if section.data and section.flags & elf.SHF_WRITE and section.flags & elf.SHF_ALLOC:
            raise LinkError(f"section {section.name} is writable: only code and constants can be linked")
    used = {relocation.symbol for section in _kept(source) for relocation in section.relocations}
    missing = sorted(source.symbols[number].name for number in used if not source.symbols[number].section)
    if missing:
        raise LinkError(f"the object refers to what it does not define: {', '.join(missing)}")


def _kept(source: ObjectFile) -> Iterator[ObjectSection]:
    """The sections that are in memory at run time."""
    return (s for s in source.sections if s.flags & elf.SHF_ALLOC and s.type == elf.SHT_PROGBITS and s.data)


class _Library:
    def __init__(self, source: ObjectFile, soname: str, exported: Collection[str]):
        self.source, self.page = source, PAGE_BYTES[source.machine]
        self.loaded = {
            section.number: LibrarySection(
                section.name, section.type, section.flags & elf.KEPT_FLAGS, section.alignment, bytearray(section.data)
            )
            for section in _kept(source)
        }
        self.symbols = [symbol for symbol in source.symbols if symbol.name in exported and symbol.section]
        if absent := set(exported) - {symbol.name for symbol in self.symbols}:
            raise LinkError(f"the object does not define {', '.join(sorted(absent))}")
        self.strings = Strings()
        self.soname = self.strings.add(soname)
        self.names = [self.strings.add(symbol.name) for symbol in self.symbols]
        self._make_sections()

    def _make_sections(self) -> None:
        hashes = _hash_table([symbol.name for symbol in self.symbols])
        symbols = bytearray(elf.SYMBOL.size * (1 + len(self.symbols)))
        alloc = elf.SHF_ALLOC
        self.hash = LibrarySection(".hash", elf.SHT_HASH, alloc, 8, hashes, link=".dynsym", entry_bytes=4)
        self.dynsym = LibrarySection(".dynsym", elf.SHT_DYNSYM, alloc, 8, symbols, ".dynstr", 1, elf.SYMBOL.size)
        self.dynstr = LibrarySection(".dynstr", elf.SHT_STRTAB, alloc, 1, self.strings.data)
        flags = alloc | elf.SHF_WRITE
        # Its entries for now: addresses are not known yet, but its size is.
        entries = self._dynamic_entries()
        self.dynamic = LibrarySection(
            ".dynamic", elf.SHT_DYNAMIC, flags, 8, entries, ".dynstr", 0, elf.DYNAMIC_ENTRY.size
        )
        code = [section for section in self.loaded.values() if section.flags & elf.SHF_EXECINSTR]
        data = [section for section in self.loaded.values() if not section.flags & elf.SHF_EXECINSTR]
        self.segments = [
            LoadSegment(READ, [self.hash, self.dynsym, self.dynstr, *data]),
            LoadSegment(EXECUTE, code),
            LoadSegment(WRITE, [self.dynamic]),
        ]
        self.sections = [section for segment in self.segments for section in segment.sections]

    def link(self) -> bytes:
        end = self._place()
        self._relocate()
        self.dynsym.data[:] = b"".join([bytes(elf.SYMBOL.size), *self._symbol_entries()])
        self.dynamic.data[:] = self._dynamic_entries()
        return self._file(end)

    def _place(self) -> int:
        """Give everything its offset and address; both are the same modulo the size of a page. Returns the end."""
        offset = elf.FILE_HEADER.size + PROGRAM_HEADERS * elf.PROGRAM_HEADER.size
        skipped = 0
        for segment in self.segments:
            # The first one holds the headers too.
            segment.offset = 0 if segment is self.segments[0] else _aligned(offset, 16)
            segment.address = segment.offset + skipped
            offset = max(offset, segment.offset)
            for section in segment.sections:
                offset = _aligned(offset, section.alignment)
                section.offset, section.address = offset, offset + skipped
                offset += len(section.data)
            segment.end = offset
            # Segments with other rights begin on another page in memory, but not in the file.
            skipped += self.page
        return offset

    def _relocate(self) -> None:
        relocators = RELOCATORS[self.source.machine]
        for section in _kept(self.source):
            target = self.loaded[section.number]
            for relocation in section.relocations:
                relocator = relocators.get(relocation.type)
                if relocator is None:
                    machine = MACHINES[self.source.machine]
                    raise LinkError(
                        f"relocation type {relocation.type} of {machine} in {section.name} is not supported"
                    )
                meant = self._address(self.source.symbols[relocation.symbol]) + relocation.addend
                relocator.apply(target.data, relocation.offset, meant, target.address + relocation.offset)

    def _address(self, symbol: ObjectSymbol) -> int:
        return self.loaded[symbol.section].address + symbol.value

    def _symbol_entries(self) -> Iterator[bytes]:
        for name, symbol in zip(self.names, self.symbols, strict=True):
            number = 1 + self.sections.index(self.loaded[symbol.section])
            yield elf.SYMBOL.pack(name, symbol.info, 0, number, self._address(symbol), symbol.size)

    def _dynamic_entries(self) -> bytearray:
        entries = [
            (elf.DT_SONAME, self.soname),
            (elf.DT_HASH, self.hash.address),
            (elf.DT_STRTAB, self.dynstr.address),
            (elf.DT_SYMTAB, self.dynsym.address),
            (elf.DT_STRSZ, len(self.dynstr.data)),
            (elf.DT_SYMENT, elf.SYMBOL.size),
            (elf.DT_NULL, 0),
        ]
        return bytearray().join(elf.DYNAMIC_ENTRY.pack(*entry) for entry in entries)

    def _program_headers(self) -> Iterator[bytes]:
        writable = self.segments[-1]
        # The loader protects whole pages once it has written there, so all of the page has to be the segment's.
        protected = _aligned(writable.address + writable.size, self.page) - writable.address
        for segment in self.segments:
            memory = protected if segment is writable else segment.size
            yield _program_header(elf.PT_LOAD, segment.rights, segment, memory, self.page)
        yield _program_header(elf.PT_DYNAMIC, WRITE, writable, writable.size, 8)
        yield _program_header(elf.PT_GNU_RELRO, READ, writable, protected, 1)
        yield elf.PROGRAM_HEADER.pack(elf.PT_GNU_STACK, WRITE, 0, 0, 0, 0, 0, 16)

    def _file(self, end: int) -> bytes:
        names = Strings()
        starts = [names.add(section.name) for section in self.sections]
        table_name = names.add(".shstrtab")
        table = _aligned(end + len(names.data), 8)
        numbers = {section.name: number for number, section in enumerate(self.sections, 1)}
        headers = [bytes(elf.SECTION_HEADER.size)]
        for start, section in zip(starts, self.sections, strict=True):
            headers.append(_section_header(start, section, numbers.get(section.link, 0)))
        headers.append(elf.SECTION_HEADER.pack(table_name, elf.SHT_STRTAB, 0, 0, end, len(names.data), 0, 0, 1, 0))
        out = bytearray(table)
        out[: elf.FILE_HEADER.size] = self._file_header(table, len(headers))
        programs = b"".join(self._program_headers())
        out[elf.FILE_HEADER.size : elf.FILE_HEADER.size + len(programs)] = programs
        for section in self.sections:
            out[section.offset : section.offset + len(section.data)] = section.data
        out[end : end + len(names.data)] = names.data
        return bytes(out + b"".join(headers))

    def _file_header(self, section_table: int, sections: int) -> bytes:
        ident, size = elf.MAGIC.ljust(16, b"\0"), elf.FILE_HEADER.size
        fixed = ident, elf.ET_DYN, self.source.machine, 1, 0, size, section_table, 0, size
        tables = elf.PROGRAM_HEADER.size, PROGRAM_HEADERS, elf.SECTION_HEADER.size, sections, sections - 1
        return elf.FILE_HEADER.pack(*fixed, *tables)


def _aligned(number: int, alignment: int) -> int:
    return -(-number // alignment) * alignment


def _program_header(type: int, rights: int, segment: LoadSegment, memory: int, alignment: int) -> bytes:
    place = segment.offset, segment.address, segment.address
    return elf.PROGRAM_HEADER.pack(type, rights, *place, segment.size, memory, alignment)


def _section_header(name: int, section: LibrarySection, link: int) -> bytes:
    where = section.address, section.offset, len(section.data)
    rest = link, section.info, section.alignment, section.entry_bytes
    return elf.SECTION_HEADER.pack(name, section.type, section.flags, *where, *rest)


def _hash_table(names: Sequence[str]) -> bytearray:
    """The names by the ABI's hash: the first symbol of each bucket, then for each symbol the next one of its bucket."""
    buckets, chain = [0] * max(1, len(names)), [0] * (1 + len(names))
    for number, name in enumerate(names, 1):
        bucket = _hash(name) % len(buckets)
        # Number 0 ends a chain: it is the table's empty first symbol.
        chain[number], buckets[bucket] = buckets[bucket], number
    words = [len(buckets), len(chain), *buckets, *chain]
    return bytearray().join(word.to_bytes(4, "little") for word in words)


def _hash(name: str) -> int:
    number = 0
    for byte in name.encode():
        # 28 bits stay: the upper four are folded into lower ones.
        number = (number << 4) + byte
        high = number & 0xF0000000
        number = (number ^ high >> 24) & ~high
    return number


def define_memory_functions(module: ir.Module) -> None:
    """`memcpy` and `memset`, which LLVM calls for long copies: a library that needs no other one brings its own."""
    # LLVM knows not to make calls of a function out of the loop in the function of that very name.
    copy = ir.Function(module, ir.FunctionType(POINTER, [POINTER, POINTER, I64]), "memcpy")
    for pointer in copy.args[:2]:
        pointer.add_attribute("noalias")
    _fill(copy, lambda builder, index: builder.load(_byte(builder, copy.args[1], index), typ=I8))
    set_to = ir.Function(module, ir.FunctionType(POINTER, [POINTER, I32, I64]), "memset")
    _fill(set_to, lambda builder, index: builder.trunc(set_to.args[1], I8))


def _fill(function: ir.Function, byte_at: ByteAt) -> None:
    """Store a byte for each index below the last argument, then return the first."""
    function.attributes.add("nounwind")
    target, _, count = function.args
    entry, head, body, done = (function.append_basic_block(name) for name in ("entry", "head", "body", "done"))
    builder = ir.IRBuilder(entry)
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(I64)
    index.add_incoming(ir.Constant(I64, 0), entry)
    builder.cbranch(builder.icmp_unsigned("<", index, count), body, done)
    builder.position_at_end(body)
    builder.store(byte_at(builder, index), _byte(builder, target, index))
    index.add_incoming(builder.add(index, ir.Constant(I64, 1)), body)
    builder.branch(head)
    builder.position_at_end(done)
    builder.ret(target)


def _byte(builder: ir.IRBuilder, base: ir.Value, index: ir.Value) -> ir.Value:
    return builder.gep(base, [index], source_etype=I8)
