"""Kernels in C++ on a core: what they can reach, what goes in and out, how long they take, and how they are kept."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from core_programs import FakeTile, memref_text, run_core
from hypothesis import given
from hypothesis import strategies as st

from tilewright.device import Arch
from tilewright.device.vector_unit import ISSUE_SLOTS, OperationClass, vector_unit
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.native import cpp_compiler
from tilewright.native.cpp_compiler import CompilerError, portable_flags
from tilewright.sim.cpp_kernels import CKernel
from tilewright.sim.kernel_sources import INCLUDE, KernelSource, SourceError
from tilewright.sim.kernels import KernelError, costs

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
Array = npt.NDArray[Any]
LINE = np.zeros(4, np.int16)
SOURCE = """
#include <stdexcept>
extern "C" {
void scale(const int16_t *a, int16_t *b, int32_t n, float f) { for (int i = 0; i < n; i++) b[i] = int16_t(a[i] * f); }
void reals(bfloat16 x, double y, uint16_t bits, bfloat16 *b, double *d, uint16_t *u) {
  b[0] = x, d[0] = y, u[0] = bits;
}
void places(int64_t wide, int32_t narrow, uint8_t byte, bool flag, int64_t *out) {
  out[0] = wide, out[1] = narrow, out[2] = byte, out[3] = flag;
}
// mlir-aie's own headers have such functions: others could replace them, so that a shared library would refuse.
__attribute__((always_inline)) int32_t doubled(int32_t x) { return 2 * x; }
int32_t twice(int32_t x) { return doubled(x); }
float third(int8_t x) { return x / 3.0f; }
bfloat16 half(int32_t x) { return bfloat16(x / 2.0f); }
int8_t small(int32_t x) { return int8_t(x); }
void stream(int32_t *a) {
  tilewright::stream_put(1, a, 16, true);
  tilewright::stream_get(0, a, 8);
}
void wide_cascade(int32_t *a) {
  tilewright::cascade_put(a, 128);
  tilewright::cascade_get(a, 128);
}
void registers(int32_t *a) {
  write_tm(7, 0x1D000);
  a[0] = read_tm(0x1D000);
}
void locks() {
  acquire_greater_equal(48, 1);
  release(49, 2);
  acquire_equal(5, 3);
}
void marked(int32_t *a, int32_t *b) {
  event0();
  for (int i = 0; i < 4; i++)
    aie::store_v(b + 16 * i, aie::mul(aie::load_v<16>(a + 16 * i), 3).to_vector<int32>());
  event1();
}
void scale_vector(int16_t *a, int16_t *b) {
  for (int i = 0; i < 1024; i += 32)
    aie::store_v(b + i, aie::mul(aie::load_v<32>(a + i), int16_t(3)).to_vector<int16_t>());
}
void marked_loop(int32_t *a, int32_t *b) { event0(); b[0] = a[0]; event1(); }
#define NAMED(name) name
float NAMED(add)(int8_t a, int64_t b, int c, int d, int e, int f, int g, int64_t h, float x, double y, int32_t *out) {
  out[0] = a + b + 10 * c + 100 * d + 1000 * e + 10000 * f + 100000 * g + 1000000 * h;
  return float(x + y);
}
void throws() { throw std::runtime_error("out of luck"); }
void forever(volatile int32_t *a) { while (!*a) ; }
#define HALF(scale) (1 << ((scale) - 1)) // what is 1 << -1?
#if 1 << 2 == 4
void shifted(int32_t scale, int32_t *out) {
  constexpr int eight = 1 << 3;
  out[0] = HALF(scale);
  out[1] = (eight + (1<<(scale - 1))) >> (scale & 3);
  out[2] = 0x1 << 4 | -1 << 8 | 1 << 2;
}
#endif
void count(int32_t *a) { static int calls = 0; a[0] = ++calls; }
}
void mangled(int *a) {}
"""
NAMES = (*re.findall(r"^(?:void|float|bfloat16|int\d+_t) (\w+)\(", SOURCE, re.M), "add")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], CKernel]:
    path = tmp_path_factory.mktemp("kernels") / "kernels.cc"
    path.write_text(SOURCE)
    source = KernelSource(path, None, (), NAMES)
    return lambda name: CKernel(source, name)


def call(
    kernel: CKernel, *arguments: Array | tuple[str, str], result: str | None = None, tile: FakeTile | None = None
) -> tuple[FakeTile, Array | None]:
    """Call a kernel in a core's program with buffers, and with constants as (value, type); gives its result, too."""
    buffers = {f"b{number}": value for number, value in enumerate(arguments) if isinstance(value, np.ndarray)}
    constants, names, types = list[str](), list[str](), list[str]()
    for number, value in enumerate(arguments):
        names.append(f"%b{number}" if isinstance(value, np.ndarray) else f"%c{number}")
        types.append(memref_text(value) if isinstance(value, np.ndarray) else value[1])
        if not isinstance(value, np.ndarray):
            constants.append(f"%c{number} = arith.constant {value[0]} : {value[1]}")
    given = f"-> {result}" if result else "-> ()"
    lines = [*constants]
    text = f"func.call @{kernel.name}({', '.join(names)}) : ({', '.join(types)}) {given}"
    out: Array | None = None
    if result:
        dtype = {"i32": np.int32, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8}[result]
        out = buffers["out"] = np.zeros(1, dtype)
        store = f"%at = arith.constant 0 : index\nmemref.store %r, %out[%at] : {memref_text(out)}"
        lines += [f"%r = {text}", store]
    else:
        lines.append(text)
    made = tile or FakeTile({})
    made.buffers, made.kernels = buffers, {kernel.name: kernel}
    declaration = f"func.func private @{kernel.name}({', '.join(types)}) {given if result else ''}"
    return run_core("\n".join(lines), made, outside=declaration), out


