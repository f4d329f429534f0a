"""Arrays of all kinds in runs: results are those of contiguous copies, and no byte outside of an array is touched.

The arrays are views of one memory whose other bytes are canaries. TILEWRIGHT_STRESS=1 tries many more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from operator import mul
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bare_streams import bare, binary, loopback
from helpers import STRESS
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import COPY

import tilewright as tw
from tilewright.native.host_arrays import overlaps_itself
from tilewright.sim.models import Model

EXAMPLES = 2000 if STRESS else 120
BYTES = 256
ARENA = 8192
A_STARTS, B_STARTS = (0, 1000, 2001), (4100, 5003, 6000, 0, 1256)
TRANSFERS = """
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
"""
DTYPES: dict[str, list[Any]] = {
    "i8": [np.int8, np.uint8],
    "i16": [np.int16, np.uint16],
    "i32": [np.int32, np.uint32],
    "bf16": [ml_dtypes.bfloat16],
    "f32": [np.float32],
}
OTHERS = [np.int64, np.float64, np.float16, np.dtype(">i4"), np.dtype(">f4"), np.uint64, np.bool_]
Start = Callable[[np.ndarray, np.ndarray], Any]


@cache
def design(element: str) -> tw.Design:
    """A copy of 256 bytes."""
    width = np.dtype(DTYPES[element][0]).itemsize
    text = COPY.replace("BODY", TRANSFERS).replace("16xi32", f"{64 // width}x{element}")
    return tw.compile(
        text.replace("64xi32", f"{BYTES // width}x{element}").replace("1, 1, 1, 64", f"1, 1, 1, {BYTES // width}")
    )


@cache
def loaded(element: str) -> Any:
    return design(element).load()


used_device = cache(bare)
"""One for all arrays."""


@dataclass(frozen=True)
class Layout:
    """Where the elements of an array are."""

    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    """Strides, in elements."""
    read_only: bool

    def view(self, arena: np.ndarray) -> np.ndarray:
        """The array; it begins where all its elements are in the middle of the memory."""
        strides = [step * self.dtype.itemsize for step in self.steps]
        ends = [(size - 1) * stride for size, stride in zip(self.shape, strides, strict=True)]
        low, high = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
        start = 64 + self.offset % (ARENA - 128 - (high - low) - self.dtype.itemsize) - low
        array = np.ndarray(self.shape, self.dtype, arena, start, strides)
        array.flags.writeable = not self.read_only
        return array


@st.composite
def layouts(draw: st.DrawFn, dtypes: list[Any], *starts: int) -> Layout:
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    count = BYTES // dtype.itemsize
    shape = draw(st.sampled_from([(count,), (4, count // 4), (2, 4, count // 8)]))
    packed = list(accumulate([1, *shape[:0:-1]], mul))[::-1]
    match draw(st.sampled_from(["packed", "packed", "gaps", "transposed", "any"])):
        case "gaps":
            scale = draw(st.sampled_from([2, 3, -1, -2]))
            steps = [step * scale for step in packed]
        case "transposed":
            steps = list(accumulate([1, *shape[:-1]], mul))
        case "any":
            steps = [draw(st.integers(-3, 3)) for _ in shape]
        case _:
            steps = packed
    offset = draw(st.sampled_from(starts)) + draw(st.integers(0, 300))
    return Layout(dtype, offset, shape, tuple(steps), draw(st.integers(0, 7)) == 7)


def check(start: Start, a: Layout, b: Layout, fits: Callable[[np.ndarray], bool], seed: int) -> None:
    """Run a copy of one array to another; NumPy does the same in another memory."""
    arena = np.random.default_rng(seed).integers(0, 256, ARENA, dtype=np.uint8)
    before, expected = arena.copy(), arena.copy()
    source, target = a.view(arena), b.view(arena)
    separate = not (source.flags.c_contiguous and target.flags.c_contiguous)
    shared = np.shares_memory(source, target)
    takes = fits(source) and fits(target) and target.flags.writeable and not overlaps_itself(target)
    if not takes or (shared and separate):
        with pytest.raises(tw.errors.ArgumentError, match="argument"):
            start(source, target)
        assert (arena == before).all()
        return
    start(source, target)
    wanted = replace(b, read_only=False).view(expected)
    wanted[...] = np.frombuffer(a.view(before).tobytes(), b.dtype).reshape(b.shape)
    if shared:  # what is read and what is written meet: that only the target changes is all that is certain
        wanted[...] = target
    assert (arena == expected).all()


def fits(element: str, array: np.ndarray) -> bool:
    return array.dtype in map(np.dtype, DTYPES[element]) or array.dtype == np.uint8


@given(st.data(), st.sampled_from(list(DTYPES)), st.sampled_from(["run", "loaded"]), st.integers(0, 1000))
@settings(max_examples=EXAMPLES)
def test_arrays_of_a_design(data: st.DataObject, element: str, way: str, seed: int) -> None:
    dtypes = [*DTYPES[element] * (20 // len(DTYPES[element])), np.uint8, *OTHERS]
    a, b = data.draw(layouts(dtypes, *A_STARTS)), data.draw(layouts(dtypes, *B_STARTS))
    start = design(element).run if way == "run" else loaded(element).run
    check(start, a, b, lambda array: fits(element, array), seed)


@given(
    layouts([np.int8, np.int16, np.int32, np.float64, np.bool_], *A_STARTS),
    layouts([np.int32, np.uint8, np.complex64], *B_STARTS),
    st.sampled_from(Model),
    st.integers(0, 1000),
)
@settings(max_examples=EXAMPLES)
def test_arrays_of_a_stream(a: Layout, b: Layout, model: Model, seed: int) -> None:
    """Of which nothing says what its elements are."""
    words = binary(loopback(BYTES // 4))
    check(lambda source, target: used_device(model).run(words, {0: source, 2: target}), a, b, lambda array: True, seed)


@pytest.mark.parametrize("model", Model)
@pytest.mark.parametrize("error, options", [(tw.Hang, {}), (tw.Stopped, {"max_cycles": 300})])
def test_results_of_a_run_that_does_not_end_are_there(
    error: type[Exception], options: dict[str, Any], model: Model
) -> None:
    """What has come until then is in the array, whatever its strides are."""
    text = COPY.replace("BODY", TRANSFERS + "    aiex.npu.dma_wait {symbol = @out}\n")
    memory = np.zeros((64, 3), np.int32)
    outcomes = list[np.ndarray]()
    for target in (np.zeros(64, np.int32), memory[:, 1]):
        with pytest.raises(error):
            tw.compile(text).run(np.arange(1, 65, dtype=np.int32), target, model=model.value, **options)
        outcomes.append(target)
    assert (outcomes[0] == outcomes[1]).all() and not memory[:, ::2].any()
    assert error is not tw.Hang or outcomes[0].all()
