"""Kernels in C++ on the simulated NPU: compiled for this computer, with all that a core gives them."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.ir.diagnostics import DiagnosedError

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
MODELS = ["fast", "plain"]
LINE = "memref<16xi32>"
FIFO = f"!aie.objectfifo<{LINE}>"
VIEW = f"!aie.objectfifosubview<{LINE}>"


def core(tile: str, calls: str, fifos: tuple[str, str] | None = None, attributes: str = "") -> str:
    """A core that calls kernels four times, with lines that come in as %a and go out as %b."""
    fetch, give = "", ""
    if fifos is not None:
        into, out = fifos
        fetch = f"""
      %in = aie.objectfifo.acquire @{into}(Consume, 1) : {VIEW}
      %a = aie.objectfifo.subview.access %in[0] : {VIEW} -> {LINE}
      %out = aie.objectfifo.acquire @{out}(Produce, 1) : {VIEW}
      %b = aie.objectfifo.subview.access %out[0] : {VIEW} -> {LINE}"""
        give = f"aie.objectfifo.release @{into}(Consume, 1)\n      aie.objectfifo.release @{out}(Produce, 1)"
    return f"""
  aie.core({tile}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {{{fetch}
      {calls}
      {give}
    }}
    aie.end
  }}{attributes}"""


def design(declarations: str, cores: str, extra: str = "", columns: str = "npu1_1col") -> str:
    """Lines go to tile (0, 2), which sends them back."""
    return f"""aie.device({columns}) {{
  {declarations}
  %shim = aie.tile(0, 0)
  %low = aie.tile(0, 2)
  %high = aie.tile(0, 3)
  {extra}
  aie.objectfifo @in(%shim, {{%low}}, 2 : i32) : {FIFO}
  aie.objectfifo @out(%low, {{%shim}}, 2 : i32) : {FIFO}
  {cores}
  aie.runtime_sequence @run(%x: memref<64xi32>, %y: memref<64xi32>) {{
    aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {{id = 1 : i64, metadata = @out}} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {{id = 0 : i64, metadata = @in}} : memref<64xi32>
    aiex.npu.dma_wait {{symbol = @out}}
  }}
}}
"""


KERNELS = """
static int calls = 0;
extern "C" {
void triple(const int32_t *__restrict in, int32_t *__restrict out) {
  for (int i = 0; i < 16; i += 8)
    aie::store_v(out + i, aie::mul(aie::load_v<8>(in + i), FACTOR).to_vector<int32>());
}
void count(int32_t *in, int32_t *out) { out[0] = ++calls; out[1] = int32_t(aie::get_rounding()); }
void again(int32_t *in, int32_t *out) { out[2] = calls; }
void put(int32_t *in, int32_t *out) { tilewright::cascade_put(in, 64); }
void put_nothing(int32_t *in, int32_t *out) {}
void add_cascade(int32_t *in, int32_t *out) {
  aie::vector<int32, 16> above;
  tilewright::cascade_get(&above, 64);
  aie::store_v(out, aie::add(aie::load_v<16>(in), above));
}
void past_the_end(int32_t *in, int32_t *out) { for (int i = 0; i < 17; i++) out[i] = in[i & 15]; }
void before_the_start(int32_t *in, int32_t *out) { out[0] = in[-1]; }
void fill_too_much(int32_t *in, int32_t *out) { __builtin_memset(out, in[0], 68); }
void load_too_much(int32_t *in, int32_t *out) { aie::store_v(out, aie::load_v<16>(in + 8)); }
void divide(int32_t *in, int32_t *out) { out[0] = in[1] / in[0]; }
void misalign(int32_t *in, int32_t *out) { *(int32_t *)((char *)out + 1) = 5; }
void misalign_vector(int32_t *in, int32_t *out) { aie::store_v(out, aie::load_v<8>(in + 1)); }
void look_up(int32_t *in, int32_t *out) { int t[4] = {1, 2, 3, 4}; out[0] = t[in[15]]; }
void crash(int32_t *in, int32_t *out) { out[in[0] + (1 << 28)] = 1; }
void marked(int32_t *in, int32_t *out) { event0(); aie::store_v(out, aie::load_v<16>(in)); event1(); }
}
"""
NAMES = re.findall(r"^void (\w+)", KERNELS, re.M)
DECLARED = "\n  ".join(
    f'func.func private @{name}({LINE}, {LINE}) attributes {{link_with = "kernels.o", '
    'tilewright.compile_flags = ["-DFACTOR=3", "-O2", "--target=aie2-none-unknown-elf"]}'
    for name in NAMES
)


def call(*names: str, arguments: str = "%a, %b") -> str:
    return "\n      ".join(f"func.call @{name}({arguments}) : ({LINE}, {LINE}) -> ()" for name in names)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All designs are here, so that one source is compiled for all of them."""
    found = tmp_path_factory.mktemp("kernels")
    (found / "kernels.cc").write_text(KERNELS)
    return found


