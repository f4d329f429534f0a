"""`inspect` and `diff`: files are told by their content, parts stay in their folder, differences go by names."""

from __future__ import annotations

import json
from pathlib import Path

import container_files as files
import pytest
from elf_files import elf_file

from tilewright import txn
from tilewright.cli.main import main
from tilewright.containers.cdo import Cdo
from tilewright.containers.pdi import pdi_from_cdos
from tilewright.isa import assemble, instruction_set
from tilewright.support.structure import Span
from tilewright.txn.text import disassemble

STREAM = txn.Stream.of(txn.Header(), [txn.write(0x1D214, 3)])
RAW = txn.encode(STREAM).astype("<u4").tobytes()
KINDS = {
    "xclbin": files.xclbin(),
    "pdi": files.pdi(),
    "cdo": files.ELFS_CDO,
    "core-elf": files.core_elf(),
    "control-elf": elf_file({".ctrltext": RAW}),
    "config-elf": elf_file({".ctrltext.0": RAW, ".pdi.1": files.pdi()}, abi_version=0x10),
    "txn": RAW,
    "dpu": files.hex_lines(files.DPU_WORDS),
}
WANTED = {
    "xclbin": {"sections", "pdis", "columns", "start_columns"},
    "pdi": {"transformed", "commands", "cores"},
    "cdo": {"commands", "cores"},
    "core-elf": {"arch", "segments"},
    "control-elf": {"sections", "relocations"},
    "config-elf": {"sections", "relocations", "kernels"},
    "txn": {"header", "operations"},
    "dpu": {"operations"},
}


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A file whose name says nothing."""
    return tmp_path / "file"


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_told_by_its_content(kind: str, given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given.write_bytes(KINDS[kind])
    assert main(["inspect", str(given), "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["kind"] == kind and WANTED[kind] <= about.keys()
    assert main(["inspect", str(given)]) == 0
    assert capsys.readouterr().out.startswith(f"{given}: ")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_written_anew(kind: str, given: Path) -> None:
    given.write_bytes(KINDS[kind])
    assert main(["inspect", str(given), "--rebuild", str(given.parent / "again")]) == 0
    assert (given.parent / "again").read_bytes() == KINDS[kind]


CODE = assemble("""
    jl #after
    mova r0, #1; nopb
    lda r1, [p0], #4; mov r18, p6
    nop
    nop
    .align 16
    after: done
