"""Control code for XRT as ELF files: instructions beside an xclbin, or whole kernels with their PDIs.

Sources: the preprocessor and the ELF writers of aiebu (`aie2_blob_preprocessor_input.cpp`, `elfwriter.cpp`), which lays
sections out with ELFIO: first those of segments, then the others, each at its own alignment. Lists are ordered by name,
as the maps are that aiebu keeps them in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import md5
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tilewright import txn
from tilewright.containers.elf import (
    FUNCTION,
    OBJECT,
    ElfFile,
    ElfSection,
    Note,
    Notes,
    Records,
    StringTable,
    WordContent,
)
from tilewright.containers.packaging import get, listed, mapping, name_in, number, text_in
from tilewright.containers.preemption import RESTORED, SAVED, preemption_code
from tilewright.device import DEVICES, DeviceName, TileType
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.layout import WORD_BYTES
from tilewright.support.structure import ContainerError, Content, RawContent, Record, latin_1, round_up
from tilewright.txn.codec import lay_out
from tilewright.txn.containers import (
    CONTROL_DATA,
    CONTROL_PACKET,
    CONTROL_TEXT,
    FIRST_ARGUMENT,
    PREEMPT_RESTORE,
    PREEMPT_SAVE,
    SCRATCHPAD,
    SCRATCHPAD_CONTROL,
    ControlCode,
    Patch,
    PatchKind,
    pdi_section,
)
from tilewright.txn.elf import (
    ABI_WITH_IMAGES,
    LOAD,
    MAGIC,
    TXN_ABI,
    DynamicRecord,
    ElfHeader,
    ProgramHeader,
    RelaRecord,
    SectionRecord,
    SectionType,
    SymbolRecord,
)
from tilewright.txn.stream import Words

INSTRUCTIONS_VERSION = 2
EXECUTABLE, NO_MACHINE = 2, 1
ALLOCATED, WRITABLE, EXECUTED = 2, 1, 4
READ, WRITE, EXECUTE = 4, 2, 1
PHDR, DYNAMIC = 6, 2
GLOBAL, WEAK = 1, 2
DT_RELA, DT_RELASZ = 7, 8
NT_UID, NT_PARTITION_SIZE = 4, 6
COMDAT = 1
CONTENT_ALIGNMENT, TABLE_ALIGNMENT, HEADERS_ALIGNMENT = 16, 8, 16
MOST_ARGUMENTS = 512
PACKET_HEADER_BYTES = 8
"""Between a place that a patch names and the first word of a control packet."""
MANGLED = {"char *": "Pc", "void *": "Pv", "int *": "Pi", "scalar": "i"}
"""Types of arguments in the name of a kernel."""


@dataclass(frozen=True)
class KernelInstance:
    """A way to run a kernel: its control code, and the control packets that this sends."""

    name: str
    code: bytes
    packets: bytes = b""
    buffers: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What is known of buffers, in the form that `aiebu-asm -j` takes."""


@dataclass(frozen=True)
class ConfigKernel:
    """A kernel with all that it loads."""

    name: str
    arguments: Sequence[str]
    """Their types."""
    pdis: Mapping[int, bytes]
    instances: Sequence[KernelInstance]

    @property
    def symbol(self) -> str:
        return f"_Z{len(self.name)}{self.name}{''.join(MANGLED[type] for type in self.arguments)}"


def instructions_elf(code: bytes, packets: bytes = b"", buffers: Mapping[str, Any] | None = None) -> ElfFile:
    """The file that a host loads in place of instruction words, beside an xclbin."""
    made = _ElfBuilder(INSTRUCTIONS_VERSION)
    made.add_codes(control_codes(KernelInstance("", code, packets, buffers or {}), FIRST_ARGUMENT, ()), "")
    return made.finish()


def config_elf(
    kernels: Sequence[ConfigKernel],
    columns: int | None = None,
    sections: Mapping[str, bytes] = MappingProxyType({}),
) -> ElfFile:
    """The file with which a host needs no xclbin: kernels, their PDIs and control codes.

    `columns` of the partition are those that control codes are made for, if they are not given. More `sections` come
    last; loaders leave them alone.
    """
    made = _ElfBuilder(ABI_WITH_IMAGES)
    made.add_symbol_table()
    widths, index = list[int](), 0
    for kernel in sorted(kernels, key=lambda it: it.symbol):
        owner = made.add_kernel_symbol(kernel.symbol, FUNCTION, 0)
        pdis = {pdi_section(id): data for id, data in kernel.pdis.items()}
        for name, data in sorted(pdis.items()):
            made.add_code(name, RawContent(data, "PDI"), is_text=True)
        for instance in sorted(kernel.instances, key=lambda it: it.name):
            widths.append(_decoded(instance.code).header.columns)
            symbol = made.add_kernel_symbol(instance.name, OBJECT, owner)
            members = made.add_codes(control_codes(instance, 0, kernel.pdis), f".{index}")
            made.add_group(f".group.{index}", [COMDAT, *members], symbol)
            index += 1
    width = columns if columns is not None else max(widths, default=0)
    notes = [_note(".note.xrt.configuration", NT_PARTITION_SIZE, width.to_bytes(4, "little"))]
    return made.finish(notes, sections)


