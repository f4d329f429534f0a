"""ELF files with control code, written as aiebu does: described byte by byte, and as what a loader makes of them."""

from __future__ import annotations

import json
from hashlib import md5
from struct import pack
from typing import Any, NamedTuple

import container_files as files
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import txn
from tilewright.containers import ElfFile
from tilewright.containers.control_elf import (
    ConfigKernel,
    KernelInstance,
    config_elf,
    config_kernels,
    instructions_elf,
)
from tilewright.support.structure import ContainerError, Span
from tilewright.txn.containers import PatchKind, read_container

SHIM_BD = 0x1D000
BD_BYTES = 0x20
HEADER = txn.Header(device_generation=4, columns=8)


def stream(*operations: txn.Operation) -> bytes:
    return txn.encode(txn.Stream.of(HEADER, operations)).astype("<u4").tobytes()


def transfer(bd: int, argument: int, offset: int, length: int = 16) -> list[txn.Operation]:
    """A descriptor, with an address that the loader does not keep, and the patch that puts a buffer's into it."""
    at = SHIM_BD + BD_BYTES * bd
    words = [length, 0xDEADBEE0, 0xABCD1234, 0, 0, 0, 0, 0]
    return [txn.block_write(at, words), txn.address_patch(at + 4, argument, offset)]


class Row(NamedTuple):
    """A section: what its header says, and its bytes."""

    name: str
    type: int
    flags: int
    data: bytes
    link: int = 0
    info: int = 0
    align: int = 16
    entry: int = 0


def laid_out(rows: list[Row], loads: list[int], version: int) -> bytes:
    """A file as ELFIO lays it out: headers, sections of segments, all others, headers of sections."""
    names = b"\0" + b"".join(row.name.encode() + b"\0" for row in rows)
    rows = [row._replace(data=names) if row.name == ".shstrtab" else row for row in rows]
    dynamic = next((number for number, row in enumerate(rows, 1) if row.name == ".dynamic"), None)
    held = [*loads, *([dynamic] if dynamic is not None else [])]
    at = 52 + 32 * (1 + len(held))
    end_of_headers, places, body = at, dict[int, int](), b""
    for number in [*dict.fromkeys(held), *(each for each in range(1, len(rows) + 1) if each not in held)]:
        row = rows[number - 1]
        gap = -at % max(row.align, 1)
        places[number] = at + gap
        body += bytes(gap) + row.data
        at += gap + len(row.data)
    tail = 16 - at % 16
    segments = pack("<8I", 6, 52, 0, 0, end_of_headers - 52, end_of_headers - 52, 4, 0)
    for number in held:
        row, place = rows[number - 1], places[number]
        kind, flags, align = (2, 6, 8) if number == dynamic else (1, 5 if row.flags & 4 else 6, 16)
        segments += pack("<8I", kind, place, 0, 0, len(row.data), len(row.data), flags, align)
    headers, name = bytes(40), 1
    for number, row in enumerate(rows, 1):
        headers += pack("<10I", name, row.type, row.flags, 0, places[number], len(row.data), row.link, row.info,
                        row.align, row.entry)  # fmt: skip
        name += len(row.name) + 1
    identity = b"\x7fELF" + bytes([1, 1, 1, 69, version]).ljust(12, b"\0")
    head = identity + pack("<HHIIIIIHHHHHH", 2, 1, 1, 0, 52, at + tail, 0, 52, 32, 1 + len(held), 40, len(rows) + 1, 1)
    return head + segments + body + bytes(tail) + headers


def note(name: str, type: int, data: bytes) -> Row:
    return Row(name, 7, 0, pack("<3I", 4, len(data), type) + b"XRT\0" + data, align=1)


def test_instructions_byte_for_byte() -> None:
    """Two descriptors of one size for one buffer share a symbol; numbers of buffers begin at 3."""
    code = stream(*transfer(0, 0, 0), *transfer(1, 0, 64), *transfer(2, 1, 0))
    kept = code.replace(pack("<II", 0xDEADBEE0, 0xABCD1234), pack("<II", 0, 0xABCD0000))
    first = 16 + 16  # header of the stream, header of the block write
    step = 16 + 32 + 48
    symbols = bytes(16) + pack("<IIIBBH", 1, 0, 64, 17, 0, 2) + pack("<IIIBBH", 3, 0, 64, 17, 0, 2)
    relocations = b"".join(
        pack("<IIi", first + step * number, symbol << 8 | 5, addend)
        for number, (symbol, addend) in enumerate([(1, 0), (1, 64), (2, 0)])
    )
    rows = [
        Row(".shstrtab", 3, 0, b"", align=1),
        Row(".ctrltext", 1, 6, kept),
        Row(".dynstr", 3, 0, b"\x003\x004\x00", align=0),
        Row(".dynsym", 11, 2, symbols, link=3, info=1, align=8, entry=16),
        Row(".rela.dyn", 4, 2, relocations, link=4, align=8, entry=12),
        Row(".dynamic", 6, 2, pack("<iIiI", 7, 5, 8, len(relocations)), link=3, align=8, entry=8),
        note(".note.xrt.UID", 4, md5(kept, usedforsecurity=False).digest()),
    ]
    assert instructions_elf(code).write() == laid_out(rows, [2], 2)


