"""Programs in memories, and where each write of a configuration comes from."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from configuration_streams import NPU2, device_in, stream_of
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr

from tilewright import txn
from tilewright.device.register_names import find_address, name_address
from tilewright.ir.diagnostics import DiagnosedError, file_position
from tilewright.passes.control.configuration import configuration_of
from tilewright.passes.control.convert_aie_to_transaction import ConvertAieToTransactionPass

LOADED = """
aie.device(npu2) {
  %tile = aie.tile(1, 2)
  aie.core(%tile) { aie.end } {elf_file = "program.elf"}
}
"""


def elf_with(*segments: tuple[int, bytes, int]) -> bytes:
    """An ELF file with segments to load: address, contents, size in memory."""
    start = 52 + 32 * len(segments)
    headers, data = b"", b""
    for address, contents, size in segments:
        headers += struct.pack("<8I", 1, start + len(data), address, address, len(contents), size, 7, 4)
        data += contents
    identification = b"\x7fELF\x01\x01\x01" + bytes(9)
    return (
        identification
        + struct.pack("<HHIIIIIHHHHHH", 2, 264, 1, 0, 52, 0, 0, 52, 32, len(segments), 0, 0, 0)
        + headers
        + data
    )


def test_programs_go_into_the_memories_a_core_sees(tmp_path: Path):
    elf = elf_with((0x20, b"code!", 5), (0x6FFFC, b"northown", 12))
    (tmp_path / "program.elf").write_bytes(elf)
    stream = stream_of(LOADED, ConvertAieToTransactionPass(elf_dir=str(tmp_path)))
    blocks = {op.address: op.payload.tobytes() for op in stream.operations if op.opcode == txn.Opcode.BLOCKWRITE}
    assert blocks == {
        # the driver writes whole words, the last one as the file goes on
        find_address(NPU2, "core(1,2) Program+0x20"): b"code!nor",
        find_address(NPU2, "core(1,3) Memory+0xfffc"): b"nort",
        find_address(NPU2, "core(1,2) Memory+0x0"): b"hown\0\0\0\0",
    }
    names = [name_address(NPU2, op.address) for op in stream.operations]
    assert names[0] == "core(1,2) Core.control", "the core stands still while its memories are written"
    assert names[1:5] == [f"core(1,2) DMA.{channel}.control" for channel in ("MM2S0", "MM2S1", "S2MM0", "S2MM1")]


def test_programs_stay_away_where_somebody_else_loads_them():
    stream = stream_of(LOADED, ConvertAieToTransactionPass(load_elfs=False))
    assert all(op.opcode != txn.Opcode.BLOCKWRITE for op in stream.operations)
    assert name_address(NPU2, stream.operations[-1].address) == "core(1,2) Core.control"


@pytest.mark.parametrize(
    "elf, why",
    [
        pytest.param(b"\x7fELF", "the ELF header takes 52 bytes", id="cut off"),
        pytest.param(b"MZ".ljust(64), "no ELF file", id="something else"),
        pytest.param(elf_with((0, b"code", 4))[:-1], "the segment at 0x0 takes 4 bytes", id="segment cut"),
        pytest.param(elf_with((0x3FFC, b"too long", 8)), "the program ends at 0x4004", id="program too long"),
        pytest.param(elf_with((0x80000, b"data", 4)), "data at 0x80000 is in no memory", id="no memory there"),
    ],
)
def test_damaged_programs_are_refused(tmp_path: Path, elf: bytes, why: str):
    (tmp_path / "program.elf").write_bytes(elf)
    with pytest.raises(DiagnosedError) as caught:
        configuration_of(device_in(LOADED), tmp_path)
    error = caught.value.diagnostics[0]
    assert file_position(error.location) == ("design.mlir", 4, 3)
    assert any(why in note.text for note in error.notes)


def test_writes_belong_to_what_asked_for_them():
    lines = """aie.device(npu2) {
      %tile = aie.tile(1, 2)
      %lock = aie.lock(%tile, 0) {init = 1 : i32}
      %a = aie.buffer(%tile) {address = 1024 : i32} : memref<1xi32> = dense<1>
      aie.core(%tile) { aie.end }
      aie.switchbox(%tile) {
        aie.connect<South : 0, DMA : 0>
      }
    }"""
    writes = configuration_of(device_in(lines)).writes
    assert [_line(write.location) for write in writes] == [2] * 18 + [3, 4, 7, 7, 5]


def _line(location: LocationAttr) -> int:
    assert isinstance(location, FileLineColLoc)
    return location.line.data
