"""Machine code of cores: from files, or made by Peano, in whose place is a program that checks how it is called."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from container_files import core_elf
from peano_stand_in import calls, install, names_in, object_file

import tilewright as tw
from tilewright.cli.main import main
from tilewright.device import TileId
from tilewright.driver.compiled_design import compile_text
from tilewright.driver.core_programs import CompileOptions, CorePrograms, core_elfs
from tilewright.native.peano import PeanoError, find_peano

TWO_CORES = """
aie.device({device}) {{
  %left = aie.tile(0, 2)
  %right = aie.tile(0, 3)
  %lock = aie.lock(%left, 3) {{init = 1 : i32}}
  %data = aie.buffer(%left) {{sym_name = "data"}} : memref<16xi32>
  {outside}
  %a = aie.core(%left) {{
    aie.use_lock(%lock, AcquireGreaterEqual, 1)
    {body}
    aie.end
  }}
  %b = aie.core(%right) {{
    %c1 = arith.constant 1 : index
    %x = memref.load %data[%c1] : memref<16xi32>
    memref.store %x, %data[%c1] : memref<16xi32>
    aie.end
  }}
}}
"""
KERNEL = 'func.func private @scale(memref<16xi32>) attributes {{link_with = "scale.o"{more}}}'.format
CALL = "func.call @scale(%data) : (memref<16xi32>) -> ()"
SOURCE = 'extern "C" void scale(int *data) { data[0] *= 2; }\n'


@pytest.fixture
def peano(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PEANO_INSTALL_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return install(tmp_path / "peano")


def made(
    peano: Path | None,
    body: str = "",
    outside: str = "",
    device: str = "npu1_1col",
    options: CompileOptions | None = None,
) -> CorePrograms:
    design = compile_text(TWO_CORES.format(device=device, body=body, outside=outside), "design.mlir")
    return core_elfs(design.device(), peano_dir=peano, options=options)


@pytest.mark.parametrize("device, target", [("npu1_1col", "aie2"), ("npu2_1col", "aie2p")])
def test_each_core_goes_through_the_commands_of_upstreams_driver(peano: Path, device: str, target: str) -> None:
    told = list[str]()
    programs = made(peano, device=device, options=CompileOptions(jobs=1, say=told.append))
    assert [*programs.elfs] == [TileId(0, 2), TileId(0, 3)]
    assert not programs.missing
    assert calls(peano)[:3] == [
        [
            *("opt", "--passes=default<O1>", "-inline-threshold=10", "-S"),
            *("llvmIR_main_core_0_2.ll", "-o", "opted_main_core_0_2.ll"),
        ],
        [
            *("llc", "opted_main_core_0_2.ll", "-O2", f"--march={target}", "--function-sections", "--filetype=obj"),
            *("-o", "objects_main_core_0_2.o"),
        ],
        [
            *("clang", "-O2", f"--target={target}-none-unknown-elf", f"-fuse-ld={peano}/bin/ld.lld"),
            *("objects_main_core_0_2.o", "-Wl,--gc-sections", "-Wl,--orphan-handling=error"),
            *("-Wl,-T,ldScripts_main_core_0_2.ld.script", "-o", "elfs_main_core_0_2.elf"),
        ],
    ]
    assert [text.partition(":")[0] for text in told] == ["core (0, 2)", "core (0, 3)"]
    assert [text.partition("(")[2].partition("(")[2] for text in told] == ["1 of 2)", "2 of 2)"]


def test_levels_are_passed_on_and_held_back_where_upstream_does(peano: Path) -> None:
    made(peano, options=CompileOptions(level=3, jobs=1))
    opt, llc, clang = calls(peano)[:3]
    assert opt[1:3] == ["-disable-loop-idiom-memset", "--passes=default<O1>"]
    assert "-O3" in llc and "-O3" in clang
    made(peano, options=CompileOptions(level=0, jobs=1))
    assert calls(peano)[6][1] == "--passes=default<O0>"


def test_what_was_compiled_is_kept_and_damage_is_noticed(peano: Path, tmp_path: Path) -> None:
    first = made(peano)
    assert len(calls(peano)) == 6
    assert made(peano).elfs == first.elfs
    assert len(calls(peano)) == 6, "nothing is compiled again"
    for path in (tmp_path / "cache" / "cores").iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert made(peano).elfs == first.elfs
    assert len(calls(peano)) == 12
    (peano / "bin" / "clang").write_text((peano / "bin" / "clang").read_text() + "\n# another one\n")
    made(peano)
    assert len(calls(peano)) == 18, "another compiler makes other programs"


def test_two_threads_want_the_same(peano: Path) -> None:
    found = list[CorePrograms]()
    threads = [threading.Thread(target=lambda: found.append(made(peano))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(calls(peano)) == 6


def test_all_files_on_the_way_can_be_kept(peano: Path, tmp_path: Path) -> None:
    made(peano, options=CompileOptions(keep=tmp_path / "kept"))
    kinds = ("elfs_{}.elf", "ldScripts_{}.ld.script", "llvmIR_{}.ll", "objects_{}.o", "opted_{}.ll")
    cores = ("main_core_0_2", "main_core_0_3")
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {k.format(core) for k in kinds for core in cores}


# Kernels.


def test_a_kernel_is_compiled_from_the_source_beside_the_design(peano: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.cc").write_text('#include "factor.h"\n' + SOURCE)
    (tmp_path / "factor.h").write_text("")
    made(peano, CALL, KERNEL(more=""), options=CompileOptions(jobs=1, keep=tmp_path / "kept"))
    (command,) = [call for call in calls(peano) if call[0] == "clang++"]
    assert command[1:13] == [
        *("-c", "-std=c++20", "-Wno-parentheses", "-Wno-attributes", "-Wno-macro-redefined", "-Wno-empty-body"),
        *("-O2", "-DNDEBUG", "-D__AIE_API_AIE_ADF_HPP__", "--target=aie2-none-unknown-elf", "-iquote", str(tmp_path)),
    ]
    assert "INPUT(0_scale.o)" in (tmp_path / "kept" / "ldScripts_main_core_0_2.ld.script").read_text()
    assert "INPUT" not in (tmp_path / "kept" / "ldScripts_main_core_0_3.ld.script").read_text()


def test_a_changed_header_compiles_the_kernel_again(peano: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.cc").write_text(SOURCE)
    flags = f', tilewright.compile_flags = ["-DN=4", "-I{tmp_path}"]'
    made(peano, CALL, KERNEL(more=flags))
    (command,) = [call for call in calls(peano) if call[0] == "clang++"]
    assert command[command.index("-iquote") + 2 :][:2] == ["-DN=4", f"-I{tmp_path}"]
    (tmp_path / "scale.cc").write_text(SOURCE + "// changed\n")
    made(peano, CALL, KERNEL(more=flags))
    assert len([call for call in calls(peano) if call[0] == "clang++"]) == 2


def test_a_source_in_the_design_and_another_name_for_its_function(peano: Path) -> None:
    more = ', tilewright.source = "void old_name(int *x) {}\\0A", tilewright.symbol = "old_name"'
    made(peano, CALL, KERNEL(more=more))
    assert ["llvm-objcopy", "--redefine-sym=old_name=scale"] in [call[:2] for call in calls(peano)]


def test_an_object_that_is_there_is_linked_as_it_is(peano: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.o").write_bytes(object_file(["scale"], []))
    (tmp_path / "scale.cc").write_text("syntax error")
    made(peano, CALL, KERNEL(more=""), options=CompileOptions(keep=tmp_path / "kept"))
    assert names_in((tmp_path / "kept" / "0_scale.o").read_bytes())["defined"] == ["scale"]
    assert not [call for call in calls(peano) if call[0] == "clang++"]


def test_ir_of_kernels_is_compiled_and_linked(peano: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.ll").write_text("define void @scale(ptr %x) { ret void }\n")
    outside = 'func.func private @scale(memref<16xi32>) attributes {link_with = "scale.ll"}'
    made(peano, CALL, outside)
    (command,) = [call for call in calls(peano) if call[0] == "clang" and "-c" in call]
    assert command[1:4] == ["-c", "-O2", "--target=aie2-none-unknown-elf"]


# What goes wrong.


def test_a_kernel_that_is_nowhere_is_named_with_what_to_do(peano: Path) -> None:
    with pytest.raises(tw.CompileError) as error:
        made(peano, CALL, KERNEL(more=""))
    text = str(error.value)
    assert "design.mlir:8:8: error: core (0, 2) calls @scale, of which there is no object file and no source" in text
    assert "design.mlir:7:3: note: it is linked from 'scale.o': put that, or its C++ source, beside the design" in text


def test_what_a_compiler_says_is_shown_whole_with_the_core_and_the_source(peano: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.cc").write_text("void scale(int *x) {\nsyntax error here\n")
    with pytest.raises(tw.CompileError) as error:
        made(peano, CALL, KERNEL(more=""))
    assert str(error.value) == (
        "design.mlir:8:8: error: core (0, 2) cannot be compiled: clang++ refuses 'scale.cc'\n"
        "design.mlir:8:8: note: of 'scale.cc' it says:\n"
        "scale.cc:2:1: error: expected expression\nsyntax error here\n1 error generated."
    )


def test_a_linker_that_fails_is_shown_too_and_nothing_is_kept(peano: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.o").write_bytes(object_file(["another"], []))
    for _ in range(2):
        with pytest.raises(tw.CompileError, match=r"(?s)core \(0, 2\) cannot.*clang fails.*undefined symbol: scale"):
            made(peano, CALL, KERNEL(more=""))


def test_an_object_of_this_computer_is_refused(peano: Path, tmp_path: Path) -> None:
    data = bytearray(object_file(["scale"], []))
    data[18:20] = (62).to_bytes(2, "little")
    (tmp_path / "scale.o").write_bytes(data)
    with pytest.raises(tw.CompileError, match="is no object file for cores"):
        made(peano, CALL, KERNEL(more=""))


def test_a_folder_without_peano_is_one_clear_error(peano: Path, tmp_path: Path) -> None:
    with pytest.raises(PeanoError, match=r"no Peano in '.*empty': no program 'bin/opt'; the releases of Xilinx"):
        find_peano(tmp_path / "empty")
    with pytest.raises(PeanoError, match="there is no Peano, which compiles programs of cores: the releases of"):
        find_peano()


def test_without_peano_cores_without_machine_code_are_listed(peano: Path) -> None:
    programs = made(None)
    assert not programs.elfs
    assert [core.place for core in programs.missing] == [TileId(0, 2), TileId(0, 3)]


def test_the_environment_names_it(peano: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEANO_INSTALL_DIR", str(peano))
    assert not made(None).missing
    monkeypatch.setenv("PEANO_INSTALL_DIR", str(peano / "gone"))
    assert len(made(None).missing) == 2, "a variable that is left over says nothing"


# Given machine code.


@pytest.mark.parametrize(
    "name", ["main_core_0_2.elf", "core_0_2.elf", "elfs_main_core_0_2.elf", "elfs_main_core_0_2/elfs_main_core_0_2.elf"]
)
def test_files_of_upstreams_drivers_are_found_in_a_folder(peano: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "programs" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(core_elf())
    design = compile_text(TWO_CORES.format(device="npu1_1col", body="", outside=""), "design.mlir")
    programs = core_elfs(design.device(), folders=[tmp_path / "programs"])
    assert programs.elfs == {TileId(0, 2): core_elf()}
    assert [core.place for core in programs.missing] == [TileId(0, 3)]
    compiled = core_elfs(design.device(), folders=[tmp_path / "programs"], peano_dir=peano)
    assert compiled.elfs[TileId(0, 2)] == core_elf(), "what is given is not compiled"
    assert [*compiled.elfs] == [TileId(0, 2), TileId(0, 3)]


WRONG_FILES = {
    "no ELF file": (b"no", "the ELF header takes 52 bytes"),
    "of another machine": (core_elf()[:18] + b"\x3e\0" + core_elf()[20:], "it is for machine 62, and cores are"),
}


@pytest.mark.parametrize("data, text", WRONG_FILES.values(), ids=WRONG_FILES)
def test_files_that_are_no_programs_are_refused_at_the_core(
    peano: Path, tmp_path: Path, data: bytes, text: str
) -> None:
    (tmp_path / "a.elf").write_bytes(data)
    design = compile_text(TWO_CORES.format(device="npu1_1col", body="", outside=""), "design.mlir")
    with pytest.raises(
        tw.CompileError, match=rf"design.mlir:8:8: error: core \(0, 2\): '.*a.elf' is no program.*{text}"
    ):
        core_elfs(design.device(), {TileId(0, 2): tmp_path / "a.elf"})
    with pytest.raises(tw.CompileError, match=r"there is no core \(0, 5\) to give a program to; there is \(0, 2\)"):
        core_elfs(design.device(), {TileId(0, 5): tmp_path / "a.elf"})


# Commands.


def test_commands_take_the_compiler(peano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = TWO_CORES.format(device="npu1_1col", body="", outside="").rstrip().removesuffix("}")
    (tmp_path / "d.mlir").write_text(source + "aie.runtime_sequence @run(%x: memref<16xi32>) { }\n}")
    assert main(["package", "d.mlir", "-o", "d.xclbin", "--peano", str(peano), "--json"]) == 0
    assert not json.loads(capsys.readouterr().out).get("cores_without_code")
    assert main(["aiecc", "--get-core-elfs", "--dump-intermediates", "-j1", "-O3", f"--peano={peano}", "d.mlir"]) == 0
    assert (tmp_path / "elfs_main_core_0_2" / "elfs_main_core_0_2.elf").is_file()
    assert (tmp_path / "d.mlir.prj" / "llvmIR_main_core_0_3.ll").is_file()
    assert main(["aiecc", "--get-core-elfs", f"--peano={tmp_path}", "d.mlir"]) == 1
    assert "no program 'bin/opt'" in capsys.readouterr().err