def test_whole_kernels_byte_for_byte() -> None:
    """Each kernel has its PDIs once more; segments find sections by name, so these are the first kernel's."""
    load = txn.Operation(txn.Opcode.LOADPDI, id=7)
    code, pdi = stream(load), files.pdi()
    kernels = [
        ConfigKernel("b", ["char *", "scalar"], {7: pdi}, [KernelInstance("main", code)]),
        ConfigKernel("a", ["void *"], {7: pdi}, [KernelInstance("x", code)]),
    ]
    names = b"\0_Z1aPv\0x\0_Z1bPci\0main\0"
    weak = [(1, 0x22, 0), (8, 0x21, 1), (10, 0x22, 0), (18, 0x21, 3)]
    symbols = bytes(16) + b"".join(pack("<IIIBBH", name, 0, 0, info, 0, owner) for name, info, owner in weak)
    dynamic = bytes(16) + pack("<IIIBBH", 1, 0, 0, 17, 0, 5) + pack("<IIIBBH", 8, 0, 0, 17, 0, 11)
    relocations = pack("<IIi", 24, 1 << 8 | 8, 0) + pack("<IIi", 24, 2 << 8 | 8, 0)
    rows = [
        Row(".shstrtab", 3, 0, b"", align=1),
        Row(".strtab", 3, 0, names, align=0),
        Row(".symtab", 2, 0, symbols, link=2, info=1, align=4, entry=16),
        Row(".pdi.7", 1, 6, pdi),
        Row(".ctrltext.0", 1, 6, code),
        Row(".dynstr", 3, 0, b"\0.pdi.7\0.pdi.7\0", align=0),
        Row(".dynsym", 11, 2, dynamic, link=6, info=1, align=8, entry=16),
        Row(".rela.dyn", 4, 2, relocations, link=7, align=8, entry=12),
        Row(".group.0", 17, 2, pack("<II", 1, 5), link=3, info=2, entry=4),
        Row(".pdi.7", 1, 6, pdi),
        Row(".ctrltext.1", 1, 6, code),
        Row(".group.1", 17, 2, pack("<II", 1, 11), link=3, info=4, entry=4),
        Row(".dynamic", 6, 2, pack("<iIiI", 7, 8, 8, len(relocations)), link=6, align=8, entry=8),
        note(".note.xrt.configuration", 6, pack("<I", 8)),
        note(".note.xrt.UID", 4, md5((pdi + code) * 2, usedforsecurity=False).digest()),
    ]
    assert config_elf(kernels).write() == laid_out(rows, [4, 5, 4, 11], 0x10)


