"""Memrefs in core programs: views, copies, buffers of their own, and accesses that leave a buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from core_programs import FakeTile, memref_text, run_core

from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.run_errors import Fault


def counted(*shape: int, dtype: Any = np.int32) -> np.ndarray[Any, Any]:
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


def fill(view: str, type: str, shape: tuple[int, ...], value: str = "%v") -> str:
    """Loops that store 10 * (number of the element) + 1 to each element of a view."""
    variables = [f"%i{d}" for d in range(len(shape))]
    opened = "\n".join(f"affine.for {v} = 0 to {size} {{" for v, size in zip(variables, shape, strict=True))
    dims = ", ".join(f"d{d}" for d in range(len(shape)))
    linear = " + ".join(f"d{d} * {int(np.prod(shape[d + 1 :]))}" for d in range(len(shape)))
    return f"""
      {opened}
        %n = affine.apply affine_map<({dims}) -> (({linear}) * 10 + 1)>({", ".join(variables)})
        %v = arith.index_cast %n : index to i32
        memref.store {value}, {view}[{", ".join(variables)}] : {type}
      {"}" * len(shape)}"""


def filled(*shape: int) -> np.ndarray[Any, Any]:
    return counted(*shape) * 10 + 1


PART = "memref<2x3xi32, strided<[16, 2], offset: 10>>"


def test_subview_writes_through() -> None:
    buffer, expected = counted(6, 8), counted(6, 8)
    run_core(
        f"%s = memref.subview %b[1, 2] [2, 3] [2, 2] : memref<6x8xi32> to {PART}\n" + fill("%s", PART, (2, 3)),
        b=buffer,
    )
    expected[1:5:2, 2:8:2] = filled(2, 3)
    np.testing.assert_array_equal(buffer, expected)


def test_subview_with_dynamic_offsets_and_sizes_drops_a_dimension() -> None:
    buffer, expected = counted(4, 8), counted(4, 8)
    run_core(
        """%c3 = arith.constant 3 : index
        %c5 = arith.constant 5 : index
        %s = memref.subview %b[%c3, 2] [1, %c5] [1, 1] : memref<4x8xi32> to memref<?xi32, strided<[1], offset: ?>>
        %z = arith.constant 0 : index
        %n = memref.dim %s, %z : memref<?xi32, strided<[1], offset: ?>>
        %c1 = arith.constant 1 : index
        scf.for %i = %z to %n step %c1 {
          %v = arith.index_cast %i : index to i32
          memref.store %v, %s[%i] : memref<?xi32, strided<[1], offset: ?>>
        }""",
        b=buffer,
    )
    expected[3, 2:7] = range(5)
    np.testing.assert_array_equal(buffer, expected)


VIEWS: dict[str, tuple[str, tuple[int, ...], Callable[[Any], Any]]] = {
    "collapse_shape": (
        "memref.collapse_shape %b [[0, 1], [2]] : memref<2x3x4xi32> into memref<6x4xi32>",
        (6, 4),
        lambda b: b.reshape(6, 4),
    ),
    "expand_shape": (
        "memref.expand_shape %b [[0], [1], [2, 3]] output_shape [2, 3, 2, 2] : memref<2x3x4xi32> into "
        "memref<2x3x2x2xi32>",
        (2, 3, 2, 2),
        lambda b: b.reshape(2, 3, 2, 2),
    ),
    "reinterpret_cast": (
        "memref.reinterpret_cast %b to offset: [3], sizes: [2, 4], strides: [8, 2] : memref<2x3x4xi32> to "
        "memref<2x4xi32, strided<[8, 2], offset: 3>>",
        (2, 4),
        lambda b: np.lib.stride_tricks.as_strided(b.reshape(-1)[3:], (2, 4), (32, 8)),
    ),
    "transpose": (
        "memref.transpose %b (a, b, c) -> (c, a, b) : memref<2x3x4xi32> to memref<4x2x3xi32, strided<[1, 12, 4]>>",
        (4, 2, 3),
        lambda b: b.transpose(2, 0, 1),
    ),
    "cast": ("memref.cast %b : memref<2x3x4xi32> to memref<?x?x?xi32>", (2, 3, 4), lambda b: b),
    "assume_alignment": ("memref.assume_alignment %b, 4 : memref<2x3x4xi32>", (2, 3, 4), lambda b: b),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view(name: str) -> None:
    text, shape, view = VIEWS[name]
    type = text.rsplit(" into " if " into " in text else " to ", 1)[-1].removeprefix("memref.assume_alignment %b, 4 : ")
    buffer, expected = counted(2, 3, 4), counted(2, 3, 4)
    run_core(f"%s = {text}" + fill("%s", type, shape), b=buffer)
    view(expected)[...] = filled(*shape)
    np.testing.assert_array_equal(buffer, expected)


def test_view_of_bytes() -> None:
    buffer = np.zeros(32, np.int8)
    run_core(
        "%c4 = arith.constant 4 : index\n%s = memref.view %b[%c4][] : memref<32xi8> to memref<2x3xi32>"
        + fill("%s", "memref<2x3xi32>", (2, 3)),
        b=buffer,
    )
    np.testing.assert_array_equal(buffer[4:28].view(np.int32).reshape(2, 3), filled(2, 3))
    assert not buffer[:4].any() and not buffer[28:].any()


def test_copy_between_layouts() -> None:
    source, target = counted(4, 6), np.zeros((6, 4), np.int32)
    run_core(
        """%t = memref.transpose %b (i, j) -> (j, i) : memref<6x4xi32> to memref<4x6xi32, strided<[1, 4]>>
        memref.copy %a, %t : memref<4x6xi32> to memref<4x6xi32, strided<[1, 4]>>""",
        a=source,
        b=target,
    )
    np.testing.assert_array_equal(target, source.T)


def test_alloca_is_cleared_and_global_is_a_copy_of_the_cores_own() -> None:
    out = np.full(4, 9, np.int32)
    text = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %s = memref.alloca() : memref<2xi32>
      %g = memref.get_global @table : memref<3xi32>
      %x = memref.load %s[%c1] : memref<2xi32>
      %y = memref.load %g[%c2] : memref<3xi32>
      memref.store %x, %out[%c0] : memref<4xi32>
      memref.store %y, %out[%c1] : memref<4xi32>
      memref.store %x, %g[%c2] : memref<3xi32>
      %z = memref.load %g[%c2] : memref<3xi32>
      memref.store %z, %out[%c2] : memref<4xi32>"""
    for _ in range(2):
        run_core(text, outside='memref.global "private" @table : memref<3xi32> = dense<[5, 6, 7]>', out=out)
        assert out.tolist() == [0, 7, 0, 9]


