"""ELF files: programs of cores and control code, each part where its header says."""

from __future__ import annotations

import json
from struct import pack

import pytest
from container_files import PROGRAM, core_elf, pdi, words
from elf_files import Reloc, elf_file

from tilewright import txn
from tilewright.containers.elf import ElfFile, PdiContent, kernel_name
from tilewright.support.structure import ContainerError, Span
from tilewright.txn.elf import SymbolRecord

STREAM = txn.encode(txn.Stream.of(txn.Header(), [txn.write(0x1000, 5)])).astype("<u4").tobytes()
CONTROL = elf_file({".ctrltext": STREAM, ".ctrldata": b"1234"}, [Reloc(".ctrltext", 16, "3")])


def test_the_program_of_a_core():
    read = ElfFile.read(Span(core_elf()))
    assert read.write() == core_elf()
    about = json.loads(json.dumps(read.to_json()))
    assert (about["kind"], about["arch"], about["entry"]) == ("core-elf", "aie2", 0)
    assert [(it["address"], it["size"]) for it in about["segments"]] == [(0, len(PROGRAM))]
    assert [it["name"] for it in about["sections"]] == ["", ".text", ".symtab", ".strtab", ".shstrtab"]
    assert [(it["name"], it["size"]) for it in about["symbols"]] == [("main", len(PROGRAM))]
    assert [*read.opaque()] == [("machine code", len(PROGRAM))]


@pytest.mark.parametrize("flags, arch", [(1, "aie"), (2, "aie2"), (3, "aie2p")])
def test_the_flags_say_the_architecture(flags: int, arch: str):
    assert ElfFile.read(Span(core_elf(flags=flags))).arch == arch


def test_control_code():
    read = ElfFile.read(Span(CONTROL))
    assert read.write() == CONTROL
    about = read.to_json()
    assert (about["kind"], about["arch"], about["version"]) == ("control-elf", "aie2", "0.2")
    assert about["relocations"] == 1 and [it["name"] for it in about["symbols"]] == ["3"]
    assert [part.kind for part in read.opaque()] == ["control code's .ctrldata"]


def test_a_whole_context_has_its_pdis():
    data = elf_file({".pdi.1": pdi(), ".ctrltext.0": STREAM}, abi_version=0x10)
    read = ElfFile.read(Span(data))
    assert read.kind == "config-elf" and read.write() == data
    (content,) = (it.content for it in read.sections if isinstance(it.content, PdiContent))
    content.pdi.image.name = "other"
    assert b"other" in read.write()


def test_a_changed_field_is_written():
    read = ElfFile.read(Span(core_elf()))
    (symbol,) = (it for _, name, it in read.symbols() if name == "main")
    assert isinstance(symbol, SymbolRecord)
    symbol.value = 0x20
    read.segments[0].physical_address = 0x40
    again = ElfFile.read(Span(read.write()))
    assert [it.value for _, name, it in again.symbols() if name] == [0x20]
    assert again.segments[0].physical_address == 0x40


def test_bytes_in_no_section_are_kept():
    data = bytearray(core_elf())
    data[90] = 7  # between the headers and the program
    read = ElfFile.read(Span(bytes(data)))
    assert read.write() == data
    assert ("bytes in no section", 12) in [*read.opaque()]


@pytest.mark.parametrize("symbol, name", [("_Z7add_twoPc", "add_two"), ("main", "main"), ("_Z3ab", "ab")])
def test_names_of_kernels(symbol: str, name: str):
    assert kernel_name(symbol) == name


def changed(at: int, data: bytes, file: bytes) -> bytes:
    return file[:at] + data + file[at + len(data) :]


SECTIONS_AT = int.from_bytes(core_elf()[32:36], "little")
DAMAGE = {
    "cut": (core_elf()[:30], 0, "the ELF header takes 52 bytes"),
    "64 bits": (changed(4, b"\2", core_elf()), 4, "a 64-bit ELF file"),
    "big-endian": (changed(5, b"\2", core_elf()), 5, "a big-endian ELF file"),
    "another machine": (changed(18, pack("<H", 62), core_elf()), 18, "machine 62"),
    "a segment": (changed(52 + 16, words(1 << 30), core_elf()), 96, "segment 0 takes"),
    "a section's size": (changed(SECTIONS_AT + 40 + 20, words(1 << 30), core_elf()), 96, "section .text takes"),
    "a section's name": (
        changed(SECTIONS_AT + 40, words(999), core_elf()),
        SECTIONS_AT + 40,
        "a name begins at byte 999",
    ),
    "the names": (changed(50, pack("<H", 9), core_elf()), 50, "in section 9, of 5"),
    "the stream": (changed(52 + 8, words(7), CONTROL), 60, ".ctrltext: the header announces 7 operations"),
}


@pytest.mark.parametrize("data, offset, message", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_told_by_its_place(data: bytes, offset: int | None, message: str):
    with pytest.raises(ContainerError, match=message) as error:
        ElfFile.read(Span(data))
    assert offset is None or error.value.offset == offset
