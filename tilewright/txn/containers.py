"""Files with TXN streams: words as bytes or text, the assembler's text, or the ELF files that hosts load.

An ELF file has a control code in each section `.ctrltext*` (and those that save and restore the array for preemption),
and relocations that say which words get the addresses of which buffers. The facts are those of aiebu, which writes such
files, and of XRT's loader, which patches them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from tilewright.support.structure import ContainerError
from tilewright.txn.codec import as_words, decode, encode
from tilewright.txn.dpu import DpuSequence, is_dpu
from tilewright.txn.elf import ABI_AT, ABI_WITH_IMAGES, MAGIC, PAGED_ABI, Elf, Relocation, Section
from tilewright.txn.stream import Stream, TxnError, Words
from tilewright.txn.text import assemble
from tilewright.txn.word_files import is_assembly, read_words

CONTROL_TEXT, CONTROL_DATA, PACKETS = ".ctrltext", ".ctrldata", ".ctrlpkt."
PREEMPT_SAVE, PREEMPT_RESTORE = ".preempt_save", ".preempt_restore"
PREEMPTION = (PREEMPT_SAVE, PREEMPT_RESTORE)
BUFFER_SECTIONS = (CONTROL_DATA, PACKETS, ".pdi", ".pad")
FIRST_ARGUMENT = 3
"""The number that the first buffer of a kernel has among its arguments; before it are opcode, code and its size."""
ABI_WITH_PACKED_ADDENDS = 1
SCRATCHPAD, CONTROL_PACKET = "scratch-pad-mem", "control-packet"
SCRATCHPAD_CONTROL = "scratch-pad-ctrl"
"""The scratchpad that a stream asks for, as against the one that code for preemption saves the array in."""


class PatchKind(IntEnum):
    """How an address goes into words; numbers are types of relocations."""

    SCALAR_32 = 3
    CONTROL_PACKET_48 = 4
    SHIM_DMA_48 = 5
    ADDRESS_64 = 8


_FIRST_WORD = {PatchKind.CONTROL_PACKET_48: 2, PatchKind.SHIM_DMA_48: 1, PatchKind.ADDRESS_64: 0}
"""Which word after the patched place has the low half of the address."""
_HIGH_MASK = {PatchKind.CONTROL_PACKET_48: 0xFFFF, PatchKind.SHIM_DMA_48: 0xFFFF, PatchKind.ADDRESS_64: 0xFFFFFFFF}


def pdi_section(id: int) -> str:
    """The section with a PDI, which is also what patches call it."""
    return f".pdi.{id}"


@dataclass(frozen=True)
class Patch:
    """The address of a buffer, plus an offset, goes into the words at an offset of a section."""

    offset: int
    kind: PatchKind
    buffer: str
    """The number of an argument, in the loader's counting, or the name of a buffer that comes with the file."""
    addend: int
    size: int
    """Bytes of the buffer that are needed; for a scalar the bits that are replaced."""
    first: int = FIRST_ARGUMENT
    """The number that the loader has for the sequence's first argument."""

    @property
    def argument(self) -> int | None:
        """The number of the argument among the sequence's, if the buffer is one."""
        return int(self.buffer) - self.first if self.buffer.isdigit() else None

    @property
    def first_word(self) -> int:
        """The word of the section that gets the low half of the address, or the scalar."""
        return self.offset // 4 + _FIRST_WORD.get(self.kind, 0)

    @property
    def end(self) -> int:
        """Where, in the section, the words end that it changes."""
        return self.offset + 4 * (1 if self.kind is PatchKind.SCALAR_32 else _FIRST_WORD[self.kind] + 2)

    def apply(self, words: Words, address: int) -> None:
        """Add an address to what the words have."""
        at = self.offset // 4
        if self.kind is PatchKind.SCALAR_32:
            # For scalars the symbol's size is a mask, see `size`.
            value = int(words[at]) & ~self.size | address + self.addend & self.size
            words[at] = value & 0xFFFFFFFF
            return
        low, mask = self.first_word, _HIGH_MASK[self.kind]
        high = int(words[low + 1])
        total = (int(words[low]) | (high & mask) << 32) + address + self.addend
        # other fields of a descriptor share the word of the upper half
        words[low], words[low + 1] = total & 0xFFFFFFFF, high & ~mask | total >> 32 & mask


@dataclass(frozen=True)
class FileBuffer:
    """Bytes that come with a file and that the array reads from host memory: control packets, for instance."""

    data: bytes
    patches: Sequence[Patch] = ()


@dataclass(frozen=True)
class ControlCode:
    """One stream of a file, as its bytes, and what is to be patched in it."""

    name: str
    data: bytes
    patches: Sequence[Patch] = ()
    buffers: Mapping[str, FileBuffer] = field(default_factory=dict[str, FileBuffer])
    """Those that come with the file, by the name that patches have for them."""
    locate: Callable[[int], int] = field(default=lambda offset: offset, repr=False)
    """Where in the file a byte of the stream is."""
    is_verbatim: bool = True
    """Whether the file has these very bytes, so that `locate` says where; other forms were made into them."""

    def decode(self, addresses: Mapping[str, int] | None = None) -> Stream:
        """The stream; with the addresses of buffers, as a host patches it."""
        try:
            return decode(self.data if addresses is None else patched(self.data, self.patches, addresses))
        except TxnError as error:
            if error.offset is None:
                raise
            raise TxnError(self.locate(error.offset), error.reason) from None


