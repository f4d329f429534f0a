"""External kernels: Python functions, C sources, and calls that have neither."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from core_programs import FakeTile, run_core

from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.run_errors import Fault
from tilewright.sim.engine import Process
from tilewright.sim.kernels import CallingCore, KernelError, c_kernel, on_core

Array = npt.NDArray[Any]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def call(text: str, declaration: str, kernel: Callable[..., Any] | None, **buffers: Array) -> FakeTile:
    name = declaration.partition("@")[2].partition("(")[0]
    tile = FakeTile(buffers, {} if kernel is None else {name: kernel})
    return run_core(text, tile, outside=f"func.func private {declaration}")


def test_kernel_writes_to_the_tiles_memory() -> None:
    seen: list[Any] = []

    def scale(source: Array, target: Array, factor: int, offset: float) -> None:
        seen.append((source.dtype, source.shape, factor, offset))
        target[...] = source * factor + offset

    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.zeros((2, 3), np.int32)
    call(
        """%n = arith.constant -3 : i32
        %x = arith.constant 0.5 : bf16
        func.call @scale(%a, %b, %n, %x) : (memref<2x3xi32>, memref<2x3xi32>, i32, bf16) -> ()""",
        "@scale(memref<2x3xi32>, memref<2x3xi32>, i32, bf16)",
        scale,
        a=a,
        b=b,
    )
    assert seen == [(np.dtype(np.int32), (2, 3), -3, 0.5)]
    np.testing.assert_array_equal(b, (a * -3 + 0.5).astype(np.int32))


def test_kernel_gets_strides_of_a_part_and_bf16_elements() -> None:
    buffer = np.zeros((4, 6), ml_dtypes.bfloat16)

    def fill(part: Array) -> None:
        assert part.strides == (24, 2)
        assert part.dtype == ml_dtypes.bfloat16
        part[...] = 1.5

    part = "memref<2x3xbf16, strided<[12, 1], offset: 8>>"
    call(
        f"""%s = memref.subview %b[1, 2] [2, 3] [2, 1] : memref<4x6xbf16> to {part}
        func.call @fill(%s) : ({part}) -> ()""",
        f"@fill({part})",
        fill,
        b=buffer,
    )
    expected = np.zeros((4, 6))
    expected[1::2, 2:5] = 1.5
    np.testing.assert_array_equal(buffer.astype(np.float64), expected)


@pytest.mark.parametrize(
    "type, result, expected",
    [("i32", -5, -5), ("i8", 300, 44), ("f32", 2.5, 2), ("bf16", 1.0, 1), ("i1", True, -1)],
)
def test_result_of_a_kernel(type: str, result: Any, expected: int) -> None:
    out = np.zeros(1, np.int32)
    conversion = {
        "i32": "%r = arith.addi %k, %k : i32\n%v = arith.subi %r, %k : i32",
        "i8": "%v = arith.extsi %k : i8 to i32",
        "i1": "%v = arith.extsi %k : i1 to i32",
    }.get(type, f"%v = arith.fptosi %k : {type} to i32")
    call(
        f"""%k = func.call @get() : () -> {type}
        {conversion}
        %c0 = arith.constant 0 : index
        memref.store %v, %out[%c0] : memref<1xi32>""",
        f"@get() -> {type}",
        lambda: result,
        out=out,
    )
    assert out[0] == expected


@pytest.mark.parametrize(
    "type, result, told",
    [
        pytest.param("i32", np.arange(100), "of shape", id="an array for a number"),
        pytest.param("vector<4xi32>", np.arange(8), "of shape", id="a longer vector"),
        pytest.param("vector<4xi32>", 5, "of shape", id="a number for a vector"),
        pytest.param("i32", 2.7, "gave 2.7", id="nothing is rounded"),
        pytest.param("i32", float("nan"), "gave nan", id="not a number"),
        pytest.param("i32", "5", "gave '5'", id="a text"),
        pytest.param("f32", 1j, "gave 1j", id="complex"),
        pytest.param("f32", np.array(None), "gave array", id="an object"),
    ],
)
def test_a_result_of_another_kind_is_a_located_error(type: str, result: Any, told: str) -> None:
    """It never gets over what is behind it in the core's context."""
    with pytest.raises(DiagnosedError, match=f"takes a result of type {type} of @get, but its kernel gave") as error:
        call(f"%k = func.call @get() : () -> {type}", f"@get() -> {type}", lambda: result)
    assert told in str(error.value)