def test_buffers_and_numbers(kernel: Callable[[str], CKernel]) -> None:
    a, b = np.arange(-4, 4, dtype=np.int16), np.zeros(8, np.int16)
    call(kernel("scale"), a, b, ("8", "i32"), ("2.5", "f32"))
    assert b.tolist() == [int(x * 2.5) for x in a.tolist()]
    # The same from Python, without a core.
    kernel("scale")(a, b, 8, -1.0)
    assert (b == -a).all()


@pytest.mark.parametrize("scale", [-31, -1, 0, 1, 2, 8, 31, 32, 33, 64])
def test_a_one_that_is_shifted_by_any_amount(scale: int, kernel: Callable[[str], CKernel], tmp_path: Path) -> None:
    """Cores shift the other way by a negative amount; kernels that round rely on it where they scale by 1."""
    inline = CKernel(KernelSource(None, SOURCE, (), ("shifted",)), "shifted")
    for shifted in (kernel("shifted"), inline):
        out = np.zeros(3, np.int32)
        call(shifted, (str(scale), "i32"), out)
        one = int(np.uint32(1 << scale - 1 if 0 < scale <= 32 else 0).view(np.int32))
        assert out.tolist() == [one, (8 + one) >> (scale & 3), 16 | -256 | 4]


def test_short_and_long_reals_are_passed_as_they_are(kernel: Callable[[str], CKernel]) -> None:
    b, d, u = np.zeros(1, ml_dtypes.bfloat16), np.zeros(1), np.zeros(1, np.int16)
    call(kernel("reals"), ("1.5", "bf16"), ("0.1", "f64"), ("1.0", "f16"), b, d, u)
    assert (float(b[0]), d[0], u.view(np.float16)[0]) == (1.5, 0.1, 1.0)


def test_integers_of_all_sizes(kernel: Callable[[str], CKernel]) -> None:
    places, out = kernel("places"), np.zeros(4, np.int64)

    @given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-128, 127))
    def check(wide: int, narrow: int, byte: int) -> None:
        places(wide, narrow, byte, True, out)
        assert out.tolist() == [wide, narrow, byte & 0xFF, 1]

    check()
    constants = ("-5", "index"), ("-6", "i32"), ("-7", "i8"), ("1", "i32")
    call(places, *constants, out)
    assert out.tolist() == [-5, -6, 249, 1]


@pytest.mark.parametrize(
    "name, value, type, result, expected",
    [
        ("twice", "21", "i32", "i32", 42),
        ("third", "-7", "i8", "f32", np.float32(-7 / 3)),
        ("small", "300", "i32", "i8", 44),
        ("half", "3", "i32", "bf16", 1.5),
    ],
)
def test_results(
    name: str, value: str, type: str, result: str, expected: Any, kernel: Callable[[str], CKernel]
) -> None:
    _, out = call(kernel(name), (value, type), result=result)
    assert out is not None and out[0] == expected


def test_a_name_that_the_headers_overload(kernel: Callable[[str], CKernel]) -> None:
    """Registers and stack are filled as the call says, since no signature is known."""
    out = np.zeros(1, np.int32)
    whole = [("-1", "i8"), ("3", "i64"), *((str(number), "i32") for number in range(1, 6)), ("7", "i64")]
    _, result = call(kernel("add"), *whole, ("1.5", "f32"), ("0.25", "f64"), out, result="f32")
    assert out[0] == 7_543_212 and result is not None and result[0] == 1.75


def test_streams(kernel: Callable[[str], CKernel]) -> None:
    a = np.arange(4, dtype=np.int32)
    tile, _ = call(kernel("stream"), a, tile=FakeTile({}, stream=[b"\1\0\0\0\2\0\0\0"]))
    assert tile.log == [("put_stream", 1, np.arange(4, dtype=np.int32).tobytes(), "last")]
    assert a.tolist() == [1, 2, 2, 3]