def written(folder: Path, text: str, **sources: str) -> Path:
    """A design with more sources beside it."""
    for name, source in sources.items():
        (folder / f"{name}.cc").write_text(source)
    path = folder / "design.mlir"
    path.write_text(text)
    return path


def run(path: Path, model: str, **options: Any) -> tuple[np.ndarray[Any, Any], Any]:
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    return y, tw.compile(path).run(x, y, model=model, **options)


X = np.arange(64)


@pytest.mark.parametrize("model", MODELS)
def test_an_object_file_has_its_source_beside_the_design(model: str, folder: Path) -> None:
    y, result = run(written(folder, design(DECLARED, core("%low", call("triple"), ("in", "out")))), model)
    assert (y == 3 * X).all()
    assert result.cycles > 0


@pytest.mark.parametrize("model", MODELS)
def test_each_core_has_variables_and_modes_of_its_own(model: str, folder: Path) -> None:
    """`count` is called by both cores, and on one of them beside a kernel of another source."""
    mode = 'extern "C" void mode() { aie::set_rounding(aie::rounding_mode::positive_inf); }'
    declarations = f'{DECLARED}\n  func.func private @mode() attributes {{link_with = "mode.o"}}'
    calls = f"func.call @mode() : () -> ()\n      {call('count', 'again')}"
    other = core("%high", call("count", arguments="%own, %own"))
    cores = core("%low", calls, ("in", "out")) + other
    path = written(folder, design(declarations, cores, f"%own = aie.buffer(%high) : {LINE}"), mode=mode)
    y, _ = run(path, model)
    assert y.reshape(4, 16)[:, :3].tolist() == [[n, 9, n] for n in (1, 2, 3, 4)]
    # A device that is loaded afresh begins anew.
    assert run(path, model)[0][0] == 1


def cascade(sender: str) -> str:
    return design(
        DECLARED,
        core("%low", call("add_cascade"), ("in", "out")) + core("%high", call(sender, arguments="%own, %own")),
        f"%own = aie.buffer(%high) : {LINE} = dense<100>\n  aie.cascade_flow(%high, %low)",
    )


@pytest.mark.parametrize("model", MODELS)
def test_kernels_stop_at_the_cascade_and_go_on(model: str, folder: Path) -> None:
    y, _ = run(written(folder, cascade("put")), model)
    assert (y == X + 100).all()


@pytest.mark.parametrize("model", MODELS)
def test_a_hang_names_the_kernel_that_waits(model: str, folder: Path) -> None:
    with pytest.raises(tw.Hang) as hang:
        run(written(folder, cascade("put_nothing")), model)
    assert "the core of tile (0, 2) in @add_cascade needs an accumulator from the cascade" in str(hang.value)
    # A call that waits is just left: the next run has a machine of its own, and no thread is left behind.
    assert (run(written(folder, cascade("put")), model)[0] == X + 100).all()
    assert threading.active_count() == 1 + sum(thread.name == "LLVM" for thread in threading.enumerate())


@pytest.mark.parametrize("model", MODELS)
def test_a_companion_is_found_in_the_source_of_another(model: str, folder: Path) -> None:
    declarations = f"""func.func private @"0123abcd_work"({LINE}, {LINE}) attributes {{link_with = "both.o",
        tilewright.source_file = "work.cc", tilewright.symbol = "work"}}
      func.func private @clear({LINE}) attributes {{link_with = "both.o"}}"""
    source = """
    #include "clear.cc"
    extern "C" void work(int *in, int *out) { for (int i = 0; i < 16; i++) out[i] += in[i]; }"""
    clear = 'extern "C" void clear(int *out) { for (int i = 0; i < 16; i++) out[i] = 1000; }'
    calls = f"func.call @clear(%b) : ({LINE}) -> ()\n      " + call('"0123abcd_work"')
    path = written(folder, design(declarations, core("%low", calls, ("in", "out"))), work=source, clear=clear)
    assert (run(path, model)[0] == X + 1000).all()


@pytest.mark.parametrize("model", MODELS)
def test_files_of_kernels_are_given_by_name(model: str, folder: Path) -> None:
    work = f"func.func private @work({LINE}, {LINE})"
    source = 'extern "C" void other(int *a, int *b) { for (int i = 0; i < 16; i++) b[i] = -a[i]; }'
    path = written(folder, design(work, core("%low", call("work"), ("in", "out"))), mine=source)
    y, _ = run(path, model, kernels={"work": f"{folder}/mine.cc:other"})
    assert (y == -X).all()
    with pytest.raises(tw.Error, match=r"'mine\.txt' is no source"):
        run(path, model, kernels={"work": "mine.txt"})


ADD_ONE = 'extern "C" void passThroughLine(int *a, int *b, int n) { for (int i = 0; i < n; i++) b[i] = a[i] + 1; }'