def config_kernels(config: Mapping[str, Any], read: Callable[[str], bytes]) -> list[ConfigKernel]:
    """The kernels of a configuration as `aiebu-asm -t aie2_config` reads it; `read` gives the bytes of its files."""
    found = [_config_kernel(it, read) for it in listed(get(config, "xrt-kernels"), "xrt-kernels")]
    for symbol in {kernel.symbol for kernel in found}:
        if [kernel.symbol for kernel in found].count(symbol) > 1:
            raise ContainerError(None, f"two kernels are called {symbol!r}")
    return found


def _config_kernel(source: Mapping[str, Any], read: Callable[[str], bytes]) -> ConfigKernel:
    types = [text_in(it, "type") for it in listed(source.get("arguments", []), "arguments")]
    if unknown := [type for type in types if type not in MANGLED]:
        known = ", ".join(MANGLED)
        raise ContainerError(None, f"an argument of the type {unknown[0]!r:.60}; control code knows {known}")
    pdis = {number(get(it, "id"), "id"): read(text_in(it, "PDI_file")) for it in listed(source.get("PDIs", []), "PDIs")}
    instances = [_config_instance(it, read) for it in listed(source.get("instance", []), "instance")]
    if len({it.name for it in instances}) < len(instances):
        raise ContainerError(None, f"two instances of kernel {text_in(source, 'name')!r:.60} have one id")
    return ConfigKernel(name_in(source, "name"), types, pdis, instances)


def _config_instance(source: Mapping[str, Any], read: Callable[[str], bytes]) -> KernelInstance:
    from json import JSONDecodeError, loads

    packets, patches = text_in(source, "ctrl_packet_file", ""), text_in(source, "patch_info_file", "")
    buffers: Mapping[str, Any] = {}
    if patches:
        try:
            buffers = mapping(loads(read(patches)), "what is known of buffers")
        except (JSONDecodeError, UnicodeDecodeError, RecursionError):
            raise ContainerError(None, f"{patches!r:.200} is no JSON") from None
    return KernelInstance(
        name_in(source, "id"), read(text_in(source, "TXN_ctrl_code_file")), read(packets) if packets else b"", buffers
    )


def control_codes(instance: KernelInstance, first_argument: int, pdis: Iterable[int]) -> list[ControlCode]:
    """Sections of an instance, in the order of their relocations, each with what a host patches in it."""
    names, packet_patches = _buffers(instance, first_argument)
    found = [ControlCode(CONTROL_DATA, instance.packets, packet_patches)] if instance.packets else []
    stream = _decoded(instance.code)
    found.append(_control_code(CONTROL_TEXT, instance.code, stream, first_argument, names, {*pdis}))
    if txn.Opcode.PREEMPT in stream.groups:
        for name, saves in ((PREEMPT_SAVE, True), (PREEMPT_RESTORE, False)):
            found.append(_preemption(name, preemption_code(stream.header.columns, saves=saves), first_argument))
    return found


def _control_code(
    section: str, code: bytes, stream: txn.Stream, first_argument: int, names: Mapping[int, str], pdis: set[int]
) -> ControlCode:
    words = np.frombuffer(code, dtype="<u4").astype(np.uint32)
    patches = [*_patches(stream, words, first_argument, names, pdis)]
    return ControlCode(section, words.astype("<u4").tobytes(), patches)


def _preemption(section: str, code: bytes, first_argument: int) -> ControlCode:
    """Code that keeps the array in a buffer of the loader's, as large as all of its transfers."""
    names = {SAVED: SCRATCHPAD, RESTORED: SCRATCHPAD}
    made = _control_code(section, code, _decoded(code), first_argument, names, set())
    size = max(patch.addend + patch.size for patch in made.patches)
    return replace(made, patches=[replace(patch, size=size) for patch in made.patches])


