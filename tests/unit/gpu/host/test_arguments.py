"""Arrays and numbers are checked before anything runs; each rank works on copies, and rank 0's are handed back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import HEALTH_CHECKS
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tilewright as tw

DOUBLE = """
func.func @double(%in: memref<6xi32>, %out: memref<6xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  scf.for %i = %c0 to %c6 step %c1 {
    %x = memref.load %in[%i] : memref<6xi32>
    %y = arith.addi %x, %x : i32
    memref.store %y, %out[%i] : memref<6xi32>
  }
  return
}
"""
LAUNCHED = """
module attributes {gpu.container_module} {
func.func @double(%in: memref<6xi32>, %out: memref<6xi32>) {
  %one = arith.constant 1 : index
  air.launch (%b) in (%n=%one) args(%x=%in, %y=%out) : memref<6xi32>, memref<6xi32> {
    %c1 = arith.constant 1 : index
    air.herd tile (%w) in (%m=%c1) args(%hx=%x, %hy=%y) : memref<6xi32>, memref<6xi32> {
      %c0 = arith.constant 0 : index
      %c6 = arith.constant 6 : index
      %step = arith.constant 1 : index
      scf.for %i = %c0 to %c6 step %step {
        %v = memref.load %hx[%i] : memref<6xi32>
        %s = arith.addi %v, %v : i32
        memref.store %s, %hy[%i] : memref<6xi32>
      }
    }
  }
  return
}
}
"""
SCALARS = """
func.func private @printI64(i64)
func.func private @printF64(f64)
func.func @show(%count: i8, %at: index, %scale: f32) {
  %wide = arith.extsi %count : i8 to i64
  func.call @printI64(%wide) : (i64) -> ()
  %double = arith.extf %scale : f32 to f64
  func.call @printF64(%double) : (f64) -> ()
  return
}
"""


def numbers() -> Any:
    return np.arange(6, dtype=np.int32)


def read_only() -> Any:
    array = numbers()
    array.flags.writeable = False
    return array


@pytest.fixture(scope="module")
def double() -> tw.air.AirProgram:
    return tw.air.compile(DOUBLE)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(numbers()[::-1], id="reversed"),
        pytest.param(np.arange(12, dtype=np.int32)[::2], id="every other"),
        pytest.param(np.broadcast_to(np.int32(3), 6), id="broadcast"),
        pytest.param(read_only(), id="read-only"),
        pytest.param(np.frombuffer(numbers().tobytes(), np.int32), id="of bytes"),
        pytest.param(numbers().view(np.uint32), id="without a sign"),
        pytest.param(numbers().view(np.uint8), id="raw bytes"),
    ],
)
@pytest.mark.parametrize("text", [DOUBLE, LAUNCHED], ids=["host", "kernel"])
def test_an_array_that_is_only_read_may_lie_in_memory_as_it_likes(text: str, given: Any):
    out = np.zeros((6, 2), np.int32)[:, 1]
    before = given.copy()
    tw.air.compile(text).run(given, out)
    assert (out == 2 * before.view(np.int32).reshape(6)).all()
    assert (given == before).all()


@pytest.mark.parametrize(
    "out, message",
    [
        pytest.param(read_only(), "argument out is written, but it is read-only; pass a copy", id="read-only"),
        pytest.param(np.frombuffer(bytes(24), np.int32), "argument out is written, but it is read-only", id="bytes"),
        pytest.param(np.lib.stride_tricks.as_strided(numbers(), (6,), (0,)), "at the same place", id="stride 0"),
        pytest.param(np.lib.stride_tricks.as_strided(numbers(), (6,), (2,)), "at the same place", id="overlapping"),
        pytest.param(np.zeros(6, np.int64), "argument out of @double .*int64.*astype", id="wider"),
        pytest.param(
            np.zeros(6, np.float32), r"argument out of @double .*got float32.*\.astype\(np.int32\)", id="float"
        ),
        pytest.param(np.zeros(6, ">i4"), r"argument out of @double .*big-endian.*\.astype\(np.int32\)", id="endian"),
        pytest.param(np.zeros(5, np.int32), r"got an array of shape \(5,\)", id="too short"),
        pytest.param(np.zeros((2, 3), np.int32), r"got an array of shape \(2, 3\)", id="rank"),
        pytest.param(np.zeros(0, np.int32), r"got an array of shape \(0,\)", id="empty"),
        pytest.param(np.zeros(25, np.uint8), "raw bytes", id="raw bytes, too many"),
        pytest.param([0] * 6, r"pass a NumPy array: np.array", id="list"),
        pytest.param(3, "argument out of @double is a buffer", id="number"),
        pytest.param(np.zeros(6, object), "argument out of @double .*got object", id="objects"),
    ],
)
def test_an_array_that_does_not_do_is_refused_by_name(double: tw.air.AirProgram, out: Any, message: str):
    with pytest.raises(tw.ArgumentError, match=message):
        double.run(numbers(), out)


@pytest.mark.parametrize("text", [DOUBLE, LAUNCHED], ids=["host", "kernel"])
def test_arrays_that_share_memory_are_refused_if_one_is_written(text: str):
    both = np.zeros(8, np.int32)
    with pytest.raises(tw.ArgumentError, match="arguments in and out share memory, and out is written"):
        tw.air.compile(text).run(both[:6], both[2:])


def test_arrays_that_share_memory_may_both_be_read():
    text = "func.func @f(%a: memref<6xi32>, %b: memref<6xi32>) {\n  %c = arith.constant 0 : index\n"
    text += "  %x = memref.load %a[%c] : memref<6xi32>\n  return\n}"
    array = numbers()
    assert tw.air.compile(text).run(array, array).status == 0


def test_an_array_of_no_elements_is_one():
    text = "func.func @f(%a: memref<?xi32>, %b: memref<0xf32>) {\n  return\n}"
    assert tw.air.compile(text).run(np.zeros(0, np.int32), np.zeros(0, np.float32)).status == 0


@pytest.mark.parametrize(
    "values, message",
    [
        pytest.param(
            (1.5, 0, 1.0), "argument count of @show is of type i8, got 1.5; pass a whole number", id="fraction"
        ),
        pytest.param(("1", 0, 1.0), "argument count of @show is of type i8, got '1'", id="text"),
        pytest.param(
            (256, 0, 1.0), "argument count of @show is of type i8, which has 8 bits; 256 does not fit", id="wide"
        ),
        pytest.param((-129, 0, 1.0), "-129 does not fit", id="low"),
        pytest.param((1, 1 << 64, 1.0), "argument at of @show is of type index", id="index"),
        pytest.param((1, None, 1.0), "argument at of @show is of type index, got None", id="nothing"),
        pytest.param((1, 0, "1.0"), "argument scale of @show is of type f32, got '1.0'", id="text for a float"),
        pytest.param((1, 0, 1e39), "argument scale of @show is of type f32; 1e[+]39 does not fit", id="large float"),
        pytest.param((1, 0, 1j), "argument scale of @show is of type f32, got 1j", id="complex"),
        pytest.param((1, 0), "@show takes 3 arguments, got 2: it takes count, at, scale", id="too few"),
    ],
)
def test_a_number_that_does_not_do_is_refused_by_name(values: tuple[Any, ...], message: str):
    with pytest.raises(tw.ArgumentError, match=message):
        tw.air.compile(SCALARS).run(*values)


@pytest.mark.parametrize("values", [(-1, 0, 2), (255, np.int64(3), np.float32(2)), (np.uint8(255), 0, 2.0)])
def test_numbers_of_numpy_and_either_sign_do(values: tuple[Any, ...]):
    assert tw.air.compile(SCALARS).run(*values).output.strip() == "-12"


@settings(max_examples=10, deadline=None, suppress_health_check=HEALTH_CHECKS)
@given(st.data())
def test_what_rank_0_leaves_lands_in_any_view(data: st.DataObject):
    """Strides of any sign and size: the view has the results, the rest of its memory is as it was."""
    whole = data.draw(hnp.arrays(np.int32, 40, elements=st.integers(-99, 99)))
    step = data.draw(st.sampled_from([-5, -3, -1, 1, 2, 4]))
    start = data.draw(st.integers(0, 40 - 5 * abs(step) - 1)) + (5 * abs(step) if step < 0 else 0)
    index = [start + step * n for n in range(6)]
    view = np.lib.stride_tricks.as_strided(whole[start:], (6,), (4 * step,))
    before = whole.copy()
    tw.air.compile(DOUBLE).run(numbers(), view)
    before[index] = 2 * numbers()
    assert (whole == before).all()