@pytest.mark.parametrize(
    "type, result, expected",
    [
        ("i32", 3.0, 3),
        ("i32", 1 << 70 | 5, 5),
        ("i32", np.array([7]), 7),
        ("i32", np.uint64(1 << 63), 0),
        ("i1", 1.0, 1),
    ],
)
def test_a_result_that_stands_for_an_integer(type: str, result: Any, expected: int) -> None:
    out = np.zeros(1, np.int32)
    value = "%v = arith.extui %k : i1 to i32" if type == "i1" else "%v = arith.addi %k, %z : i32"
    call(
        f"""%k = func.call @get() : () -> {type}
        %z = arith.constant 0 : i32
        {value}
        %c0 = arith.constant 0 : index
        memref.store %v, %out[%c0] : memref<1xi32>""",
        f"@get() -> {type}",
        lambda: result,
        out=out,
    )
    assert out[0] == expected


def test_kernel_that_uses_the_cascade() -> None:
    @on_core
    def push(core: CallingCore, buffer: Array) -> Process[int]:
        yield from core.put_cascade(buffer.tobytes())
        yield from core.spend(30)
        return int(buffer.sum())

    out, data = np.zeros(1, np.int32), np.arange(16, dtype=np.int32)
    tile = call(
        """%s = func.call @push(%a) : (memref<16xi32>) -> i32
        %c0 = arith.constant 0 : index
        memref.store %s, %out[%c0] : memref<1xi32>""",
        "@push(memref<16xi32>) -> i32",
        push,
        a=data,
        out=out,
    )
    assert tile.log == [("put_cascade", data.tobytes())]
    assert 30 <= tile.cycles < 40
    assert out[0] == data.sum()


def take_one(a: Array) -> None:
    raise AssertionError("the call does not get here")


def test_missing_kernel_says_how_to_bind_one() -> None:
    with pytest.raises(DiagnosedError) as error:
        call("func.call @work() : () -> ()", "@work()", None)
    assert str(error.value).splitlines() == [
        "core.mlir:8:1: error: core (0, 2) calls @work, which has no body, and no kernel of that name is bound",
        'core.mlir:8:1: note: bind one: run(..., kernels={"work": function}), or --kernel work=FILE.py:FUNCTION',
    ]


def test_kernel_with_other_arguments_is_a_located_error() -> None:
    with pytest.raises(DiagnosedError, match=r"core.mlir:8:1: error: passes 0 arguments to @work") as error:
        call("func.call @work() : () -> ()", "@work()", take_one, b=np.zeros(1, np.int32))
    assert "missing a required argument: 'a'" in str(error.value)


def test_kernel_that_forgets_its_result_is_a_located_error() -> None:
    with pytest.raises(DiagnosedError, match="takes 1 results of @get, but its kernel gave None"):
        call("%v = func.call @get() : () -> i32", "@get() -> i32", lambda: None)


def test_view_outside_of_the_buffer_never_reaches_a_kernel() -> None:
    part = "memref<4xi32, strided<[1], offset: 6>>"
    with pytest.raises(Fault, match=r"'func.call' passes bytes 24 up to 40 of a buffer that has 32"):
        call(
            f"""%s = memref.reinterpret_cast %b to offset: [6], sizes: [4], strides: [1] : memref<8xi32> to {part}
            func.call @work({"%s"}) : ({part}) -> ()""",
            f"@work({part})",
            take_one,
            b=np.zeros(8, np.int32),
        )


C_SOURCE = """
#include <stdint.h>
void scale(const int16_t *in, int16_t *out, int32_t n, float factor) {
  for (int i = 0; i < n; i++) out[i] = (int16_t)(in[i] * factor);
}
float half(int8_t x) { return x / 2.0f; }
"""