def test_values_outside_of_the_core_are_visible() -> None:
    out = np.zeros(2, np.int32)
    run_core(
        "memref.store %seven, %out[%one] : memref<2xi32>",
        outside="%one = arith.constant 1 : index\n%seven = arith.constant 7 : i32",
        out=out,
    )
    assert out.tolist() == [0, 7]


OUTSIDE = [
    pytest.param("memref.load %b[%i] : memref<8xi32>", 8, "bytes 32 up to 36 of a buffer that has 32", id="behind"),
    pytest.param("memref.load %b[%i] : memref<8xi32>", -1, "bytes -4 up to 0 of a buffer that has 32", id="before"),
    pytest.param("memref.load %b[%i] : memref<8xi32>", 1 << 40, "of a buffer that has 32", id="far away"),
    pytest.param("vector.load %b[%i] : memref<8xi32>, vector<4xi32>", 5, "bytes 20 up to 36", id="half inside"),
    pytest.param("affine.load %b[symbol(%i) * 2] : memref<8xi32>", 4, "bytes 32 up to 36", id="affine"),
]


@pytest.mark.parametrize("access, number, text", OUTSIDE)
def test_access_outside_is_a_located_fault(access: str, number: int, text: str) -> None:
    body = f"""%p = memref.load %at[] : memref<i64>
    %i = arith.index_cast %p : i64 to index
    %v = {access}"""
    with pytest.raises(Fault) as fault:
        run_core(body, b=np.zeros(8, np.int32), at=np.array(number, np.int64))
    assert text in str(fault.value)
    assert str(fault.value).startswith("core.mlir:11:")


def test_constant_access_outside_of_the_buffer_is_a_fault_too() -> None:
    with pytest.raises(Fault, match="bytes 32 up to 36"):
        run_core("%i = arith.constant 8 : index\n%v = memref.load %b[%i] : memref<8xi32>", b=np.zeros(8, np.int32))


def test_fault_in_a_loop_leaves_what_was_stored_before() -> None:
    buffer = np.zeros(8, np.int32)
    tile = FakeTile({"b": buffer, "n": np.array(9, np.int32)})
    with pytest.raises(Fault, match=r"'memref.store' accesses bytes 32 up to 36"):
        run_core(
            """%m = memref.load %n[] : memref<i32>
            %end = arith.index_cast %m : i32 to index
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            scf.for %i = %c0 to %end step %c1 {
              memref.store %m, %b[%i] : memref<8xi32>
            }""",
            tile,
        )
    assert buffer.tolist() == [9] * 8


def test_dynamic_alloca_is_refused() -> None:
    with pytest.raises(DiagnosedError, match="the size of the buffer is not known before the program runs"):
        run_core("%n = arith.constant 4 : index\n%s = memref.alloca(%n) : memref<?xi32>")


def test_unknown_operation_is_refused_by_name() -> None:
    with pytest.raises(DiagnosedError, match=r"core.mlir:8:6: error: 'memref.realloc' op has no native translation"):
        run_core("%x = memref.realloc %b : memref<2xi32> to memref<4xi32>", b=np.zeros(2, np.int32))


def test_updates_of_single_elements() -> None:
    buffer = np.array([5, -7, 9, 4], np.int32)
    run_core(
        """%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        %two = arith.constant 2 : i32
        %a = memref.atomic_rmw addi %two, %b[%c0] : (i32, memref<4xi32>) -> i32
        %m = memref.atomic_rmw maxs %a, %b[%c1] : (i32, memref<4xi32>) -> i32
        %s = memref.atomic_rmw assign %m, %b[%c2] : (i32, memref<4xi32>) -> i32
        %g = memref.generic_atomic_rmw %b[%c3] : memref<4xi32> {
        ^bb0(%old: i32):
          %new = arith.muli %old, %s : i32
          memref.atomic_yield %new : i32
        }""",
        b=buffer,
    )
    assert buffer.tolist() == [7, 5, -7, 36]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.bool_, np.float16, np.float64])
def test_elements_of_every_size_are_copied(dtype: Any) -> None:
    source, target = (counted(16) % 5 > 1).astype(dtype), np.zeros(16, dtype)
    tile = FakeTile({"a": source, "b": target})
    run_core(f"memref.copy %a, %b : {memref_text(source)} to {memref_text(target)}", tile)
    np.testing.assert_array_equal(source, target)