transfers = st.lists(
    st.tuples(
        st.integers(0, 15), st.integers(0, 9), st.integers(0, 1 << 20).map(lambda it: it * 4), st.integers(1, 99)
    ),
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(transfers, st.lists(st.integers(0, (1 << 46) - 1), min_size=10, max_size=10))
def test_a_loader_puts_the_addresses_of_buffers_into_descriptors(
    wanted: list[tuple[int, int, int, int]], addresses: list[int]
) -> None:
    """Whatever the stream: every descriptor gets its buffer's address and offset, and keeps its other fields."""
    addresses = [address & ~3 for address in addresses]
    code = stream(*(op for it in wanted for op in transfer(*it)))
    file = instructions_elf(code).write()
    assert ElfFile.read(Span(file)).write() == file
    control = read_container(file).code()
    loaded = control.decode({str(3 + number): address for number, address in enumerate(addresses)})
    blocks = [op.payload.tolist() for op in loaded.operations if op.opcode == txn.Opcode.BLOCKWRITE]
    assert len(blocks) == len(wanted)
    for block, (_, argument, offset, length) in zip(blocks, wanted, strict=True):
        total = addresses[argument] + offset
        assert block[:3] == [length, total & 0xFFFFFFFF, 0xABCD0000 | total >> 32 & 0xFFFF]
    assert {patch.size for patch in control.patches} <= {4 * it[3] for it in wanted}


def test_lengths_and_memory_tiles_are_patched_under_masks() -> None:
    operations = [
        txn.block_write(SHIM_BD, [0] * 8),
        txn.address_patch(SHIM_BD, 0, 5),
        txn.block_write(1 << 20 | 0xA0000, [0] * 8),
        txn.address_patch(1 << 20 | 0xA0004, 1, 7),
    ]
    patches = read_container(instructions_elf(stream(*operations)).write()).code().patches
    assert [(patch.kind, patch.size) for patch in patches] == [
        (PatchKind.SCALAR_32, 0xFFFFFFFF),
        (PatchKind.SCALAR_32, 0x7FFFF),
    ]


def test_offsets_beyond_32_bits_are_part_of_the_descriptor() -> None:
    operations = transfer(0, 0, 0x10)
    operations[1].payload = np.array([2], np.uint32)
    code = read_container(instructions_elf(stream(*operations)).write()).code()
    assert [patch.addend for patch in code.patches] == [0]
    block = code.decode({"3": 0x1000}).operations[0]
    assert block.payload.tolist()[1:3] == [0x1010, 0xABCD0002]


def test_scratchpads_and_control_packets_are_buffers_by_name() -> None:
    scratchpad = txn.Operation(txn.Opcode.CREATE_SCRATCHPAD, scratchpad_bytes=96)
    buffers = {"external_buffers": {"control": {"xrt_id": 1, "ctrl_pkt_buffer": 1}}}
    made = instructions_elf(stream(scratchpad, *transfer(0, 1, 0)), b"packet__", buffers)
    code = read_container(made.write()).code()
    assert [patch.buffer for patch in code.patches] == ["scratch-pad-ctrl", "control-packet"]
    assert code.buffers["control-packet"].data == b"packet__"


RUN = {"id": "run", "TXN_ctrl_code_file": "k.bin"}


def kernel(**changes: Any) -> dict[str, Any]:
    return {
        "name": "k",
        "arguments": [{"name": "a", "type": "char *", "offset": "0x0"}],
        "PDIs": [{"id": 1, "PDI_file": "k.pdi"}],
        "instance": [RUN],
    } | changes


def read(name: str) -> bytes:
    sources = {"k.pdi": files.pdi(), "k.bin": stream(*transfer(0, 0, 0)), "p.json": b"[", "text": b"no stream"}
    return sources[name]


def test_a_configuration_names_kernels_and_files() -> None:
    (found,) = config_kernels({"xrt-kernels": [kernel()]}, read)
    assert (found.symbol, [*found.pdis], [it.name for it in found.instances]) == ("_Z1kPc", [1], ["run"])
    assert config_elf([found]).kernels() == [{"name": "k", "symbol": "_Z1kPc", "instances": ["run"]}]


@pytest.mark.parametrize(
    "config, complaint",
    [
        pytest.param({}, "there is no xrt-kernels", id="nothing"),
        pytest.param({"xrt-kernels": [kernel(), kernel()]}, "two kernels are called '_Z1kPc'", id="one name twice"),
        pytest.param({"xrt-kernels": [kernel(arguments=[{"type": "long"}])]}, "the type 'long'", id="a type"),
        pytest.param({"xrt-kernels": [kernel(PDIs=[{"id": "x"}])]}, "id is 'x', which is no number", id="a number"),
        pytest.param({"xrt-kernels": [kernel(instance=[{"id": "r"}])]}, "there is no TXN_ctrl_code_file", id="a file"),
        pytest.param(
            {
                "xrt-kernels": [
                    kernel(instance=[{"id": "r", "TXN_ctrl_code_file": "k.bin", "patch_info_file": "p.json"}])
                ]
            },
            "'p.json' is no JSON",
            id="JSON",
        ),
        pytest.param(
            {"xrt-kernels": [kernel(instance=[{"id": "r", "TXN_ctrl_code_file": "text"}])]},
            "the control code is no TXN stream",
            id="a stream",
        ),
    ],
)
def test_mistakes_in_a_configuration_are_named(config: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ContainerError, match=complaint):
        config_elf(config_kernels(json.loads(json.dumps(config)), read))


@pytest.mark.parametrize(
    "operation, complaint",
    [
        pytest.param(txn.address_patch(SHIM_BD + 4, 0, 0), "no block write before the address patch", id="no block"),
        pytest.param(txn.Operation(txn.Opcode.LOADPDI, id=3), "PDI 3 is loaded, and is not among", id="no PDI"),
    ],
)
def test_streams_that_no_file_can_hold(operation: txn.Operation, complaint: str) -> None:
    with pytest.raises(ContainerError, match=complaint) as error:
        instructions_elf(stream(operation))
    assert error.value.offset == 16