def line_design(attributes: str) -> str:
    declaration = f"func.func private @passThroughLine({LINE}, {LINE}, i32) attributes {{{attributes}}}"
    calls = f"%n = arith.constant 16 : i32\n      func.call @passThroughLine(%a, %b, %n) : ({LINE}, {LINE}, i32) -> ()"
    return design(declaration, core("%low", calls, ("in", "out")))


@pytest.mark.parametrize("mode, added", [(None, 1), ("source", 1), ("library", 0)])
def test_sources_or_the_library(mode: str | None, added: int, folder: Path) -> None:
    path = written(folder, line_design('link_with = "line.o"'), line=ADD_ONE)
    assert (run(path, "fast", kernel_mode=mode)[0] == X + added).all()


def test_sources_of_a_checkout_are_taken_when_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = folder / "checkout" / "aie_kernels" / "aie2"
    kernels.mkdir(parents=True)
    (kernels / "line.cc").write_text(ADD_ONE)
    monkeypatch.setenv("TILEWRIGHT_KERNEL_SOURCES", str(folder / "checkout"))
    path = written(folder, line_design('tilewright.source_file = "aie_kernels/aie2/line.cc"'))
    assert (run(path, "fast")[0] == X).all()
    monkeypatch.setenv("TILEWRIGHT_KERNELS", "source")
    assert (run(path, "fast")[0] == X + 1).all()


def line_of(name: str, text: str = KERNELS) -> int:
    return 1 + next(n for n, line in enumerate(text.splitlines()) if f"void {name}(" in line)


def test_a_source_that_does_not_compile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = 'extern "C" void work(int *a, int *b) {\n  b[0] = a[0] + missing;\n  other = 1;\n}\n'
    work = f'func.func private @work({LINE}, {LINE}) attributes {{link_with = "broken.o"}}'
    path = written(folder, design(work, core("%low", call("work"), ("in", "out"))), broken=source)
    assert main(["run", str(path)]) == 1
    said = capsys.readouterr().err
    assert f"{folder}/broken.cc:2:17: error: 'missing' was not declared in this scope" in said
    # All of what the compiler says, and who wanted it compiled.
    assert f"{folder}/broken.cc:3:3: error: 'other' was not declared" in said
    assert f"{path}:19:7: note: @work is called here" in said
    assert "Traceback" not in said


WRONG = {
    "past_the_end": "writes 4 bytes at byte 64 of argument 1, which has 64 bytes",
    "before_the_start": "reads 4 bytes at 4 bytes before argument 0, which has 64 bytes",
    "fill_too_much": "writes 68 bytes at byte 0 of argument 1, which has 64 bytes",
    "load_too_much": "reads 64 bytes at byte 32 of argument 0, which has 64 bytes",
    "divide": "divides by zero, or the smallest number by -1",
    "misalign": "uses a pointer that is not aligned for its type",
    "misalign_vector": "loads or stores a vector at an address that is no multiple of 32",
    "look_up": "uses an index that its array does not have",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_accesses_name_the_line_of_the_kernel(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, design(DECLARED, core("%low", call(name), ("in", "out"))))
    assert main(["run", str(path), "--kernels=checked", "--arg", "x=arange"]) == 1
    said = capsys.readouterr().err
    assert f"{folder}/kernels.cc:{line_of(name)}:" in said and f"error: @{name} {WRONG[name]}" in said
    at = 1 + path.read_text().splitlines().index(f"      {call(name)}")
    assert f"{path}:{at}:7: note: it is called here" in said


def test_checked_kernels_that_do_nothing_wrong_compute_the_same(folder: Path) -> None:
    path = written(folder, design(DECLARED, core("%low", call("triple"), ("in", "out"))))
    assert (run(path, "fast", kernel_mode="checked")[0] == 3 * X).all()


@pytest.mark.parametrize("model", MODELS)
def test_a_kernel_that_crashes_does_not_take_the_process_with_it(model: str, folder: Path) -> None:
    path = written(folder, design(DECLARED, core("%low", call("crash"), ("in", "out"))))
    where = rf"kernels.cc:{line_of('crash')}:1: error: @crash uses memory that is none; --kernels=checked says"
    with pytest.raises(tw.Fault, match=where):
        run(path, model)


def test_a_call_that_does_not_fit_the_source(folder: Path) -> None:
    again = f'func.func private @again({LINE}, i32) attributes {{link_with = "kernels.o", '
    again += 'tilewright.compile_flags = ["-DFACTOR=3"]}'
    calls = f"%n = arith.constant 16 : i32\n      func.call @again(%a, %n) : ({LINE}, i32) -> ()"
    declared = re.sub(r"func.func private @again.*", again, DECLARED)
    with pytest.raises(DiagnosedError, match="argument 1 is a pointer to an integer of 4 bytes, got i32"):
        run(written(folder, design(declared, core("%low", calls, ("in", "out")))), "fast")