def patched(data: bytes, patches: Sequence[Patch], addresses: Mapping[str, int]) -> bytes:
    """The bytes of a section with addresses of buffers in them."""
    words = np.frombuffer(data, dtype="<u4", count=len(data) // 4).astype(np.uint32)
    for patch in patches:
        patch.apply(words, addresses[patch.buffer])
    return words.astype("<u4").tobytes() + data[len(words) * 4 :]


@dataclass(frozen=True)
class Container:
    """What is in a file: streams, by the name of their section."""

    codes: Mapping[str, ControlCode]

    def code(self, name: str | None = None) -> ControlCode:
        """The stream of a section; without a name the only one that a host would start."""
        if name is not None and name in self.codes:
            return self.codes[name]
        main = [code for code in self.codes.values() if not code.name.startswith(PREEMPTION)]
        # The codes that save and restore are called by the firmware, never by a host.
        if name is None and len(main) == 1:
            return main[0]
        listed = ", ".join(name for name in self.codes if name) or "none: it is no ELF file"
        if name is not None:
            raise TxnError(None, f"there is no section {name!r} with control code; there is {listed}")
        raise TxnError(None, f"the file has several control codes, name one of them: {listed}")


def read_container(data: bytes) -> Container:
    """What is in a file, told by its first bytes; `TxnError` if it is damaged or nothing of the kind."""
    if data.startswith(MAGIC):
        try:
            return _from_elf(Elf(data))
        except ContainerError as error:
            raise TxnError(error.offset, error.reason) from None
    return Container({"": _from_words(data)})


def read_stream(data: bytes, section: str | None = None) -> Stream:
    """The stream in a file, as it is there, without addresses of buffers."""
    return read_container(data).code(section).decode()


def _from_words(data: bytes) -> ControlCode:
    """A file of words, or the text that `txn dis` writes; DPU words become the operations that do the same."""
    if is_assembly(data):
        made = encode(assemble(data.decode("utf-8", errors="replace"))).astype("<u4").tobytes()
        return ControlCode("", made, is_verbatim=False)
    file = read_words(data)
    if not is_dpu(file.data):
        return ControlCode("", file.data, locate=file.locate)
    try:
        stream = DpuSequence.read(as_words(file.data)).stream()
    except TxnError as error:
        raise TxnError(None if error.offset is None else file.locate(error.offset), error.reason) from None
    return ControlCode("", encode(stream).astype("<u4").tobytes(), is_verbatim=False)


def _from_elf(elf: Elf) -> Container:
    if elf.header.os_abi == PAGED_ABI:
        raise TxnError(ABI_AT, f"OS/ABI {PAGED_ABI:#x}: its control code is not made of TXN operations")
    patches: dict[int, list[Patch]] = {}
    for relocation in elf.relocations():
        patches.setdefault(relocation.symbol.section, []).append(_patch(elf, relocation))
    buffers = {
        section.name: FileBuffer(elf.contents(section).data, patches.get(section.number, ()))
        for section in elf.sections
        if section.name.startswith(BUFFER_SECTIONS)
    }
    codes = {
        section.name: _code(elf, section, patches.get(section.number, ()), buffers)
        for section in elf.sections
        if section.name.startswith((CONTROL_TEXT, *PREEMPTION))
    }
    if not codes:
        known = ", ".join(section.name for section in elf.sections if section.name) or "none"
        raise TxnError(0, f"an ELF file without control code ({CONTROL_TEXT}); its sections: {known}")
    return Container(codes)


def _code(elf: Elf, section: Section, patches: Sequence[Patch], buffers: Mapping[str, FileBuffer]) -> ControlCode:
    """The stream of a section, with the buffers that the file has for its patches."""
    own = {_buffer_name(name, section.name): buffer for name, buffer in buffers.items()}
    for name in (SCRATCHPAD, SCRATCHPAD_CONTROL):
        if size := max((patch.size for patch in patches if patch.buffer == name), default=0):
            own[name] = FileBuffer(bytes(size))  # made by the host, zeroes at first
    return ControlCode(section.name, elf.contents(section).data, patches, own, lambda at: section.header.offset + at)


def _buffer_name(section: str, code: str) -> str:
    """What the patches of a control code call the buffer that a section is loaded into."""
    if section == CONTROL_DATA + code.removeprefix(CONTROL_TEXT):
        return CONTROL_PACKET
    return section.removeprefix(".").replace(".", "-") if section.startswith(PACKETS) else section


def _patch(elf: Elf, relocation: Relocation) -> Patch:
    symbol = relocation.symbol
    number, addend = relocation.type, relocation.addend
    if elf.header.abi_version == ABI_WITH_PACKED_ADDENDS:
        # That version has one relocation type for all, and the kind in the low bits of the addend.
        number, addend = addend & 0xF, addend >> 4
    if number not in PatchKind._value2member_map_:
        raise TxnError(relocation.at, f"a relocation of type {number}, which streams of TXN operations do not have")
    if symbol.section >= len(elf.sections):
        raise TxnError(relocation.at, f"a relocation in section {symbol.section}, of {len(elf.sections)}")
    first = 0 if elf.header.abi_version >= ABI_WITH_IMAGES else FIRST_ARGUMENT
    patch = Patch(relocation.offset, PatchKind(number), symbol.name, addend, symbol.size, first)
    section = elf.sections[symbol.section]
    # Checked here, once: `Patch.apply` then writes without looking.
    if patch.offset % 4 or patch.end > section.header.size:
        text = f"a relocation at byte {patch.offset} of {section.name}, which has {section.header.size}"
        raise TxnError(relocation.at, text)
    return patch
