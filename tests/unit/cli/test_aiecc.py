"""`tilewright aiecc`: the flags, files and complaints of mlir-aie's compiler driver."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.cli.aiecc import EDGES, MADE_ELSEWHERE
from tilewright.cli.aiecc_arguments import FLAGS, OLDER, SELECTORS, parse_arguments
from tilewright.cli.aiecc_outputs import MAKERS
from tilewright.cli.errors import CommandLineError
from tilewright.cli.main import main
from tilewright.containers import ElfFile, Xclbin
from tilewright.containers.embedded_design import read_embedded
from tilewright.support.structure import Span
from tilewright.txn.containers import read_container

SEQUENCE = """
    aie.runtime_sequence @{name}(%from: memref<64xi32>, %to: memref<64xi32>) {{
      aiex.npu.dma_memcpy_nd(%from[0, 0, 0, 0][1, 1, 1, {length}][0, 0, 0, 1])
        {{id = 0 : i64, issue_token = true, metadata = @in}} : memref<64xi32>
      aiex.npu.dma_memcpy_nd(%to[0, 0, 0, 0][1, 1, 1, {length}][0, 0, 0, 1])
        {{id = 1 : i64, issue_token = true, metadata = @out}} : memref<64xi32>
      aiex.npu.dma_wait {{symbol = @out}}
    }}"""
DEVICE = """
  aie.device(npu1_1col) @{name} {{
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    aie.objectfifo @in(%shim, {{%mem}}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out(%mem, {{%shim}}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo.link [@in] -> [@out]([] [])
{inside}
  }}
"""
CORE = """
    %place = aie.tile(0, 2)
    aie.core(%place) {
      aie.end
    }
"""
RUN = SEQUENCE.format(name="run", length=64)
SIMPLE = f"module {{{DEVICE.format(name='main', inside=RUN)}}}"
WITH_CORE = f"module {{{DEVICE.format(name='main', inside=RUN + CORE)}}}"
TWO = "module {{{}{}}}".format(
    DEVICE.format(name="first", inside=RUN + SEQUENCE.format(name="half", length=32)),
    DEVICE.format(name="second", inside=RUN),
)
DYNAMIC = """
module {
  aie.device(npu1_1col) {
    aie.runtime_sequence @seq(%n: i32) {
      %address = arith.constant 64 : i32
      aiex.npu.write32(%address, %n) {column = 0 : i32, row = 2 : i32} : i32, i32
    }
  }
}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the command is run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def aiecc(text: str, *arguments: str) -> int:
    Path("design.mlir").write_text(text)
    return main(["aiecc", *arguments, "design.mlir"])


def files() -> set[str]:
    """All files but the design."""
    return {str(path) for path in Path().rglob("*") if path.is_file()} - {"design.mlir"}


def words(path: str) -> list[int]:
    data = Path(path).read_bytes()
    return list(struct.unpack(f"<{len(data) // 4}I", data))


# what is written


@pytest.mark.parametrize(
    "flags, expected",
    [
        pytest.param(["--get-npu-insts"], {"insts_main_run.bin"}, id="new name"),
        pytest.param(
            ["--aie-generate-npu-insts"],
            {"main_run.bin", "design.mlir.prj/input_with_addresses.mlir"},
            id="old name, and what the old drivers left behind",
        ),
        pytest.param(["--get-npu-insts", "--npu-insts-name=a/{0}.txt"], {"a/main_run.txt"}, id="one key"),
        pytest.param(["--get-npu-insts", "--npu-insts-name", "{1}_{0}.bin"], {"run_main.bin"}, id="two keys"),
        pytest.param(
            ["--aie-only-generate-npu", "--npu-insts-name=insts.bin", "--tmpdir=t", "--no-compile"],
            {"insts.bin"},
            id="the oldest name, without programs",
        ),
        pytest.param(["--get-npu-insts", "--output-dir=out"], {"out/insts_main_run.bin"}, id="output folder"),
        pytest.param(
            ["--get-npu-insts", "--get-locmap"], {"insts_main_run.bin", "insts_main_run.bin.locmap.json"}, id="locmap"
        ),
        pytest.param(["--get-input-with-addresses"], {"input_with_addresses.mlir"}, id="addresses"),
        pytest.param(["--get-scratchpad-parameters"], {"params.txt"}, id="parameters"),
        pytest.param(["--get-txn"], {"main_transaction.mlir"}, id="transaction"),
        pytest.param(["--get-txn", "--txn-name=t.mlir"], {"t.mlir"}, id="transaction of that name"),
        pytest.param(["--get-txn-cpp"], {"generated_txn.h"}, id="C++"),
        pytest.param(["--get-txn-cpp", "--txn-cpp-name={0}.h"], {"main.h"}, id="C++ of a device"),
        pytest.param(
            ["--get-cdo"],
            {f"cdo_main/main_aie_cdo_{part}.bin" for part in ("elfs", "init", "enable")},
            id="CDO",
        ),
        pytest.param(
            ["--aie-generate-cdo", "--tmpdir=t", "--no-compile"],
            {f"t/main_aie_cdo_{part}.bin" for part in ("elfs", "init", "enable")},
            id="CDO of old",
        ),
        pytest.param(["--get=placed.mlir,npu_lowered.mlir"], {"placed.mlir", "npu_lowered.mlir"}, id="stages"),
        pytest.param(["-g", "insts_{0}.bin"], {"insts_main_run.bin"}, id="an output by its edge"),
        pytest.param(["--get-npu-insts", "-n"], set(), id="dry run"),
        pytest.param(["--get-npu-insts=false", "--get-txn"], {"main_transaction.mlir"}, id="taken back"),
    ],
)
def test_names_and_places(here: Path, flags: list[str], expected: set[str]) -> None:
    assert aiecc(SIMPLE, *flags) == 0
    assert files() == expected


def test_control_packets_need_an_overlay_and_become_the_instructions_of_old_drivers(here: Path) -> None:
    names = {"main_ctrlpkt.bin", "main_ctrlpkt_dma_seq.bin", "main_ctrlpkt.elf"}
    assert aiecc(SIMPLE, "--get-ctrlpkt", "--generate-ctrl-pkt-overlay") == 0
    assert files() == names
    sending = words("main_ctrlpkt_dma_seq.bin")
    both = ["--aie-generate-ctrlpkt", "--aie-generate-npu-insts", "--npu-insts-name=insts.bin", "--no-compile"]
    assert aiecc(SIMPLE, *both, "--generate-ctrl-pkt-overlay") == 0
    assert words("insts.bin") == sending and files() == {*names, "insts.bin"}
    # both in one file, whose loader knows the packets from the buffers of the sequence
    code = read_container(Path("main_ctrlpkt.elf").read_bytes()).code()
    assert {patch.buffer for patch in code.patches} == {"control-packet"}
    assert code.buffers["control-packet"].data == Path("main_ctrlpkt.bin").read_bytes()


def test_instructions_are_those_of_the_lowered_design(here: Path) -> None:
    """By another way: what the last stage makes, translated; and the words of `tilewright compile`."""
    assert aiecc(SIMPLE, "--get-npu-insts", "--get=npu_lowered.mlir") == 0
    assert main(["translate", "--aie-npu-to-binary", "npu_lowered.mlir", "-o", "translated.bin"]) == 0
    assert words("insts_main_run.bin") == words("translated.bin")
    assert words("insts_main_run.bin") == tw.compile(SIMPLE).txn("run").tolist()


def test_instructions_run(here: Path) -> None:
    assert aiecc(SIMPLE, "--get-npu-insts") == 0
    source, target = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    tw.compile(SIMPLE).run(source, target, txn=np.fromfile("insts_main_run.bin", np.uint32))
    np.testing.assert_array_equal(source, target)


def test_addressed_design_goes_on_from_where_it_is(here: Path) -> None:
    """What is written for other tools can be read again, and lowers to the same words."""
    assert aiecc(SIMPLE, "--get-npu-insts", "--get-input-with-addresses") == 0
    assert main(["aiecc", "--get-npu-insts", "--npu-insts-name=again.bin", "input_with_addresses.mlir"]) == 0
    assert words("again.bin") == words("insts_main_run.bin")


def test_location_map_names_the_file_and_lines(here: Path) -> None:
    assert aiecc(SIMPLE, "--get-locmap", "--npu-insts-name=i.bin") == 0
    document = json.loads(Path("i.bin.locmap.json").read_text())
    assert (document["device"], document["binary"]) == ("main", "i.bin")
    assert {entry["loc"]["file"] for entry in document["operations"]} == {"design.mlir"}


def test_selection(here: Path) -> None:
    assert aiecc(TWO, "--get-npu-insts") == 0
    assert files() == {"insts_first_run.bin", "insts_first_half.bin", "insts_second_run.bin"}
    chosen = ["--device-name=first", "--sequence-name=half", "--npu-insts-name=only.bin"]
    assert aiecc(TWO, "--get-npu-insts", *chosen) == 0
    assert words("only.bin") == words("insts_first_half.bin") != words("insts_first_run.bin")


def test_header_makes_the_words_of_sequences_with_scalars(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aiecc(DYNAMIC, "--aie-generate-txn-cpp", "--txn-cpp-name=t.h", "--no-compile") == 0
    assert "generate_txn_seq(int32_t v1)" in Path("t.h").read_text()
    assert aiecc(DYNAMIC, "--get-npu-insts") == 1
    complaint = capsys.readouterr().err
    assert "design.mlir:6:7: error: 'aiex.npu.write32' op Cannot translate write32" in complaint
    assert "--get-txn-cpp writes a C++ header" in complaint and files() == {"t.h"}


def test_programs_of_cores_are_given(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CDO files hold the program that a core names, wherever they are written to; without one they are refused."""
    assert aiecc(WITH_CORE, "--get-cdo") == 1
    complaint = capsys.readouterr().err
    assert "the program of core (0, 2) is part of what was asked for: Peano and Chess" in complaint
    assert "--core-elf 0,2=FILE" in complaint and files() == set()

    Path("core.elf").write_bytes(elf(b"\x11\x22\x33\x44" * 4))
    assert aiecc(WITH_CORE, "--get-cdo", "--core-elf", "0,2=core.elf", "--output-dir=with") == 0
    assert aiecc(WITH_CORE, "--get-cdo", "--no-compile", "--output-dir=without") == 0
    loaded, empty = (Path(d, "cdo_main/main_aie_cdo_elfs.bin").read_bytes() for d in ("with", "without"))
    assert b"\x11\x22\x33\x44" * 4 in loaded and len(empty) < len(loaded)
    assert aiecc(WITH_CORE, "--get-cdo", "--core-elf", "0,3=core.elf", "--no-compile") == 1
    assert "--core-elf: there is no core (0, 3)" in capsys.readouterr().err


def elf(program: bytes) -> bytes:
    """An ELF file with one segment, at the start of program memory."""
    header = struct.pack("<4sBBB9xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 2, 264, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    return header + struct.pack("<8I", 1, 84, 0, 0, len(program), len(program), 5, 4) + program


# what is made elsewhere


@pytest.mark.parametrize("name", [*MADE_ELSEWHERE])
def test_what_is_made_elsewhere_is_named_after_the_rest_is_written(
    here: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    host = ["main.cpp"] if name == "host" else []
    assert aiecc(SIMPLE, f"--get-{name}", "--get-npu-insts", *host) == 1
    complaint = capsys.readouterr().err
    assert "design.mlir:2:3: error: cannot make '" in complaint and MADE_ELSEWHERE[name].tool in complaint
    assert files() == {"insts_main_run.bin"}
    assert aiecc(SIMPLE, f"--get-{name}", "--get-npu-insts", "--missing=warn", *host) == 0
    assert "design.mlir:2:3: warning: cannot make '" in capsys.readouterr().err


def test_containers_have_the_names_and_kernels_that_are_asked_for(here: Path) -> None:
    kernel = ["--xclbin-kernel-name=COPY", "--xclbin-instance-name=ONE", "--xclbin-kernel-id=0x123"]
    assert aiecc(SIMPLE, "--get-xclbin", "--get-pdi", "--xclbin-name=build/{0}.xclbin", *kernel) == 0
    first = Xclbin.read(Span(Path("build/main.xclbin").read_bytes()))
    assert first.partition is not None
    (pdi,) = first.partition.pdis
    assert first.kernels_of(pdi) == ["COPY:ONE"] and pdi.image.write() == Path("main.pdi").read_bytes()
    # another design as one more kernel; with the same number its image would not be found
    more = ["--get-xclbin", "--xclbin-input=build/main.xclbin", "--xclbin-kernel-name=B", "--xclbin-name=two.xclbin"]
    assert aiecc(SIMPLE, *more) == 0
    second = Xclbin.read(Span(Path("two.xclbin").read_bytes()))
    assert second.partition is not None
    kernels = [second.kernels_of(pdi) for pdi in second.partition.pdis]
    assert kernels == [["COPY:ONE"], ["B:MLIRAIE"]]
    assert aiecc(SIMPLE, *more, "--xclbin-kernel-id=0x123") == 1


def test_containers_without_machine_code_are_for_the_simulator(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--aie-generate-xclbin", "--xclbin-name=x.xclbin", "--no-compile-host"]
    assert aiecc(WITH_CORE, *flags) == 0
    warning = "warning: no machine code for core (0, 2): 'x.xclbin' is for the simulator alone"
    assert warning in capsys.readouterr().err
    embedded = read_embedded(Xclbin.read(Span(Path("x.xclbin").read_bytes())))
    assert embedded is not None and embedded.cores_without_code == [(0, 2)]
    Path("core.elf").write_bytes(elf(b"\x11\x22\x33\x44" * 4))
    assert aiecc(WITH_CORE, *flags, "--core-elf", "0,2=core.elf", "--no-design") == 0
    assert capsys.readouterr().err == ""
    made = Xclbin.read(Span(Path("x.xclbin").read_bytes()))
    assert made.partition is not None and read_embedded(made) is None
    assert b"\x11\x22\x33\x44" * 4 in made.partition.pdis[0].image.write()


def test_full_elf_has_all_devices_and_sequences(here: Path) -> None:
    assert aiecc(TWO, "--get-full-elf", "--get-pdi") == 0
    made = ElfFile.read(Span(Path("aie.elf").read_bytes()))
    kernels = {kernel["name"]: kernel["instances"] for kernel in made.kernels()}
    assert kernels == {"first": ["half", "run"], "second": ["run"]}
    images = {section.name: section.content.write() for section in made.sections if section.name.startswith(".pdi")}
    assert images == {".pdi.1": Path("first.pdi").read_bytes(), ".pdi.2": Path("second.pdi").read_bytes()}


def test_without_a_wish_programs_are_asked_for(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aiecc(WITH_CORE) == 1
    assert "cannot make the programs of a core: Peano and Chess compile" in capsys.readouterr().err
    assert files() == {"design.mlir.prj/input_with_addresses.mlir"}
    assert aiecc(WITH_CORE, "--no-compile") == 0
    assert aiecc(SIMPLE) == 0


WISHES = [name for name in SELECTORS if name not in ("host", "ctrlpkt")]


@settings(max_examples=12, deadline=None)
@given(wishes=st.lists(st.sampled_from(WISHES), min_size=2, max_size=5, unique=True), dump=st.booleans())
def test_outputs_do_not_depend_on_what_else_is_asked_for(wishes: list[str], dump: bool) -> None:
    """Asked for together, each file is what it is alone; the status is that of the worst."""
    together, status = made(*wishes, dump=dump)
    alone = [made(wish) for wish in wishes]
    assert status == max(one_status for _, one_status in alone)
    assert status == int(bool({*wishes} & {*MADE_ELSEWHERE}))
    assert together == {name: data for one, _ in alone for name, data in one.items()}


@cache
def made(*wishes: str, dump: bool = False) -> tuple[dict[str, bytes], int]:
    """The files that are asked for, and the status."""
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            flags = [f"--get-{wish}" for wish in wishes]
            with patch.dict(os.environ, SOURCE_DATE_EPOCH="1"):
                status = aiecc(SIMPLE, *flags, *(["--dump-intermediates"] if dump else []))
            return {name: Path(name).read_bytes() for name in files() if ".prj" not in name}, status
        finally:
            os.chdir(before)


def test_intermediates_of_a_container_make_it_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that upstream's driver gives to xclbinutil, which `package xclbin` takes as well."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    flags = ["--get-xclbin", "--xclbin-kernel-name=COPY", "--no-design", "--dump-intermediates", "--tmpdir=kept"]
    assert aiecc(SIMPLE, *flags) == 0
    kept = {name: Path("kept", f"{name}_main.json") for name in ("memTopology", "kernels", "partition")}
    partition = json.loads(kept["partition"].read_text())["aie_partition"]
    assert partition["PDIs"][0]["file_name"] == str(here / "kept" / "main.pdi")
    (kernel,) = json.loads(kept["kernels"].read_text())["ps-kernels"]["kernels"]
    assert kernel["name"] == "COPY" and len(kernel["arguments"]) == 8
    given = [f"--partition={kept['partition']}", f"--kernels={kept['kernels']}", f"--memory={kept['memTopology']}"]
    assert main(["package", "xclbin", *given, "-o", "again.xclbin"]) == 0
    made, again = (Xclbin.read(Span(Path(file).read_bytes())) for file in ("aie.xclbin", "again.xclbin"))
    assert [it.content.write() for it in made.sections] == [it.content.write() for it in again.sections]


@pytest.mark.parametrize("flags", [[], ["--load-pdi-to-ctrl-pkt"], ["--sequence-name=half"]])
def test_intermediates_of_a_full_elf_make_it_again(here: Path, flags: list[str]) -> None:
    text = TWO.replace("%to: memref<64xi32>) {", "%to: memref<64xi32>) {\n aiex.npu.load_pdi {device_ref = @first}")
    assert aiecc(text, "--get-full-elf", "--no-design", "--dump-intermediates", "--tmpdir=kept", *flags) == 0
    assert main(["package", "elf", "--config=kept/full_elf_config.json", "-o", "again.elf"]) == 0
    assert Path("aie.elf").read_bytes() == Path("again.elf").read_bytes()
    assert bool([*Path("kept").glob("*.patch_info.json")]) == ("--load-pdi-to-ctrl-pkt" in flags)


# stages


def test_cut_and_resume(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aiecc(SIMPLE, "--get-npu-insts", "--npu-insts-name=whole.bin") == 0
    cut = ["--cut=input_physical.mlir", "--checkpoint=kept"]
    assert aiecc(SIMPLE, "--get-npu-insts", "--npu-insts-name=resumed.bin", *cut) == 0
    assert not Path("resumed.bin").exists()
    Path("design.mlir").unlink()  # the checkpoint is enough
    assert main(["aiecc", "--resume=kept/manifest.json"]) == 0
    assert words("resumed.bin") == words("whole.bin")
    capsys.readouterr()
    assert main(["aiecc", "--resume", "kept/manifest.json", "--device-name=x"]) == 2
    assert "--resume rejects other arguments: --device-name=x" in capsys.readouterr().err
    Path("kept/manifest.json").write_text("[1]")
    assert main(["aiecc", "--resume=kept/manifest.json"]) == 1
    assert "is no manifest of a checkpoint" in capsys.readouterr().err


def test_a_failure_is_kept_to_be_run_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = SIMPLE.replace("@in}", "@none}")
    assert aiecc(broken, "--get-npu-insts", "--enable-repeater-scripts", "--repeater-output-dir=kept") == 1
    first = capsys.readouterr().err
    assert "aiecc: To reproduce, run: aiecc --resume=kept/manifest.json" in first
    assert main(["aiecc", "--resume=kept/manifest.json", "-v"]) == 1
    again = capsys.readouterr().err
    problem = "design.mlir:10:7: error: 'aiex.npu.dma_memcpy_nd' op couldn't find shim_dma_allocation op"
    assert problem in first and problem in again and "placed.mlir" not in again


def test_graph_of_stages(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aiecc", "--get-npu-insts", "--emit-dot"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("digraph aiecc {") and '[label="insts_{0}.bin", style=filled' in text


def test_verbose_says_what_is_done_and_what_is_idle(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aiecc(SIMPLE, "-v", "--get-npu-insts", "--aietools=/x", "-j4", "--profile") == 0
    text = capsys.readouterr().err
    assert "aiecc: note: --aietools has no effect: for compilers of cores" in text
    assert "aiecc: (1/9) input.mlir" in text and "aiecc: (9/9) insts_{0}.bin" in text
    assert "aiecc: wrote edge 'insts_{0}.bin': insts_main_run.bin (" in text and " ms  placed.mlir" in text
    assert aiecc(SIMPLE, "--get-npu-insts", "--peano=/x") == 0
    assert capsys.readouterr().err == ""


# command lines

UPSTREAM = """
--aie-generate-cdo --aie-generate-core-elfs --aie-generate-ctrlpkt --aie-generate-elf
--aie-generate-input-with-addresses --aie-generate-npu --aie-generate-npu-insts --aie-generate-pdi --aie-generate-txn
--aie-generate-txn-cpp --aie-generate-xclbin --aie-only-generate-npu --aie-version --aiesim --aietools=X
--alloc-scheme=bank-aware --bf16-emulation --checkpoint=X --chesscc --compile --compile-host --cores-per-col=2
--ctrlpkt-dma-seq-name=X --ctrlpkt-elf-name=X --ctrlpkt-name=X --cut=X --device-name=X --disable-repeater-scripts
--dump-intermediates --dynamic-objFifos --dynamic-objFifos=false --elf-name=X --emit-dot --emit-scratchpad-parameters
--enable-repeater-scripts --expand-load-pdis --fold-ddr-addr-offset=false --full-elf-name=X --generate-ctrl-pkt-overlay
--generate-full-elf --get=X --get-aiesim --get-cdo --get-core-elfs --get-ctrlpkt --get-elf --get-full-elf --get-host
--get-input-with-addresses --get-locmap --get-npu-insts --get-pdi --get-scratchpad-parameters --get-txn --get-xclbin
--host-target=X --keep-loc --link --link_against_hsa --load-pdi-to-ctrl-pkt --no-aiesim --no-compile --no-compile-host
--no-link --no-materialize --no-progress --no-unified --no-xbridge --no-xchesscc --npu-insts-name=X --nthreads=2
--opt-level=3 --output-dir=X --packet-sw-objFifos --pdi-name=X --peano=X --placer=sa_placer --profile --progress
--repeater-output-dir=X --sa-seed=7 --sequence-name=X --sysroot=X --tmpdir=X --txn-cpp-name=X --txn-name=X --unified
--vectorize --verbose --version --xbridge --xchesscc --xclbin-input=X --xclbin-instance-name=X --xclbin-kernel-id=0x901
--xclbin-kernel-name=X --xclbin-name=X --xclbinutil-path=X -I/x -L/x -O3 -g=X -j4 -ltest_lib -n -nv -o=X -v
"""
"""Flags of all drivers, and of the Makefiles and tests that call them."""


@pytest.mark.parametrize("flag", UPSTREAM.split())
def test_flags_of_all_drivers_are_known(flag: str) -> None:
    assert parse_arguments([flag, "--checkpoint=X", "a.mlir"]).input == "a.mlir"


def test_flags_take_their_values_in_both_ways() -> None:
    for name, flag in FLAGS.items():
        if not flag.value or flag.is_list or name == "resume":
            continue
        given = (flag.choices or ("1",))[0]
        separate, joined = (
            vars(parse_arguments([*words, "a.mlir"])) for words in ([f"--{name}", given], [f"--{name}={given}"])
        )
        assert {**separate, "graph": 0} == {**joined, "graph": 0}, name


def test_old_command_lines_mix_flags_sources_and_flags_of_compilers() -> None:
    line = "-nv --sysroot=/s --host-target=x86_64 a.mlir -I/i -L /l -ltest_lib -Wl,-R/r t.cpp -o t.elf -- -DX k.cc"
    arguments = parse_arguments(line.split())
    assert (arguments.input, arguments.host_output, arguments.dry_run) == ("a.mlir", "t.elf", True)
    assert arguments.host_files == ["-I/i", "-ltest_lib", "-Wl,-R/r", "t.cpp", "-DX", "k.cc"]
    assert arguments.compiles_host and not parse_arguments(["--no-compile-host", *line.split()]).compiles_host


def test_a_variable_that_is_not_set_takes_no_input_away() -> None:
    """`--peano ${PEANO_INSTALL_DIR} aie.mlir`, where there is no Peano."""
    assert parse_arguments(["--get-npu-insts", "--peano", "aie.mlir"]).input == "aie.mlir"
    assert parse_arguments(["--peano", "/opt/peano", "aie.mlir"]).input == "aie.mlir"
    assert parse_arguments(["--tmpdir", "x.mlir", "aie.mlir"]).tmpdir == "x.mlir"


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        pytest.param(["--garbage", "a.mlir"], "Unknown command line argument '--garbage'", id="unknown"),
        pytest.param(["--aie-genrate-npu-insts", "a.mlir"], "Did you mean '--aie-generate-npu-insts'", id="mistyped"),
        pytest.param(["--get-garbage", "a.mlir"], "unknown output selector '--get-garbage'", id="selector"),
        pytest.param(["--get=x", "--get-npu-insts", "a.mlir", "b.mlir"], "Too many positional", id="two inputs"),
        pytest.param([], "no input file specified", id="no input"),
        pytest.param(["--cut=placed.mlir", "a.mlir"], "--cut requires --checkpoint", id="cut to nowhere"),
        pytest.param(["--expand-load-pdis", "--get-ctrlpkt", "a.mlir"], "mutually exclusive", id="exclusive"),
        pytest.param(["--get-full-elf", "--get-ctrlpkt", "a.mlir"], "also require --load-pdi-to-ctrl-pkt", id="both"),
        pytest.param(["--expand-load-pdis", "--load-pdi-to-ctrl-pkt", "a.mlir"], "mutually exclusive", id="ways"),
        pytest.param(["--sa-seed=x", "a.mlir"], "invalid for integer argument", id="no integer"),
        pytest.param(["--placer=x", "a.mlir"], "Cannot find option named 'x'", id="no such placer"),
        pytest.param(["--alloc-scheme=a b=c", "a.mlir"], "is no scheme", id="a scheme that would be two options"),
        pytest.param(["--core-elf=core.elf", "a.mlir"], "is not COL,ROW=FILE", id="no core"),
    ],
)
def test_wrong_usage(arguments: list[str], complaint: str) -> None:
    with pytest.raises(CommandLineError, match=complaint.replace("(", r"\(")):
        parse_arguments(arguments)


@pytest.mark.parametrize(
    "text, flags, complaint",
    [
        pytest.param("module {}", [], "there is no aie.device in the input", id="no device"),
        pytest.param(SIMPLE, ["--device-name=x"], "there is no device 'x'; there is main", id="device"),
        pytest.param(SIMPLE, ["--sequence-name=x"], "there is no runtime sequence 'x'; there is run", id="sequence"),
        pytest.param(TWO, ["--npu-insts-name=i.bin"], "two outputs would be 'i.bin'", id="one name for two"),
        pytest.param(SIMPLE.replace("npu1_1col", "npu9"), [], "npu9", id="what the reader refuses"),
        pytest.param(SIMPLE.replace("@in}", "@none}"), [], "none", id="what a pass refuses"),
    ],
)
def test_mistakes_write_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], text: str, flags: list[str], complaint: str
) -> None:
    assert aiecc(text, "--get-npu-insts", *flags) == 1
    assert complaint in capsys.readouterr().err and files() == set()


def test_a_stage_that_fails_is_reported_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = SIMPLE.replace("@in}", "@none}")
    assert aiecc(broken, "--get-npu-insts", "--get-locmap", "--get-input-with-addresses") == 1
    assert capsys.readouterr().err.count("couldn't find shim_dma_allocation op") == 1
    assert files() == {"input_with_addresses.mlir"}


def test_names_of_the_input_make_no_paths(here: Path) -> None:
    assert aiecc(SIMPLE.replace("@run", '@"../../run"'), "--get-npu-insts", "--get-locmap") == 0
    assert files() == {"insts_main_..%2F..%2Frun.bin", "insts_main_..%2F..%2Frun.bin.locmap.json"}


def test_tables_agree() -> None:
    assert {*SELECTORS} == {*MAKERS, *MADE_ELSEWHERE, "core-elfs"}
    assert {*OLDER.values(), *EDGES.values()} <= {*SELECTORS}


# make

MAKEFILE = """
AIECC = {python} -m tilewright aiecc
all: build/insts.bin
build/insts.bin: design.mlir
\tmkdir -p $(@D)
\tcd $(@D) && $(AIECC) --get-npu-insts --npu-insts-name=$(@F) $(<:%=../%)
build/final.xclbin: design.mlir
\tmkdir -p $(@D)
\tcd $(@D) && $(AIECC) --aie-generate-xclbin --aie-generate-npu-insts --no-compile-host --no-xchesscc --no-xbridge \\
\t  --xclbin-name=$(@F) --npu-insts-name=both.bin $(<:%=../%)
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_makefile_in_the_manner_of_upstreams(here: Path) -> None:
    Path("Makefile").write_text(MAKEFILE.format(python=sys.executable))
    Path("design.mlir").write_text(SIMPLE)

    def make(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["make", *arguments], capture_output=True, text=True, check=False)

    assert make().returncode == 0 and "Nothing to be done" in make().stdout
    assert make("build/final.xclbin").returncode == 0 and Path("build/final.xclbin").is_file()
    assert words("build/both.bin") == words("build/insts.bin")