def _decoded(code: bytes) -> txn.Stream:
    try:
        return txn.decode(code)
    except txn.TxnError as error:
        raise ContainerError(error.offset, f"the control code is no TXN stream: {error.reason}") from None


def _buffers(instance: KernelInstance, first_argument: int) -> tuple[dict[int, str], list[Patch]]:
    """What arguments are called where that is not their number, and patches of the control packets."""
    names, patches = dict[int, str](), list[Patch]()
    external = instance.buffers.get("external_buffers", {})
    for buffer in listed([*external.values()] if isinstance(external, Mapping) else external, "external_buffers"):
        argument = number(get(buffer, "xrt_id"), "xrt_id")
        own = str(argument + first_argument)
        is_packets = buffer.get("ctrl_pkt_buffer", False) in (True, 1, "1", "true")
        names[argument] = CONTROL_PACKET if is_packets else own
        for part in listed(buffer.get("coalesed_buffers", [buffer]), "coalesed_buffers"):
            addend = number(part.get("offset_in_bytes", 0), "offset_in_bytes")
            for place in listed(part.get("control_packet_patch_locations", []), "control_packet_patch_locations"):
                offset = number(get(place, "offset"), "offset") - PACKET_HEADER_BYTES
                patch = Patch(offset, PatchKind.CONTROL_PACKET_48, own, addend, 0)
                if offset < 0 or offset % WORD_BYTES or patch.end > len(instance.packets):
                    size = len(instance.packets)
                    raise ContainerError(None, f"a patch at byte {offset} of the control packets, which have {size}")
                patches.append(patch)
    return names, patches


class _Descriptor(NamedTuple):
    """Where a stream writes a descriptor: the byte of its first word, and the bytes that it moves."""

    at: int
    size: int


def _patches(
    stream: txn.Stream, words: Words, first_argument: int, names: Mapping[int, str], pdis: set[int]
) -> Iterator[Patch]:
    """Patches of a stream, in order. Address bits of descriptors in `words` are cleared: the host adds to them."""
    starts, _ = lay_out(stream)
    written = dict[int, _Descriptor]()
    for start, op in zip(starts.tolist(), stream.operations, strict=True):
        layout = stream.groups[op.opcode].layout
        match op.opcode:
            case txn.Opcode.BLOCKWRITE:
                first = start + layout.fixed_words
                for at in range(0, len(op.payload), DESCRIPTOR_WORDS):
                    size = int(op.payload[at]) * WORD_BYTES
                    written[op.address + at * WORD_BYTES] = _Descriptor((first + at) * WORD_BYTES, size)
            case txn.Opcode.DDR_PATCH:
                # the register is a descriptor's first or second word
                descriptor = written.get(op.address & ~0xF)
                if descriptor is None:
                    text = f"no block write before the address patch of {op.address:#x}"
                    raise ContainerError(start * WORD_BYTES, text)
                yield from _argument_patch(op, descriptor, words, first_argument, names)
            case txn.Opcode.LOADPDI:
                if op.id not in pdis:
                    known = ", ".join(map(str, sorted(pdis))) or "none"
                    text = f"PDI {op.id} is loaded, and is not among those that are given ({known})"
                    raise ContainerError(start * WORD_BYTES, text)
                at = (start + layout.fields["address"].word) * WORD_BYTES
                yield Patch(at, PatchKind.ADDRESS_64, pdi_section(op.id), 0, op.pdi_bytes)
            case txn.Opcode.CREATE_SCRATCHPAD:
                at = (start + layout.fields["address"].word) * WORD_BYTES
                yield Patch(at, PatchKind.ADDRESS_64, SCRATCHPAD_CONTROL, 0, op.scratchpad_bytes)
            case _:
                pass


DESCRIPTOR_WORDS = 8
"""Of the descriptors that addresses go into, those of shims and memory tiles."""
_NPU = DEVICES[DeviceName.npu2]
_PLACES = {
    (_NPU.registers(0, row).bds[bd] & 0xFFFFF) + WORD_BYTES * word: (kind, field)
    for row, kind in ((0, TileType.ShimNOCTile), (1, TileType.MemTile))
    for bd in range(_NPU.num_bds(0, row))
    for word, field in ((0, "buffer_length"), (1, "address"))
}
"""Which field of a descriptor an offset in a tile is; patches do not say the tile, and the offsets are different."""


