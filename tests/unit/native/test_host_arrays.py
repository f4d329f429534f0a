"""NumPy arrays on their way into native code: which are taken, which are copied, and which are refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float8E4M3FNType,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from tilewright.errors import ArgumentError
from tilewright.native.host_arrays import check_array, lent, overlaps_itself

i4, i24 = IntegerType(4), IntegerType(24)
si16, ui32 = IntegerType(16, Signedness.SIGNED), IntegerType(32, Signedness.UNSIGNED)


def refusal(element: Attribute, value: Any, size: int = 16) -> str:
    with pytest.raises(ArgumentError) as error:
        check_array("argument a", value, MemRefType(element, [size]))
    return str(error.value)


@pytest.mark.parametrize(
    "element, dtypes",
    [
        (i1, [np.bool_]),
        (i4, [np.int8, np.uint8, ml_dtypes.int4, ml_dtypes.uint4]),
        (i8, [np.int8, np.uint8]),
        (i16, [np.int16, np.uint16]),
        (i32, [np.int32, np.uint32]),
        (i64, [np.int64, np.uint64]),
        (IndexType(), [np.int64, np.uint64]),
        (si16, [np.int16]),
        (ui32, [np.uint32]),
        (bf16, [ml_dtypes.bfloat16]),
        (f16, [np.float16]),
        (f32, [np.float32]),
        (f64, [np.float64]),
        (Float8E4M3FNType(), [ml_dtypes.float8_e4m3fn]),
    ],
    ids=str,
)
def test_element_types_that_a_memref_takes(element: Attribute, dtypes: list[Any]) -> None:
    """Without a sign both will do; all others are refused, bytes apart."""
    for dtype in dtypes:
        check_array("a", np.zeros(16, dtype), MemRefType(element, [16]))
    others = [np.int8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.bool_, object, "S4", "M8[s]"]
    others += [np.float16, np.float32, np.float64, np.complex64, ml_dtypes.bfloat16, ml_dtypes.int4, "i4,f4", ">i4"]
    for dtype in others:
        if np.dtype(dtype) not in map(np.dtype, dtypes):
            assert "argument a is of type memref<16x" in refusal(element, np.zeros(16, dtype))


@pytest.mark.parametrize(
    "element, value, told",
    [
        pytest.param(i32, np.zeros(16), ["takes int32, uint32", "got float64", ".astype(np.int32)"], id="floats"),
        pytest.param(bf16, np.zeros(16, np.uint16), ["got uint16", ".astype(ml_dtypes.bfloat16)"], id="bits"),
        pytest.param(i32, np.zeros(16, ">i4"), ["big-endian", ".astype(np.int32)"], id="big-endian"),
        pytest.param(i1, np.zeros(16, np.int8), ["takes bool", ".astype(np.bool_)"], id="bool"),
        pytest.param(i32, np.zeros(15, np.uint8), ["at least 64 raw bytes", "got 15 raw bytes"], id="no elements"),
        pytest.param(i24, np.zeros(16, np.int32), ["takes at least 48 raw bytes (uint8)"], id="not in NumPy"),
        pytest.param(i32, [1, 2], ["got [1, 2]", "np.array("], id="list"),
        pytest.param(i32, list(range(1000)), ["... (list)"], id="long list"),
        pytest.param(i32, 3, ["is a buffer of type memref<16xi32>, got 3"], id="number"),
        pytest.param(i32, np.int32(3), ["is a buffer of type memref<16xi32>"], id="number of NumPy"),
        pytest.param(i32, None, ["got None"], id="nothing"),
        pytest.param(i32, np.ma.zeros(16, np.int32), ["masked array", ".filled(value)"], id="masked"),
    ],
)
def test_a_refusal_says_what_helps(element: Attribute, value: Any, told: list[str]) -> None:
    text = refusal(element, value)
    assert text.startswith("argument a ") and all(part in text for part in told), text


def test_bytes_stand_for_anything_of_that_size() -> None:
    for count in (64, 68):
        check_array("a", np.zeros(count, np.uint8), MemRefType(i32, [16]))
    check_array("a", np.zeros(8, np.uint8), MemRefType(i32, [DYNAMIC_INDEX]))
    with pytest.raises(ArgumentError, match="a multiple of 4"):
        check_array("a", np.zeros(6, np.uint8), MemRefType(i32, [DYNAMIC_INDEX]))


@pytest.mark.parametrize("value", [np.zeros(4, object), np.zeros(4, "i4,i4"), np.zeros(4, ">i4"), [1], None], ids=str)
def test_what_no_memref_is_known_of_has_numbers(value: Any) -> None:
    with pytest.raises(ArgumentError, match="argument 3 "):
        check_array("argument 3", value)
    check_array("argument 3", np.zeros(4, np.complex128))


def test_subclasses_are_seen_as_plain_arrays() -> None:
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1, 2], [3, 4]], dtype=np.int32)
    seen = check_array("a", matrix, MemRefType(i32, [4]))
    assert type(seen) is np.ndarray and np.shares_memory(seen, matrix)


layouts = st.lists(st.tuples(st.integers(1, 4), st.integers(-6, 6)), max_size=3)


@given(layouts, st.sampled_from([np.int8, np.int16]))
def test_overlap_is_what_counting_bytes_says(layout: list[tuple[int, int]], dtype: Any) -> None:
    shape, strides = [size for size, _ in layout], [stride for _, stride in layout]
    memory = np.arange(200, dtype=np.uint8)
    array = as_strided(memory[100:].view(np.uint8)[:2].view(dtype)[0:1].reshape(()), shape, strides)
    places = [100 + sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]
    touched = [place + byte for place in places for byte in range(np.dtype(dtype).itemsize)]
    assert overlaps_itself(array) == (len(set(touched)) < len(touched))


class Lending:
    """Native code that adds one to each byte of the arrays that it may write."""

    def __init__(self, *written: int):
        self.written = written
        self.asked = 0

    def may_write(self) -> tuple[int, ...]:
        self.asked += 1
        return self.written

    def __call__(self, *arrays: np.ndarray) -> list[bytes]:
        named = {number: ("abc"[number], array) for number, array in enumerate(arrays)}
        with lent(named, self.may_write) as found:
            seen = [array.data.tobytes() for array in found.values()]
            for number in self.written:
                found[number].data[:] += 1
        return seen


def test_an_array_without_gaps_is_lent_as_it_is() -> None:
    lending, array = Lending(0), np.arange(6, dtype=np.uint8).reshape(2, 3)
    lending(array)
    assert array.tolist() == [[1, 2, 3], [4, 5, 6]] and lending.asked == 0


@pytest.mark.parametrize("view", ["[::2]", "[::-1]", "[1::3]", ".reshape(3, 4).T", ".reshape(3, 4)[:, 1:3]"])
def test_gaps_are_left_alone(view: str) -> None:
    array = np.arange(12, dtype=np.uint8)
    expected = array.copy()
    part, wanted = eval(f"array{view}"), eval(f"expected{view}")
    assert Lending(0)(part) == [wanted.tobytes()]
    wanted += 1
    assert array.tolist() == expected.tolist()


def test_a_copy_is_written_back_after_an_error() -> None:
    array = np.zeros(8, np.uint8)
    with pytest.raises(RuntimeError), lent({0: ("a", array[::2])}, lambda: {0}) as found:
        found[0].data[1] = 7
        raise RuntimeError
    assert array.tolist() == [0, 0, 7, 0, 0, 0, 0, 0]


def test_what_is_only_read_may_be_read_only_or_overlap() -> None:
    fixed = np.frombuffer(b"abcd", np.uint8)
    assert Lending(1)(fixed, np.zeros(4, np.uint8), np.broadcast_to(np.uint8(5), 3))[::2] == [b"abcd", b"\5\5\5"]
    with lent({0: ("a", fixed), 1: ("b", np.zeros((4, 2), np.uint8)[:, 0])}, lambda: ()) as found:
        assert not any(array.data.flags.writeable for array in found.values())


@pytest.mark.parametrize(
    "array, told",
    [
        pytest.param(np.frombuffer(bytes(4), np.uint8), "is written, but the array is read-only", id="bytes"),
        pytest.param(np.broadcast_to(np.uint8(1), 4), "is written, but the array is", id="broadcast"),
        pytest.param(as_strided(np.zeros(4, np.uint8), (4,), (0,)), "is written, .* same place", id="stride 0"),
        pytest.param(as_strided(np.zeros(4, np.int16), (3,), (1,)), "is written, .* same place", id="overlap"),
    ],
)
def test_what_is_written_can_be(array: np.ndarray, told: str) -> None:
    before = array.copy()
    with pytest.raises(ArgumentError, match=f"argument b {told}"):
        Lending(1)(np.zeros(4, np.uint8), array)
    assert (array == before).all()


def test_arrays_that_share_memory_are_one_memory() -> None:
    array = np.zeros(4, np.uint8)
    Lending(0, 1)(array, array)
    Lending(0)(array[:2], array[1:])
    assert array.tolist() == [3, 3, 2, 2]


@pytest.mark.parametrize("written", [0, 1])
def test_a_copy_that_would_miss_what_is_written_elsewhere_is_refused(written: int) -> None:
    array = np.zeros(8, np.uint8)
    with pytest.raises(ArgumentError, match="arguments a and b share memory"):
        Lending(written)(array[::2], array)
    Lending(written)(array[::2], array[1::2])
    Lending()(array[::2], array)
    assert array.tolist() == ([1, 0] if written == 0 else [0, 1]) * 4
