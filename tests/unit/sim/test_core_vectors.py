"""Vectors in core programs against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from core_programs import ELEMENTS, FakeTile, run_core
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.ir.run_errors import Fault

Array = npt.NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)


def vector_text(array: Array) -> str:
    return f"vector<{''.join(f'{size}x' for size in array.shape)}{ELEMENTS[array.dtype]}>"


def compute(body: str, result: Array, **inputs: Array) -> Array:
    """`body` computes %r, shaped like `result`, from the inputs as vectors %name."""
    text = "%c0 = arith.constant 0 : index\n"
    for name, array in inputs.items():
        zeros = ", ".join(["%c0"] * array.ndim)
        type = f"memref<{vector_text(array)[7:]}"
        text += f"%{name} = vector.load %{name}_buffer[{zeros}] : {type}, {vector_text(array)}\n"
    zeros = ", ".join(["%c0"] * result.ndim)
    text += f"{body}\nvector.store %r, %out[{zeros}] : memref<{vector_text(result)[7:]}, {vector_text(result)}"
    out = np.zeros_like(result)
    run_core(text, FakeTile({f"{name}_buffer": array for name, array in inputs.items()} | {"out": out}))
    return out


def counted(*shape: int, dtype: Any = np.int32) -> Array:
    return np.arange(1, int(np.prod(shape)) + 1).astype(dtype).reshape(shape)


A, B = counted(4, 8), counted(4, 8)[::-1].copy() * 3
V, W = counted(8), counted(8) * 7 - 20
SHAPES: dict[str, tuple[str, dict[str, Array], Array]] = {
    "broadcast a scalar": (
        "%s = vector.extract %v[2] : i32 from vector<8xi32>\n%r = vector.broadcast %s : i32 to vector<2x4xi32>",
        {"v": V},
        np.full((2, 4), V[2]),
    ),
    "broadcast rows": ("%r = vector.broadcast %v : vector<8xi32> to vector<3x8xi32>", {"v": V}, np.tile(V, (3, 1))),
    "broadcast a column": (
        "%r = vector.broadcast %c : vector<4x1xi32> to vector<4x3xi32>",
        {"c": A[:, :1].copy()},
        np.tile(A[:, :1], (1, 3)),
    ),
    "extract a row": ("%r = vector.extract %a[2] : vector<8xi32> from vector<4x8xi32>", {"a": A}, A[2]),
    "extract a row chosen at run time": (
        "%c1 = arith.constant 1 : index\n%k = arith.addi %c1, %c1 : index\n"
        "%r = vector.extract %a[%k] : vector<8xi32> from vector<4x8xi32>",
        {"a": A},
        A[2],
    ),
    "insert a row": (
        "%r = vector.insert %v, %a [1] : vector<8xi32> into vector<4x8xi32>",
        {"a": A, "v": W},
        np.vstack([A[:1], W, A[2:]]),
    ),
    "shape_cast": ("%r = vector.shape_cast %a : vector<4x8xi32> to vector<2x16xi32>", {"a": A}, A.reshape(2, 16)),
    "transpose": ("%r = vector.transpose %a, [1, 0] : vector<4x8xi32> to vector<8x4xi32>", {"a": A}, A.T.copy()),
    "bitcast": ("%r = vector.bitcast %v : vector<8xi32> to vector<16xi16>", {"v": W}, W.view(np.int16)),
    "extract_strided_slice": (
        "%r = vector.extract_strided_slice %a {offsets = [1, 3], sizes = [2, 4], strides = [1, 1]} : "
        "vector<4x8xi32> to vector<2x4xi32>",
        {"a": A},
        A[1:3, 3:7].copy(),
    ),
    "insert_strided_slice": (
        "%s = vector.shape_cast %v : vector<8xi32> to vector<2x4xi32>\n"
        "%r = vector.insert_strided_slice %s, %a {offsets = [1, 3], strides = [1, 1]} : "
        "vector<2x4xi32> into vector<4x8xi32>",
        {"a": A, "v": W},
        np.vstack([A[:1], np.hstack([A[1:3, :3], W.reshape(2, 4), A[1:3, 7:]]), A[3:]]),
    ),
    "shuffle": (
        "%r = vector.shuffle %v, %w [0, 9, 2, 15] : vector<8xi32>, vector<8xi32>",
        {"v": V, "w": W},
        np.concatenate([V, W])[[0, 9, 2, 15]],
    ),
    "interleave": (
        "%r = vector.interleave %v, %w : vector<8xi32> -> vector<16xi32>",
        {"v": V, "w": W},
        np.stack([V, W], 1).reshape(-1),
    ),
    "deinterleave": ("%l, %r = vector.deinterleave %v : vector<8xi32> -> vector<4xi32>", {"v": V}, V[1::2].copy()),
    "multi_reduction": (
        "%z = arith.constant dense<100> : vector<8xi32>\n"
        "%r = vector.multi_reduction <add>, %a, %z [0] : vector<4x8xi32> to vector<8xi32>",
        {"a": A},
        A.sum(0, dtype=np.int32) + 100,
    ),
    "outerproduct": (
        "%r = vector.outerproduct %v, %w {kind = #vector.kind<add>} : vector<8xi32>, vector<8xi32>",
        {"v": V, "w": W},
        np.outer(V, W),
    ),
    "division in each element": ("%r = arith.divsi %w, %v : vector<8xi32>", {"v": V, "w": W}, (W / V).astype(np.int32)),
    "shift in each element": ("%r = arith.shli %v, %v : vector<8xi32>", {"v": V}, V << V),
    "select by a mask": (
        "%m = arith.cmpi slt, %v, %w : vector<8xi32>\n%r = arith.select %m, %v, %w : vector<8xi1>, vector<8xi32>",
        {"v": V, "w": W},
        np.minimum(V, W),
    ),
    "elements": (
        "%e:8 = vector.to_elements %v : vector<8xi32>\n%r = vector.from_elements %e#7, %e#0 : vector<2xi32>",
        {"v": V},
        V[[7, 0]],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_vector_operation(name: str) -> None:
    body, inputs, expected = SHAPES[name]
    np.testing.assert_array_equal(compute(body, expected, **inputs), expected)


REDUCTIONS: list[tuple[str, Any, Callable[[Array], Any]]] = [
    ("add", np.int32, np.sum),
    ("mul", np.int32, np.prod),
    ("maxsi", np.int32, np.max),
    ("minui", np.int32, lambda values: values.view(np.uint32).min()),
    ("xor", np.int32, np.bitwise_xor.reduce),
    ("add", np.float32, np.sum),
    ("maximumf", np.float32, np.max),
]


@pytest.mark.parametrize("kind, dtype, expected", REDUCTIONS)
def test_reduction(kind: str, dtype: Any, expected: Callable[[Array], Any]) -> None:
    values = (counted(8) * 3 - 11).astype(dtype)
    type = ELEMENTS[values.dtype]
    body = f"""%s = vector.reduction <{kind}>, %v : vector<8x{type}> into {type}
      %r = vector.broadcast %s : {type} to vector<1x{type}>"""
    assert compute(body, np.zeros(1, dtype), v=values)[0] == expected(values)


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_contraction_is_a_matrix_product(dtype: Any) -> None:
    left, right, start = counted(4, 3, dtype=dtype), counted(3, 5, dtype=dtype), counted(4, 5, dtype=dtype)
    type = ELEMENTS[left.dtype]
    body = f"""%r = vector.contract {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}} %a, %b, %c :
      vector<4x3x{type}>, vector<3x5x{type}> into vector<4x5x{type}>"""
    np.testing.assert_array_equal(compute(body, start, a=left, b=right, c=start), left @ right + start)


def test_contraction_extends_narrow_factors() -> None:
    left, right = counted(2, 4, dtype=BF16), counted(4, 2, dtype=BF16)
    body = """%z = arith.constant dense<0.5> : vector<2x2xf32>
      %r = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} %a, %b, %z :
      vector<2x4xbf16>, vector<4x2xbf16> into vector<2x2xf32>"""
    expected = left.astype(np.float32) @ right.astype(np.float32) + np.float32(0.5)
    np.testing.assert_array_equal(compute(body, expected, a=left, b=right), expected)


def test_bf16_vectors_are_rounded_like_scalars() -> None:
    values = np.linspace(-3, 7, 16).astype(BF16)
    found = compute(
        "%s = arith.mulf %v, %v : vector<16xbf16>\n%r = arith.addf %s, %v : vector<16xbf16>", values, v=values
    )
    product = (values.astype(np.float32) * values.astype(np.float32)).astype(BF16)
    expected = (product.astype(np.float32) + values.astype(np.float32)).astype(BF16)
    assert found.tobytes() == expected.tobytes()


def transfer(text: str, buffer: Array, at: int, shape: tuple[int, ...]) -> Array:
    """A transfer from %b at row %i, which is only known at run time."""
    out = np.zeros(shape, buffer.dtype)
    type = vector_text(out)
    run_core(
        f"""%n = memref.load %at[] : memref<i64>
        %i = arith.index_cast %n : i64 to index
        %c0 = arith.constant 0 : index
        %pad = arith.constant -7 : i32
        %r = {text} : memref<{vector_text(buffer)[7:]}, {type}
        vector.transfer_write %r, %out[{", ".join(["%c0"] * len(shape))}] : {type}, memref<{type[7:]}""",
        b=buffer,
        at=np.array(at, np.int64),
        out=out,
    )
    return out


@given(at=st.integers(-6, 12))
@settings(max_examples=12)
def test_transfer_pads_where_the_buffer_ends(at: int) -> None:
    found = transfer("vector.transfer_read %b[%i, %c0], %pad", A, at, (3, 8))
    expected = np.full((3, 8), -7)
    for row in range(3):
        if 0 <= at + row < 4:
            expected[row] = A[at + row]
    np.testing.assert_array_equal(found, expected)


def test_transfer_with_permuted_and_repeated_dimensions() -> None:
    maps = "{permutation_map = affine_map<(i, j) -> (j, i)>, in_bounds = [true, true]}"
    found = transfer(f"vector.transfer_read %b[%i, %c0], %pad {maps}", A, 1, (8, 2))
    np.testing.assert_array_equal(found, A[1:3].T)
    maps = "{permutation_map = affine_map<(i, j) -> (0, j)>, in_bounds = [true, true]}"
    found = transfer(f"vector.transfer_read %b[%i, %c0], %pad {maps}", A, 1, (2, 8))
    np.testing.assert_array_equal(found, np.tile(A[1], (2, 1)))


def test_transfer_that_claims_to_be_inside_but_is_not() -> None:
    with pytest.raises(Fault, match=r"'vector.transfer_read' accesses bytes"):
        transfer("vector.transfer_read %b[%i, %c0], %pad {in_bounds = [true, true]}", A, 2, (3, 8))


def test_masks() -> None:
    body = """%c3 = arith.constant 3 : index
      %m = vector.create_mask %c3 : vector<8xi1>
      %r = vector.maskedload %v_buffer[%c0], %m, %w : memref<8xi32>, vector<8xi1>, vector<8xi32> into vector<8xi32>
      vector.maskedstore %w_buffer[%c0], %m, %v : memref<8xi32>, vector<8xi1>, vector<8xi32>"""
    other = W.copy()
    found = compute(body, V, v=V, w=other)
    np.testing.assert_array_equal(found, np.concatenate([V[:3], W[3:]]))
    np.testing.assert_array_equal(other, np.concatenate([V[:3], W[3:]]))


def test_gather_and_scatter() -> None:
    order = np.array([7, 0, 3, 3, 1, 2, 6, 5], np.int32)
    body = """%m = vector.constant_mask [6] : vector<8xi1>
      %r = vector.gather %v_buffer[%c0] [%i], %m, %v
        : memref<8xi32>, vector<8xi32>, vector<8xi1>, vector<8xi32> into vector<8xi32>
      vector.scatter %t_buffer[%c0] [%i], %m, %v : memref<8xi32>, vector<8xi32>, vector<8xi1>, vector<8xi32>"""
    target = np.zeros(8, np.int32)
    found = compute(body, V, v=V, i=order, t=target)
    np.testing.assert_array_equal(found, np.where(np.arange(8) < 6, V[order], V))
    expected = np.zeros(8, np.int32)
    expected[order[:6]] = V[:6]
    np.testing.assert_array_equal(target, expected)


def test_vector_of_two_dimensions_from_a_wider_buffer() -> None:
    out = np.zeros((2, 4), np.int32)
    run_core(
        """%c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c0 = arith.constant 0 : index
        %v = vector.load %b[%c1, %c2] : memref<4x8xi32>, vector<2x4xi32>
        vector.store %v, %out[%c0, %c0] : memref<2x4xi32>, vector<2x4xi32>""",
        b=A,
        out=out,
    )
    np.testing.assert_array_equal(out, A[1:3, 2:6])