def _argument_patch(
    op: txn.Operation, descriptor: _Descriptor, words: Words, first_argument: int, names: Mapping[int, str]
) -> Iterator[Patch]:
    if op.argument_index > MOST_ARGUMENTS:
        raise ContainerError(descriptor.at, f"a patch for argument {op.argument_index}; there are {MOST_ARGUMENTS}")
    argument, addend = str(op.argument_index + first_argument), op.argument_offset
    high = int(op.payload[0]) if len(op.payload) else 0  # the upper half of the offset, or padding
    kind, name = _PLACES.get(op.address & 0xFFFFF, (None, ""))
    if kind is TileType.ShimNOCTile and name == "address":
        at = descriptor.at // WORD_BYTES
        words[at + 1] &= 3
        words[at + 2] &= 0xFFFF0000
        if high:
            # more than an addend holds: it is what the address is added to
            words[at + 1] |= addend & ~3
            words[at + 2] |= high & 0xFFFF
            addend = 0
        buffer = names.get(op.argument_index, argument)
        yield Patch(descriptor.at, PatchKind.SHIM_DMA_48, buffer, addend, descriptor.size)
    elif kind is not None:
        layout = BD_LAYOUTS[kind].fields[name]
        yield Patch(descriptor.at + layout.word * WORD_BYTES, PatchKind.SCALAR_32, argument, addend, layout.mask)


def _note(name: str, type: int, description: bytes) -> tuple[str, Notes]:
    return name, Notes([Note("XRT", type, description)])


class _Names(StringTable):
    """A section of names to which more are added; none is shared."""

    def __init__(self) -> None:
        super().__init__(["", ""])
        self.size = 1

    def add(self, name: str) -> int:
        """Where the name begins."""
        at = self.size
        self.texts.insert(-1, name)
        self.size += len(latin_1(name)) + 1
        return at


