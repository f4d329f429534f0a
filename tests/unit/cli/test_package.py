"""`tilewright package`: a design in a container, and each of the steps there."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import container_files as files
import numpy as np
import pytest
from helpers import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright import txn
from tilewright.cli.main import main
from tilewright.containers import Cdo, ElfFile, Xclbin
from tilewright.containers.embedded_design import read_embedded
from tilewright.containers.packaging import (
    KernelNames,
    extended_xclbin,
    kernels_json,
    partition_json,
    xclbin_from_parts,
)
from tilewright.containers.pdi import Pdi
from tilewright.containers.xclbin_sections import Connectivity, IpLayout
from tilewright.support.structure import Span
from tilewright.txn.analysis import register_writes

STUB = Path(__file__).parents[2] / "xrt_stub"
DESIGN = """
aie.device(npu1_1col) @main {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  %table = aie.buffer(%core) {sym_name = "table"} : memref<4xi32> = dense<[1, 2, 3, 4]>
  aie.core(%core) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %size = arith.constant 16 : index
    %from = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
    %source = aie.objectfifo.subview.access %from[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
    %to = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
    %target = aie.objectfifo.subview.access %to[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
    scf.for %i = %zero to %size step %one {
      %value = memref.load %source[%i] : memref<16xi32>
      %sum = arith.addi %value, %value : i32
      memref.store %sum, %target[%i] : memref<16xi32>
    }
    aie.objectfifo.release @in(Consume, 1)
    aie.objectfifo.release @out(Produce, 1)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<16xi32>, %b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
      {id = 0 : i64, metadata = @in} : memref<16xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
      {id = 1 : i64, issue_token = true, metadata = @out} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
"""
PROGRAM = bytes(range(1, 49))


def core_elf(program: bytes = PROGRAM) -> bytes:
    """The program of a core: one segment, at the start of program memory."""
    header = struct.pack("<4sBBB9xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 2, 264, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    return header + struct.pack("<8I", 1, 84, 0, 0, len(program), len(program), 5, 4) + program


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the design and a program, in which commands are called."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    Path("design.mlir").write_text(DESIGN)
    Path("core.elf").write_bytes(core_elf())
    return tmp_path


def package(*words: str) -> int:
    return main(["package", *words])


def read_xclbin(name: str) -> Xclbin:
    return Xclbin.read(Span(Path(name).read_bytes()))


def registers(operations: Iterable[txn.Operation]) -> dict[int, int]:
    """What operations leave in registers and memories.

    A mask without bits, with which the driver "enables" channels, writes all bits in a transaction.
    """
    found = dict[int, int]()
    for op in operations:
        for address, value in register_writes(op):
            mask = (op.mask if op.opcode == txn.Opcode.MASKWRITE else 0) or 0xFFFFFFFF
            found[address] = found.get(address, 0) & ~mask | value & mask
    return found


CODE = ["--core-elf", "0,2=core.elf"]


def test_a_package_sets_the_registers_that_the_simulator_sets(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One description of the device: its TXN words, and what is in the package, with the program besides."""
    assert package("design.mlir", "-o", "d.xclbin", *CODE, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"files": ["d.xclbin"], "cores_without_code": [], "simulator_only": False}
    made = read_xclbin("d.xclbin")
    assert made.partition is not None
    operations = made.partition.pdis[0].image.cdo.operations()
    program = [op for op in operations if op.opcode == txn.Opcode.BLOCKWRITE and op.address == 2 << 20 | 0x20000]
    assert [op.payload.astype("<u4").tobytes() for op in program] == [PROGRAM]
    own = registers(txn.decode(tw.compile(DESIGN).configuration()).operations)
    packed = registers(op for op in operations if op not in program)
    loading = {address: 0 for address in packed if address not in own}  # channels that are reset and let go
    assert packed == own | loading and {address & 0xFFFF0 for address in loading} == {0x1DE00, 0x1DE10}


def test_without_machine_code_it_is_for_the_simulator(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert package("design.mlir", "-o", "d.xclbin") == 0
    assert "core (0, 2) has no machine code: this is for the simulator alone" in capsys.readouterr().err
    embedded = read_embedded(read_xclbin("d.xclbin"))
    assert embedded is not None and embedded.is_for_simulator_alone and embedded.cores_without_code == [(0, 2)]
    assert package("design.mlir", "-o", "d.xclbin", *CODE) == 0
    embedded = read_embedded(read_xclbin("d.xclbin"))
    assert embedded is not None and not embedded.is_for_simulator_alone
    assert package("design.mlir", "-o", "none.xclbin", "--no-design") == 1
    assert "name ELF files with --core-elf" in capsys.readouterr().err and not Path("none.xclbin").exists()


def test_the_steps_one_by_one_give_the_package(here: Path) -> None:
    assert package("design.mlir", "-o", "whole.xclbin", *CODE, "--no-design") == 0
    assert package("cdo", "design.mlir", "--elf", "0,2=core.elf", "-o", "cdo") == 0
    parts = [f"cdo/main_aie_cdo_{part}.bin" for part in ("elfs", "init", "enable")]
    assert sorted(map(str, Path("cdo").iterdir())) == sorted(parts)
    assert package("pdi", *parts, "-o", "main.pdi") == 0
    whole = read_xclbin("whole.xclbin")
    assert whole.partition is not None
    (pdi,) = whole.partition.pdis
    assert Path("main.pdi").read_bytes() == pdi.image.write()
    documents: dict[str, Any] = {
        "aie_partition": partition_json(1, 4, "main.pdi", pdi.uuid, KernelNames()),
        "kernels": kernels_json(KernelNames(), 5),
        "mem_topology": files.MEMORY,
    }
    for name, document in documents.items():
        Path(f"{name}.json").write_text(json.dumps(document))
    inputs = ["--partition=aie_partition.json", "--kernels=kernels.json", "--memory=mem_topology.json"]
    assert package("xclbin", *inputs, "-o", "steps.xclbin") == 0
    assert Path("steps.xclbin").read_bytes() == Path("whole.xclbin").read_bytes()


def test_made_twice_it_is_the_same(here: Path) -> None:
    for name in ("one", "two"):
        assert package("design.mlir", "-o", f"{name}.xclbin", *CODE) == 0
    assert Path("one.xclbin").read_bytes() == Path("two.xclbin").read_bytes()


def test_machine_code_is_found_by_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a folder, as mlir-aie calls the files; or where the design says."""
    Path("build").mkdir()
    Path("build/main_core_0_2.elf").write_bytes(core_elf(b"folder__"))
    assert package("cdo", "design.mlir", "--core-elf", "build", "-o", "a") == 0
    program = re.compile(r"aie.core[(]%core[)] [{].*aie.end\n  [}]", re.S)
    Path("named.mlir").write_text(program.sub('aie.core(%core) { aie.end } {elf_file = "core.elf"}', DESIGN))
    assert package("cdo", "named.mlir", "-o", "b") == 0
    loaded = [Path(folder, "main_aie_cdo_elfs.bin").read_bytes() for folder in "ab"]
    assert b"folder__" in loaded[0] and PROGRAM in loaded[1]
    assert capsys.readouterr().err == ""
    assert package("cdo", "design.mlir", "--elf", "3,3=core.elf", "-o", "c") == 2
    assert "there is no core (3, 3)" in capsys.readouterr().err
    Path("core.elf").write_bytes(core_elf()[:60])
    assert package("cdo", "design.mlir", "--elf", "0,2=core.elf", "-o", "c") == 1
    assert "design.mlir:8:3: error: 'aie.core' op XAie_LoadElf failed" in capsys.readouterr().err
    assert not Path("c").exists()


def test_designs_as_kernels_of_one_package(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert package("design.mlir", "-o", "one.xclbin", *CODE) == 0
    second = ["--xclbin-kernel-name=SECOND", "--xclbin-instance-name=TWO", "--xclbin-kernel-id=0x902"]
    assert package("design.mlir", "-o", "two.xclbin", *CODE, "--xclbin-input=one.xclbin", *second) == 0
    made = read_xclbin("two.xclbin")
    assert made.partition is not None
    assert [made.kernels_of(pdi) for pdi in made.partition.pdis] == [["MLIR_AIE:MLIRAIE"], ["SECOND:TWO"]]
    names = [
        kernel["name"] for kernel in inspected("two.xclbin", capsys)["sections"] if kernel["label"] == "tilewright"
    ]
    assert names == ["VENDER_METADATA"] * 2
    for wrong, complaint in ((second[:2], "the kernel id 0x901 is taken"), (second[2:], "a kernel 'MLIR_AIE:MLIRAIE'")):
        assert package("design.mlir", "-o", "no.xclbin", "--xclbin-input=one.xclbin", *wrong) == 1
        assert complaint in capsys.readouterr().err
    assert not Path("no.xclbin").exists()


def inspected(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["inspect", name, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_full_elf(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same image, and the words of the sequence with the buffers' numbers from 0 on."""
    assert package("design.mlir", "-o", "d.elf", *CODE) == 0
    assert package("design.mlir", "-o", "d.xclbin", *CODE) == 0
    made, container = ElfFile.read(Span(Path("d.elf").read_bytes())), read_xclbin("d.xclbin")
    assert container.partition is not None
    sections = {section.name: section.content.write() for section in made.sections}
    assert sections[".pdi.1"] == container.partition.pdis[0].image.write()
    assert made.kernels() == [{"name": "main", "symbol": "_Z4mainPcPcPc", "instances": ["run"]}]
    assert {name for section, name, _ in made.symbols() if section.name == ".dynsym"} == {"", "0", "1"}
    assert read_embedded(made) is not None
    assert package("design.mlir", "-o", "plain.elf", *CODE, "--no-design") == 0
    plain = ElfFile.read(Span(Path("plain.elf").read_bytes()))
    assert [it.name for it in made.sections] == [*(it.name for it in plain.sections), ".tilewright"]
    assert package(str(EXAMPLES / "vector_add.py"), "-o", "v.elf") == 1
    assert "depend on tiles: make an xclbin" in capsys.readouterr().err


def test_instructions_as_an_elf_file(here: Path) -> None:
    assert package("design.mlir", "-o", "d.xclbin", "--insts", "d.bin") == 0
    assert np.array_equal(np.fromfile("d.bin", "<u4"), tw.compile(DESIGN).txn())
    assert package("elf", "--insts", "d.bin", "-o", "insts.elf") == 0
    assert main(["txn", "diff", "insts.elf", "d.bin"]) == 0
    assert package("elf", "-o", "none.elf") == 2


def test_compile_makes_a_package_too(here: Path) -> None:
    assert main(["compile", "design.mlir", "-o", "out", "--xclbin", *CODE]) == 0
    assert package("design.mlir", "-o", "d.xclbin", *CODE) == 0
    assert Path("out/design.xclbin").read_bytes() == Path("d.xclbin").read_bytes()


EXECUTE = """
import sys
from pathlib import Path
import numpy as np
import tilewright as tw

folder = Path(sys.argv[2])
arrays = [np.fromfile(folder / name, np.int32) for name in "01"]
tw.compile(sys.argv[1]).run(*arrays, txn=np.fromfile(folder / "insts.bin", np.uint32))
arrays[1].tofile(folder / "1")
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_host_program_in_cpp(here: Path) -> None:
    """On a stand-in for XRT that has the simulator run what it is given."""
    assert package("design.mlir", "-o", "twice.xclbin", "--host") == 0
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", f"-I{STUB}"]
    subprocess.run(["g++", *flags, "twice_host.cpp", "-o", "twice_host"], check=True)
    Path("execute.py").write_text(EXECUTE)
    np.arange(16, dtype=np.int32).tofile("in.bin")
    (here / "work").mkdir()
    command = f"{sys.executable} execute.py design.mlir"
    environment = {**os.environ, "XRT_STUB_FOLDER": "work", "XRT_STUB_RUN": command}
    run = ["./twice_host", "a=in.bin", "b>out.bin"]
    subprocess.run(run, env=environment, check=True)
    np.testing.assert_array_equal(np.fromfile("out.bin", np.int32), 2 * np.arange(16))
    wrong = subprocess.run(["./twice_host", "c=in.bin"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "buffers: a (64 bytes) b (64 bytes)" in wrong.stderr


def test_host_program_in_python(here: Path) -> None:
    """With `pyxrt` as `tilewright exec` serves it: no machine code is needed on the simulator."""
    assert package("design.mlir", "-o", "twice.xclbin", "--host") == 0
    np.arange(16, dtype=np.int32).tofile("in.bin")
    run = [sys.executable, "-m", "tilewright", "exec", "twice_host.py"]
    subprocess.run([*run, "a=in.bin", "b>out.bin"], check=True)
    np.testing.assert_array_equal(np.fromfile("out.bin", np.int32), 2 * np.arange(16))


# parts that are made up, and damaged ones

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=7)
kernels = st.builds(KernelNames, names, names, st.integers(0, 0xFFF).map(hex))


@settings(max_examples=40, deadline=None)
@given(kernels, kernels, st.integers(5, 16), st.integers(1, 4))
def test_partitions_and_kernels_of_any_kind(one: KernelNames, other: KernelNames, buffers: int, columns: int) -> None:
    """What is put in is what is read: names, numbers, arguments; and again where a second kernel is added."""
    pdi = Pdi.read(Span(files.pdi()))
    uuid = UUID(int=1)
    first = xclbin_from_parts(
        partition_json(columns, 4, "a.pdi", uuid, one), kernels_json(one, buffers), files.MEMORY, lambda name: pdi
    )
    again = Xclbin.read(Span(first.write()))
    assert again.write() == first.write() and again.partition is not None
    assert again.partition.start_columns == [*range(5 - columns)]
    assert again.kernels_of(again.partition.pdis[0]) == [stored(one)]
    connections = [section.content for section in again.sections if type(section.content) is Connectivity]
    assert [len(it.entries) for it in connections] == [1 + buffers]
    if int(one.id, 0) == int(other.id, 0) or (one.name, one.instance) == (other.name, other.instance):
        return
    both = extended_xclbin(
        again, partition_json(1, 4, "b.pdi", UUID(int=2), other), kernels_json(other, 5), lambda name: pdi
    )
    read = Xclbin.read(Span(both.write()))
    assert read.write() == both.write() and read.partition is not None
    assert [read.kernels_of(it) for it in read.partition.pdis] == [[stored(one)], [stored(other)]]
    layout = next(section.content for section in read.sections if isinstance(section.content, IpLayout))
    assert len(layout.entries) == 2
    # what was given is not what was changed
    assert again.write() == first.write()


def stored(kernel: KernelNames) -> str:
    """A character for each byte of the file."""
    return f"{kernel.name}:{kernel.instance}".encode().decode("latin-1")


XCLBIN = ["xclbin", "--kernels=j", "-o", "o"]


@pytest.mark.parametrize(
    "words, status, complaint",
    [
        pytest.param(["pdi", "design.mlir", "-o", "o"], 1, "design.mlir: error: ", id="no CDO"),
        pytest.param(["pdi", "core.elf", "-o", "o"], 1, "core.elf: error: no CDO file: it is", id="another file"),
        pytest.param(["pdi", "missing", "-o", "o"], 1, "cannot open input file 'missing'", id="no file"),
        pytest.param(["xclbin", "--partition=j", "--kernels=j", "-o", "o"], 2, "--memory says which", id="no memory"),
        pytest.param(
            ["xclbin", "--partition=bad", "--kernels=j", "--memory=j", "-o", "o"], 1, "bad:1:2: error", id="JSON"
        ),
        pytest.param(["xclbin", "--partition=j", "--kernels=j", "--memory=j", "-o", "o"], 1, "there is no", id="empty"),
        pytest.param(["elf", "--config=j", "-o", "o"], 1, "j: error: there is no xrt-kernels", id="no kernels"),
        pytest.param(
            ["elf", "--insts=core.elf", "-o", "o"], 1, "core.elf: error: the control code is no TXN", id="code"
        ),
        pytest.param(["design.mlir", "-o", "o", "--core-elf", "x"], 2, "neither COL,ROW=FILE nor a folder", id="core"),
        pytest.param(["design.mlir", "-o", "o", "--xclbin-kernel-id", "0x1000"], 2, "is no number from 0", id="id"),
        pytest.param(["design.mlir", "-o", "o.elf", "--host"], 2, "are for an xclbin", id="host of an ELF file"),
        pytest.param(["design.mlir", "-o", "o", "--device", "x"], 1, "no device 'x'", id="device"),
        pytest.param(["design.mlir", "-o", "no/such/o.xclbin"], 1, "cannot open output file", id="output"),
    ],
)
def test_mistakes_are_named_and_leave_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, complaint: str
) -> None:
    Path("j").write_text("{}")
    Path("bad").write_text("{")
    before = sorted(here.rglob("*"))
    assert package(*words) == status
    said = capsys.readouterr().err
    assert complaint in said and "Traceback" not in said
    assert sorted(here.rglob("*")) == before


def test_names_of_the_input_make_no_paths(here: Path) -> None:
    Path("design.mlir").write_text(DESIGN.replace("@main", '@"../../main"'))
    assert package("cdo", "design.mlir", "-o", "cdo/deep/er") == 0
    assert len([*Path("cdo/deep/er").iterdir()]) == 3 and [it.name for it in Path("cdo").iterdir()] == ["deep"]
    assert all(Cdo.read(Span(path.read_bytes())).commands for path in Path("cdo/deep/er").iterdir())