@needs_cc
def test_c_source_as_a_kernel(tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text(C_SOURCE)
    a, b = np.arange(-3, 5, dtype=np.int16), np.zeros(8, np.int16)
    call(
        """%n = arith.constant 8 : i32
        %f = arith.constant 2.5 : f32
        func.call @scale(%a, %b, %n, %f) : (memref<8xi16>, memref<8xi16>, i32, f32) -> ()""",
        "@scale(memref<8xi16>, memref<8xi16>, i32, f32)",
        c_kernel(source, "scale"),
        a=a,
        b=b,
    )
    assert b.tolist() == [int(v * 2.5) for v in a.tolist()]


@needs_cc
def test_result_of_a_c_kernel(tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text(C_SOURCE)
    out = np.zeros(1, np.float32)
    call(
        """%n = arith.constant -7 : i8
        %h = func.call @half(%n) : (i8) -> f32
        %c0 = arith.constant 0 : index
        memref.store %h, %out[%c0] : memref<1xf32>""",
        "@half(i8) -> f32",
        c_kernel(source, "half"),
        out=out,
    )
    assert out[0] == -3.5


@needs_cc
def test_c_source_that_is_wrong(tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text("int f(void) { return")
    with pytest.raises(KernelError, match=r"(?s)does not compile: .*expected"):
        c_kernel(source, "f")
    source.write_text("int f(void) { return 1; }")
    with pytest.raises(KernelError, match="defines no function 'g'"):
        c_kernel(source, "g")
    with pytest.raises(KernelError, match="there is no file"):
        c_kernel(tmp_path / "other.c", "f")


def test_type_that_numpy_lacks_is_a_located_error() -> None:
    text = "%x = arith.constant 1 : i24\nfunc.call @work(%x) : (i24) -> ()"
    with pytest.raises(DiagnosedError, match=r"core.mlir:9:1: error: passes 'i24' to or from @work"):
        call(text, "@work(i24)", take_one)


@needs_cc
def test_bf16_scalar_cannot_go_to_c(tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text("void f(short x) {}")
    with pytest.raises(DiagnosedError, match=r"core.mlir:9:1: error: cannot call @f: a scalar of type bf16"):
        call("%x = arith.constant 1.0 : bf16\nfunc.call @f(%x) : (bf16) -> ()", "@f(bf16)", c_kernel(source, "f"))


@needs_cc
def test_c_gets_no_pointer_to_elements_with_gaps(tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text("void clear(int *a) { for (int i = 0; i < 4; i++) a[i] = 0; }")
    buffer = np.full(8, 7, np.int32)
    part = "memref<4xi32, strided<[2]>>"
    with pytest.raises(DiagnosedError, match="cannot call @clear: C gets a pointer to the first element"):
        call(
            f"""%s = memref.subview %b[0] [4] [2] : memref<8xi32> to {part}
            func.call @clear(%s) : ({part}) -> ()""",
            f"@clear({part})",
            c_kernel(source, "clear"),
            b=buffer,
        )
    assert (buffer == 7).all()


@needs_cc
@pytest.mark.parametrize(
    "parameters, told",
    [
        pytest.param("int32_t *a, int n", None, id="the same"),
        pytest.param("const uint32_t *restrict a, long n", None, id="other sign and qualifiers"),
        pytest.param("int a[4], int8_t n", None, id="array"),
        pytest.param("unsigned char *a, int n", None, id="bytes stand for anything"),
        pytest.param("void *a, int n", None, id="nothing is known of what it points to"),
        pytest.param("struct pair *a, int n", None, id="a type of its own"),
        pytest.param("int64_t *a, int n", "'int64_t *a' is of another type, got memref<4xi32>", id="longer elements"),
        pytest.param("float *a, int n", "'float *a' is of another type, got memref<4xi32>", id="floats"),
        pytest.param("int *a, float n", "'float n' is of another type, got i32", id="a real scalar"),
        pytest.param("int *a, int *n", "'int *n' is a pointer, got i32", id="a pointer for a number"),
        pytest.param("int a, int n", "'int a' is no pointer, got memref<4xi32>", id="a number for a pointer"),
        pytest.param("int *a", "it takes 1 arguments, got 2", id="fewer"),
    ],
)
def test_what_the_source_says_about_parameters_is_checked(parameters: str, told: str | None, tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text(f"#include <stdint.h>\nstruct pair; // void work(double) {{\nvoid work({parameters}) {{}}")
    text = "%n = arith.constant 4 : i32\nfunc.call @work(%b, %n) : (memref<4xi32>, i32) -> ()"
    kernel, buffer = c_kernel(source, "work"), np.zeros(4, np.int32)
    if told is None:
        call(text, "@work(memref<4xi32>, i32)", kernel, b=buffer)
        return
    with pytest.raises(DiagnosedError) as error:
        call(text, "@work(memref<4xi32>, i32)", kernel, b=buffer)
    assert f"cannot call @work: {told}" in str(error.value)