def test_a_wide_value_takes_two_steps_of_the_cascade(kernel: Callable[[str], CKernel]) -> None:
    a = np.arange(32, dtype=np.int32)
    raw = a.tobytes()
    tile, _ = call(kernel("wide_cascade"), a, tile=FakeTile({}, cascade=[b"\1" * 64, b"\2" * 64]))
    assert tile.log == [("put_cascade", raw[:64]), ("put_cascade", raw[64:])]
    assert a.tobytes() == b"\1" * 64 + b"\2" * 64


def test_registers_and_locks(kernel: Callable[[str], CKernel]) -> None:
    a = np.zeros(1, np.int32)
    tile, _ = call(kernel("registers"), a)
    assert tile.registers == {0x1D000: 7} and a[0] == 7
    tile, _ = call(kernel("locks"))
    assert tile.log == [("acquire", 48, -1), ("release", 49, 2), ("acquire", 5, 3)]


def test_time_passes_between_events(kernel: Callable[[str], CKernel]) -> None:
    """Four vectors are stored in two instructions each, and the loop has to fill; see `VectorUnit.cycles`."""
    a, b = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    tile, _ = call(kernel("marked"), a, b, tile=FakeTile({}, hears_events=True))
    (_, first, begin), (_, second, end) = tile.log
    assert (first, second) == (0, 1) and end - begin >= 16
    silent, _ = call(kernel("marked"), a, b)
    assert silent.log == [] and silent.cycles == tile.cycles


def test_a_loop_over_scalars_takes_ten_cycles_an_element(kernel: Callable[[str], CKernel]) -> None:
    a, b = np.zeros(64, np.int32), np.zeros(64, np.int32)
    tile, _ = call(kernel("marked_loop"), a, b, tile=FakeTile({}, hears_events=True))
    assert tile.log[1][2] - tile.log[0][2] == 640
    declared, _ = call(costs(lambda a, b: a.size)(kernel("marked")), a, b)
    plain, _ = call(kernel("marked_loop"), a, b)
    assert declared.cycles + 640 - 64 == plain.cycles


def test_a_tuned_loop_takes_what_was_measured(kernel: Callable[[str], CKernel]) -> None:
    """72 cycles for 1024 numbers of 16 bits times a constant: mlir-aie's guide, section 4c."""
    a, b = np.arange(1024, dtype=np.int16), np.zeros(1024, np.int16)
    work = kernel("scale_vector")
    counted, nothing = (
        call(each, a, b, tile=FakeTile({}, arch=Arch.AIE2))[0] for each in (work, costs(0)(kernel("scale_vector")))
    )
    assert counted.cycles - nothing.cycles == 72
    assert (b == 3 * a).all()


def test_what_only_a_core_has_is_refused_without_one(kernel: Callable[[str], CKernel]) -> None:
    with pytest.raises(KernelError, match="writing to a stream needs a core"):
        kernel("stream")(np.zeros(4, np.int32))
    with pytest.raises(DiagnosedError, match=r"core.mlir:8:1: error: cannot call @throws: out of luck"):
        call(kernel("throws"))


@pytest.mark.parametrize(
    "name, arguments, told",
    [
        ("scale", (np.zeros(4, np.int32), LINE, ("1", "i32"), ("1.0", "f32")), "argument 0 is a pointer"),
        ("scale", (LINE, LINE, ("1.0", "f32"), ("1.0", "f32")), "argument 2 is an integer"),
        ("scale", (LINE, LINE, ("1", "i32"), ("1.0", "f64")), "of 4 bytes, got f64"),
        ("scale", (LINE, LINE, ("1", "i32"), ("1.0", "bf16")), "of 4 bytes, got bf16"),
        ("twice", (("1", "i32"), ("1", "i32")), "it takes 1 arguments, got 2"),
    ],
)
def test_calls_that_do_not_fit(name: str, arguments: Any, told: str, kernel: Callable[[str], CKernel]) -> None:
    with pytest.raises(DiagnosedError, match=f"error: cannot call @{name}: .*{told}"):
        call(kernel(name), *arguments)


def test_a_result_of_another_type_is_refused(kernel: Callable[[str], CKernel]) -> None:
    with pytest.raises(DiagnosedError, match="it gives an integer of 4 bytes, but the call takes f32"):
        call(kernel("twice"), ("1", "i32"), result="f32")


@pytest.mark.parametrize(
    "array, told", [(np.zeros(8, np.int16)[::2], "do not follow it"), (None, "cannot be written to")]
)
def test_arrays_that_c_cannot_have(array: Array | None, told: str, kernel: Callable[[str], CKernel]) -> None:
    given = np.zeros(4, np.int16) if array is None else array
    given.flags.writeable = array is not None
    with pytest.raises(KernelError, match=told):
        kernel("scale")(np.zeros(4, np.int16), given, 1, 1.0)