class _ElfBuilder:
    """Sections and segments in order, and where they lie once all are known."""

    def __init__(self, version: int):
        identity = MAGIC + bytes([1, 1, 1, TXN_ABI, version])
        self.header = ElfHeader(identity.ljust(16, b"\0"), EXECUTABLE, NO_MACHINE, program_headers=52)
        self.names = _Names()
        self.sections = [ElfSection("", SectionRecord(), RawContent(b"", "nothing"))]
        self.segments = [ProgramHeader(PHDR, flags=READ)]
        self.loaded = list[int]()
        """The section of each segment but the first."""
        self.uid = md5(usedforsecurity=False)
        self.symbols: Records | None = None
        self.symbol_names: _Names | None = None
        self.dynamic_names: _Names | None = None
        self.dynamic_symbols, self.relocations = Records([]), Records([])
        self.dynamic_at = 0
        self._add(".shstrtab", SectionType.STRTAB, self.names, alignment=1)
        self.header.names = 1

    def _add(self, name: str, type: SectionType, content: Content, **fields: int) -> int:
        record = SectionRecord(self.names.add(name), type, **fields)
        self.sections.append(ElfSection(name, record, content))
        return len(self.sections) - 1

    def _add_segment(self, type: int, section: int, flags: int, alignment: int) -> None:
        self.segments.append(ProgramHeader(type, flags=flags, alignment=alignment))
        self.loaded.append(section)

    def add_code(self, name: str, content: Content, *, is_text: bool) -> int:
        self.uid.update(content.write())
        flags = ALLOCATED | (EXECUTED if is_text else WRITABLE)
        made = self._add(name, SectionType.PROGBITS, content, flags=flags, alignment=CONTENT_ALIGNMENT)
        # segments find their sections by name, so that those of a second kernel's PDIs are the first one's
        first = next(at for at, it in enumerate(self.sections) if it.name == name)
        self._add_segment(LOAD, first, READ | (EXECUTE if is_text else WRITE), CONTENT_ALIGNMENT)
        return made

    def add_codes(self, codes: Sequence[ControlCode], suffix: str) -> list[int]:
        """Sections with what is patched in them; their numbers."""
        numbers = {
            code.name: self.add_code(
                code.name + suffix, RawContent(code.data, code.name), is_text=code.name == CONTROL_TEXT
            )
            for code in sorted(codes, key=lambda it: it.name)
        }
        known = dict[tuple[int, str, int], int]()
        for code in codes:
            for patch in code.patches:
                self._add_patch(numbers[code.name], patch, known)
        return [*numbers.values()]

    def _add_patch(self, section: int, patch: Patch, known: dict[tuple[int, str, int], int]) -> None:
        if self.dynamic_names is None:
            self._add_dynamic_tables()
        assert self.dynamic_names is not None
        key = section, patch.buffer, patch.size
        if key not in known:
            known[key] = len(self.dynamic_symbols.entries)
            name = self.dynamic_names.add(patch.buffer)
            self.dynamic_symbols.entries.append(
                SymbolRecord(name, size=patch.size, info=GLOBAL << 4 | OBJECT, section=section)
            )
        addend = patch.addend - (1 << 32) if patch.addend >> 31 else patch.addend
        self.relocations.entries.append(RelaRecord(patch.offset, known[key] << 8 | patch.kind, addend))

    def _add_dynamic_tables(self) -> None:
        self.dynamic_names = _Names()
        names = self._add(".dynstr", SectionType.STRTAB, self.dynamic_names)
        self.dynamic_symbols.entries.append(SymbolRecord())
        tables = {"flags": ALLOCATED, "alignment": TABLE_ALIGNMENT}
        symbols = self._add(".dynsym", SectionType.DYNSYM, self.dynamic_symbols, link=names, info=1,
                            entry_bytes=SymbolRecord.size_bytes(), **tables)  # fmt: skip
        self.dynamic_at = self._add(".rela.dyn", SectionType.RELA, self.relocations, link=symbols,
                                    entry_bytes=RelaRecord.size_bytes(), **tables)  # fmt: skip

    def add_symbol_table(self) -> None:
        self.symbol_names, self.symbols = _Names(), Records([SymbolRecord()])
        names = self._add(".strtab", SectionType.STRTAB, self.symbol_names)
        self._add(".symtab", SectionType.SYMTAB, self.symbols, link=names, info=1, alignment=4,
                  entry_bytes=SymbolRecord.size_bytes())  # fmt: skip

    def add_kernel_symbol(self, name: str, type: int, owner: int) -> int:
        """The number of a new symbol, of a kernel or of an instance of one."""
        assert self.symbols is not None and self.symbol_names is not None
        entry = SymbolRecord(self.symbol_names.add(name), info=WEAK << 4 | type, section=owner)
        self.symbols.entries.append(entry)
        return len(self.symbols.entries) - 1

    def add_group(self, name: str, members: list[int], symbol: int) -> None:
        table = next(at for at, it in enumerate(self.sections) if it.name == ".symtab")
        self._add(name, SectionType.GROUP, WordContent(members), flags=ALLOCATED, link=table, info=symbol,
                  alignment=CONTENT_ALIGNMENT, entry_bytes=WORD_BYTES)  # fmt: skip

    def finish(
        self, notes: Iterable[tuple[str, Notes]] = (), sections: Mapping[str, bytes] = MappingProxyType({})
    ) -> ElfFile:
        if self.dynamic_names is not None:
            entries: list[Record] = [
                DynamicRecord(DT_RELA, self.dynamic_at),
                DynamicRecord(DT_RELASZ, len(self.relocations.write())),
            ]
            names = next(at for at, it in enumerate(self.sections) if it.name == ".dynstr")
            made = self._add(".dynamic", SectionType.DYNAMIC, Records(entries), flags=ALLOCATED, link=names,
                             alignment=TABLE_ALIGNMENT, entry_bytes=DynamicRecord.size_bytes())  # fmt: skip
            self._add_segment(DYNAMIC, made, READ | WRITE, TABLE_ALIGNMENT)
        for name, note in [*notes, _note(".note.xrt.UID", NT_UID, self.uid.digest())]:
            self._add(name, SectionType.NOTE, note, alignment=1)
        for name, data in sections.items():
            self._add(name, SectionType.PROGBITS, RawContent(data, f"section {name}"), alignment=TABLE_ALIGNMENT)
        self._lay_out()
        return ElfFile(self.header, self.segments, self.sections, size=0)

    def _lay_out(self) -> None:
        header = self.header
        header.program_header_count, header.section_header_count = len(self.segments), len(self.sections)
        headers = len(self.segments) * header.program_header_bytes
        first, *others = self.segments
        first.offset, first.file_bytes, first.memory_bytes = header.program_headers, headers, headers
        at = header.program_headers + headers
        in_segments = list(dict.fromkeys(self.loaded))
        rest = [section for section in range(1, len(self.sections)) if section not in in_segments]
        for section in [*in_segments, *rest]:
            record = self.sections[section].header
            record.size = len(self.sections[section].content.write())
            record.offset = round_up(at, max(record.alignment, 1))
            at = record.offset + record.size
        # ELFIO goes on to the next multiple even where it is at one
        header.section_headers = round_up(at + 1, HEADERS_ALIGNMENT)
        for segment, section in zip(others, self.loaded, strict=True):
            record = self.sections[section].header
            segment.offset, segment.file_bytes, segment.memory_bytes = record.offset, record.size, record.size