""")
LISTED = ["jl #32", "mova r0, #1; nopb", "lda r1, [p0], #4; mov r18, p6", *["nop"] * 8, "done"]


@pytest.mark.parametrize(
    "kind, data",
    [
        pytest.param("core-elf", files.core_elf(CODE), id="program of a core"),
        pytest.param("cdo", files.cdo(files.program_write(CODE)), id="commands"),
        pytest.param("pdi", files.pdi(files.program_write(CODE)), id="image of the array"),
    ],
)
def test_machine_code_is_listed(kind: str, data: bytes, given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given.write_bytes(data)
    assert main(["inspect", str(given), "--disassemble"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.endswith(f"{len(CODE)} bytes of aie2")
    bundles = [line.split("//")[0][57:].strip() for line in lines if not line.endswith(":")]
    assert [line for line in bundles if line != "nop"] == [line for line in LISTED if line != "nop"]
    assert main(["inspect", str(given), "--disassemble", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    (program,) = about["programs"]
    assert about["kind"] == kind and program["arch"] == "aie2"
    assert program.get("core") == (None if kind == "core-elf" else [0, 2])
    assert "".join(it["bytes"] for it in program["bundles"]) == CODE.hex()
    assert program["bundles"][0] == {"address": 0, "bytes": CODE[:6].hex(), "instructions": ["jl #32"], "target": 32}


CODE_OF_NPU2 = assemble(
    """
    movxm sp, #0x70000
    lda r18, [p0, #4]; vconv.bfp16ebs8.fp32 ex10, dm1
    jnz r19, #0x80
    vmac.f dm4, dm4, y2, y2, r3
    done
    .align 16
    """,
    instruction_set("aie2p"),
)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(files.core_elf(CODE_OF_NPU2, flags=3), id="program of a core"),
        pytest.param(files.pdi(files.program_write(CODE_OF_NPU2)), id="image of the array"),
    ],
)
def test_machine_code_of_aie2p_is_listed(data: bytes, given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program says what it is; that of an image is what most of it can be."""
    given.write_bytes(data)
    assert main(["inspect", str(given), "--disassemble"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.endswith(f"{len(CODE_OF_NPU2)} bytes of aie2p")
    assert "vmac.f dm4, dm4, y2, y2, r3" in "\n".join(lines) and ".short" not in "\n".join(lines)


def test_symbols_name_places_in_machine_code(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given.write_bytes(files.core_elf(CODE))
    assert main(["inspect", str(given), "--disassemble"]) == 0
    out = capsys.readouterr().out
    assert "\nmain:\n" in out and "jl #32  // main+0x20" in out


@pytest.mark.parametrize(
    "data, reason",
    [
        pytest.param(
            files.core_elf(flags=1), "machine code of aie: known are the instructions of aie2, aie2p", id="aie"
        ),
        pytest.param(files.INIT_CDO, "no program of a core is in it", id="no code"),
    ],
)
def test_machine_code_that_is_not_there(
    data: bytes, reason: str, given: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given.write_bytes(data)
    assert main(["inspect", str(given), "--disassemble"]) == 1
    assert capsys.readouterr().err == f"{given}: error: {reason}\n"


def test_bytes_that_are_no_instruction_are_passed_over(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given.write_bytes(files.core_elf(bytes.fromhex("ff ff ff ff") + CODE[-4:]))
    assert main(["inspect", str(given), "--disassemble"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3].endswith("  .short 0xffff") and lines[-1].endswith("  done")


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_files_of_their_own(kind: str, given: Path) -> None:
    given.write_bytes(KINDS[kind])
    folder = given.parent / "parts"
    assert main(["inspect", str(given), "--extract", str(folder)]) == 0
    names = {path.name for path in folder.iterdir()}
    assert names and {path.name for path in given.parent.iterdir()} == {"file", "parts"}
    if kind == "xclbin":
        assert (folder / "pdi_0.pdi").read_bytes() == files.pdi()
        assert (folder / "pdi_0.core_0_2.program.bin").read_bytes() == files.PROGRAM
        assert (folder / "section_02_embedded_metadata.xml").read_bytes() == files.XML


def test_names_in_a_file_are_no_paths(given: Path) -> None:
    given.write_bytes(elf_file({"../../outside": b"1234", ".ctrltext": RAW}))
    assert main(["inspect", str(given), "--extract", str(given.parent / "a" / "parts")]) == 0
    assert {path.name for path in given.parent.iterdir()} == {"file", "a"}
    assert {path.name for path in (given.parent / "a").iterdir()} == {"parts"}


def test_the_array_is_shown(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given.write_bytes(files.pdi())
    assert main(["inspect", str(given)]) == 0
    out = capsys.readouterr().out
    assert "program, 32 B" in out and "core starts" in out
    assert "blockwrite core(0,2) Program+0x0 = [0x04030201, " in out
    assert "write core(0,2) Lock1 = 0x00000002  # lock_value = 2" in out


def test_what_control_code_does_is_shown(given: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given.write_bytes(KINDS["control-elf"])
    assert main(["inspect", str(given)]) == 0
    out = capsys.readouterr().out
    assert "control code in .ctrltext" in out and "write shim(0,0) DMA.MM2S0.queue = 0x00000003" in out


@pytest.mark.parametrize(
    "data, message",
    [
        (files.pdi()[:-16], "the partition takes 144 bytes, the end of its room is at 0x1d0, at offset 0x150"),
        (b"nothing of the kind", "neither xclbin, PDI, CDO nor ELF, and no instructions: a text, but neither"),
        (b"", "0 bytes are too few for the 16-byte TXN header, at offset 0x0"),
        (RAW[:-4] + b"1234" + RAW, "the header's size word says 40 bytes, the stream has 80, at offset 0xc"),
        (b"txn 0.1 generation 4 columns 1 rows 6 mem_tile_rows 1\nhop\n", "unknown operation 'hop', in line 2"),
    ],
)
def test_damage_is_one_line_with_its_offset(
    data: bytes, message: str, given: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given.write_bytes(data)
    assert main(["inspect", str(given), "--rebuild", str(given.parent / "again")]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"{given}: error: ") and message in err and err.count("\n") == 1 and not out
    assert not (given.parent / "again").exists()


def diff(left: bytes, right: bytes, folder: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str]:
    paths = folder / "left", folder / "right"
    for path, data in zip(paths, (left, right), strict=True):
        path.write_bytes(data)
    return main(["diff", *map(str, paths), *flags]), capsys.readouterr().out


TEXT = "".join(f"{line}\n" for line in disassemble(STREAM)).encode()
SAME = {
    "a file and itself": (files.xclbin(), files.xclbin()),
    "a stream and its text": (RAW, TEXT),
    "a PDI and its xclbin": (files.pdi(), files.xclbin()),
    "hexadecimal and binary": (RAW, files.hex_lines(txn.encode(STREAM).tolist())),
}


@pytest.mark.parametrize("left, right", SAME.values(), ids=SAME)
def test_the_same_in_another_form(
    left: bytes, right: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diff(left, right, tmp_path, capsys) == (0, "")


def changed_pdi() -> bytes:
    cdos = [Cdo.read(Span(data)) for data in (files.ELFS_CDO, files.INIT_CDO, files.ENABLE_CDO)]
    cdos[1].commands[1].fields["value"] = 3
    del cdos[2].commands[1]
    return pdi_from_cdos(cdos).write()


def test_registers_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = diff(files.pdi(), changed_pdi(), tmp_path, capsys)
    assert status == 1
    assert out.splitlines() == [
        "command 2",
        "  - write core(0,2) Lock1 = 0x00000002",
        "  + write core(0,2) Lock1 = 0x00000003",
        "    core(0,2) Lock1: lock_value 2 against 3",
        "command 3",
        "  - maskwrite core(0,2) Core.control = 0x00000001 mask 0x00000001",
    ]


def test_sections_and_entries_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = files.xclbin().replace(b"SRAM", b"SPAM").replace(b"\0DPU\0", b"\0CPU\0")
    status, out = diff(files.xclbin(), other, tmp_path, capsys, "--json")
    found = {it["place"]: (it["left"], it["right"]) for it in json.loads(out)}
    assert status == 1 and found == {
        "section MEM_TOPOLOGY[1].tag": ("SRAM", "SPAM"),
        "section GROUP_TOPOLOGY[1].tag": ("SRAM", "SPAM"),
        "PDI 0 groups[0].name": ("DPU", "CPU"),
    }


def test_files_that_have_nothing_in_common(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = diff(files.pdi(), files.core_elf(), tmp_path, capsys)
    assert (status, out) == (1, "kind\n  - pdi\n  + core-elf\n")


def test_programs_of_cores_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = diff(files.core_elf(), files.core_elf(files.PROGRAM[:-1] + b"!"), tmp_path, capsys)
    assert status == 1 and out.startswith("section .text, from byte 0x1f on\n")