def test_a_function_has_to_be_one_of_c(kernel: Callable[[str], CKernel]) -> None:
    for name in ("mangled", "exp", "nothing"):  # libm's `exp` is no kernel
        with pytest.raises(KernelError, match=f"defines no function '{name}'"):
            kernel(name)


def test_ctrl_c_ends_a_kernel_that_never_does(kernel: Callable[[str], CKernel]) -> None:
    work = kernel("forever")
    work(np.ones(1, np.int32))
    # Another process, since this one's other threads wait for the kernel.
    subprocess.Popen(
        [sys.executable, "-c", f"import os, time; time.sleep(0.3); os.kill({os.getpid()}, {signal.SIGINT})"]
    )
    with pytest.raises(KeyboardInterrupt):
        work(np.zeros(1, np.int32))
    work(np.ones(1, np.int32))


# The compiler, and what is kept.


def test_the_counters_of_the_headers_are_those_of_the_vector_unit() -> None:
    text = (INCLUDE / "tilewright" / "core.hpp").read_text()
    body = re.findall(r"enum count_class[^{]*{([^}]*)}", text)[0]
    names = [name for name in re.findall(r"\w+", body) if name != "count_classes"]
    assert names == [kind.name.lower() for kind in OperationClass]


@given(st.lists(st.integers(0, 1000), min_size=10, max_size=10), st.integers(0, 9))
def test_more_operations_never_take_less_time(counts: list[int], kind: int) -> None:
    unit = vector_unit(Arch.AIE2)
    more = [*counts]
    more[kind] += 1
    assert (
        unit.cycles(counts) <= unit.cycles(more) <= unit.cycles(counts) + unit.scalar_mac_cycles + unit.loop_cycles + 1
    )
    assert all(unit.cycles(counts) * width >= sum(counts[k] for k in kinds) for kinds, width in ISSUE_SLOTS)


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder / "k.cc"


VALUE = 'extern "C" int value() { return VALUE; }'


def test_a_kernel_is_compiled_once_and_again_when_anything_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    path = written(tmp_path, k_cc=f'#include "v.h"\n{VALUE}', v_h="#define VALUE 1")
    runs = list[Any]()
    real = cpp_compiler._translate
    monkeypatch.setattr(cpp_compiler, "_translate", lambda unit: runs.append(unit) or real(unit))
    assert CKernel(path, "value")() == 1
    runs.clear()
    begin = time.process_time()
    assert CKernel(path, "value")() == 1 and not runs
    assert time.process_time() - begin < 0.05, "from the cache it takes less than 50 ms"
    written(tmp_path, v_h="#define VALUE 2")
    assert CKernel(path, "value")() == 2 and len(runs) == 1
    # A damaged library is made again, not loaded.
    for file in (tmp_path / "cache" / "kernels").glob("*.so"):
        file.write_bytes(file.read_bytes()[:-9] + b"something")
    assert CKernel(path, "value")() == 2


def test_first_use_from_threads_and_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    path = written(tmp_path, k_cc=VALUE.replace("VALUE", "7"))
    code = f"from tilewright.sim.kernels import c_kernel; print(c_kernel({str(path)!r}, 'value')())"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    found = list[int]()
    threads = [threading.Thread(target=lambda: found.append(CKernel(path, "value")())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [7] * 3 and other.communicate()[0] == "7\n"


@pytest.mark.parametrize(
    "flags, kept",
    [
        (
            ["-DA=1", "-D", "B", "-I", "inc", "-UA", "-std=c++17"],
            ["-DA=1", "-D", "B", "-I", "inc", "-UA", "-std=c++17"],
        ),
        (["-O2", "--target=aie2-none-unknown-elf", "-Wno-parentheses", "-mllvm", "-x=1", "-c", "-fno-exceptions"], []),
    ],
)
def test_flags_for_cores_are_left_out(flags: list[str], kept: list[str]) -> None:
    assert portable_flags(flags) == kept


def test_a_flag_that_is_not_known_is_not_left_out() -> None:
    with pytest.raises(CompilerError, match="'--magic' is no flag that is known here"):
        portable_flags(["--magic"])


def test_a_computer_without_a_compiler_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(cpp_compiler, "find_spec", lambda name: None)
    with pytest.raises(SourceError, match=r"there is no compiler for C\+\+.*pip install 'tilewright\[cpp\]'"):
        CKernel(written(tmp_path, k_cc=VALUE), "value")


def test_names_of_programs_never_become_files() -> None:
    names = ("../../escape", 'a"b', "a b", "ä", "f")
    source = KernelSource(None, 'extern "C" int f() { return 1; }', (), names)
    assert source.shown == "f.cc" and CKernel(source, "f")() == 1
