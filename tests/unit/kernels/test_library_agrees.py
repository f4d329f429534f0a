"""The library's kernels against C++ of the same names, on random data: a test of the library and of the headers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from cpp_cases import CONV_EVEN, FLOOR, NONE, Type, compile_source, core_of
from declared_kernels import call
from ml_dtypes import bfloat16

Random = np.random.Generator
SOURCE = Path(__file__).with_name("agreement.cc")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_source(tmp_path_factory.mktemp("agreement"), SOURCE.read_text(), "-D__AIE2__", "-D__AIEARCH__=20")


class Pair(NamedTuple):
    """A kernel, the name of its C++ form, and what both are called with; those in `extra` only the C++ is told."""

    name: str
    arguments: Callable[[Random], list[Any]]
    cpp: str = ""
    extra: tuple[int, ...] = ()
    tolerance: float = 0.0
    """Where the order of sums or a function differs; without it, results are the same bit by bit."""


def numbers(element: str, size: int) -> Callable[[Random], Any]:
    return Type(element, size).random


def zeros(dtype: Any, size: int) -> Callable[[Random], Any]:
    return lambda rng: np.zeros(size, dtype)


def small(size: int, dtype: Any = bfloat16) -> Callable[[Random], Any]:
    return lambda rng: rng.normal(size=size).astype(np.float32).astype(dtype)


def arguments(*made: Any) -> Callable[[Random], list[Any]]:
    return lambda rng: [part(rng) if callable(part) else part for part in made]


def _product(element: str, result: str, blocks: tuple[int, int, int], tolerance: float = 0.0) -> Pair:
    m, k, n = (times * size for times, size in zip((4, 3, 8), blocks, strict=True))
    short = {"int16": "i16", "int8": "i8", "bfloat16": "bf16", "int32": "i32", "float": "f32"}
    given = arguments(numbers(element, m * k), numbers(element, k * n), numbers(result, m * n))
    return Pair(f"matmul_{short[element]}_{short[result]}", given, extra=(m, k, n), tolerance=tolerance)


WIDTH, INPUTS, OUTPUTS = 12, 24, 16
PAIRS = [
    *(
        Pair("passThroughLine", arguments(numbers(element, 256), zeros(dtype, 256), 256), f"passThroughLine_{suffix}")
        for element, dtype, suffix in (
            ("uint8", np.uint8, "ui8"),
            ("int16", np.int16, "i16"),
            ("int32", np.int32, "i32"),
        )
    ),
    *(
        Pair(
            "vector_scalar_mul_vector",
            arguments(numbers(f"int{bits}", 256), zeros(f"int{bits}", 256), numbers("int32", 1), 256),
            f"vector_scalar_mul_vector_i{bits}",
        )
        for bits in (16, 32)
    ),
    *(
        Pair(f"eltwise_{kind}_bf16_vector", arguments(*[numbers("bfloat16", 1024)] * 2, zeros(bfloat16, 1024)))
        for kind in ("add", "mul")
    ),
    Pair("bf16_relu", arguments(numbers("bfloat16", 1024), zeros(bfloat16, 1024))),
    *(
        Pair(f"reduce_{kind}_vector", arguments(numbers("int32", 512), zeros(np.int32, 4), 512))
        for kind in ("add", "min", "max")
    ),
    Pair("zero_i32", arguments(numbers("int32", 96)), extra=(96,)),
    _product("int16", "int32", (4, 4, 4)),
    _product("int8", "int32", (4, 8, 8)),
    _product("bfloat16", "float", (4, 8, 4)),
    *(
        Pair(
            f"conv2dk1_{short}",
            arguments(
                numbers(element, WIDTH * INPUTS),
                numbers("int8", INPUTS * OUTPUTS),
                zeros(np.uint8, WIDTH * OUTPUTS),
                *(WIDTH, INPUTS, OUTPUTS, 9),
            ),
        )
        for element, short in (("int8", "i8"), ("uint8", "ui8"))
    ),
    Pair("bitwiseANDLine", arguments(numbers("uint8", 256), numbers("uint8", 256), zeros(np.uint8, 256), 256)),
    # the base of the logarithm is rounded to bf16 here, so that the exponent is off by up to 0.3 %
    Pair("exp_bf16_1024", arguments(small(1024), zeros(bfloat16, 1024)), tolerance=0.02),
    Pair("softmax_bf16", arguments(small(64), zeros(bfloat16, 64), 64), tolerance=0.03),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.cpp or pair.name)
def test_both_compute_the_same(library: ctypes.CDLL, pair: Pair, seed: int) -> None:
    given = pair.arguments(np.random.default_rng(seed))
    by_library = [part.copy() if isinstance(part, np.ndarray) else part for part in given]
    by_source = [_aligned(part) if isinstance(part, np.ndarray) else part for part in given]
    core = core_of(library)
    # the library rounds bf16 to nearest even; a core that nobody has told so cuts bits off
    core.rounding, core.saturation = CONV_EVEN if _has_bf16(given) else FLOOR, NONE
    call(pair.name, *by_library)
    passed = [part.ctypes.data_as(ctypes.c_void_p) if isinstance(part, np.ndarray) else part for part in by_source]
    getattr(library, pair.cpp or pair.name)(*passed, *pair.extra)
    for ours, theirs in zip(by_library, by_source, strict=True):
        if not isinstance(ours, np.ndarray):
            continue
        if pair.tolerance:
            wide = ours.astype(np.float64), theirs.astype(np.float64)
            np.testing.assert_allclose(*wide, rtol=pair.tolerance, atol=1e-4 * np.abs(wide[0]).max())
        else:
            assert ours.tobytes() == theirs.tobytes()


def test_a_core_that_rounds_down_differs(library: ctypes.CDLL) -> None:
    """After reset a core cuts the bits of a bf16 off: by at most one step below what the library computes."""
    rng = np.random.default_rng(7)
    a, b, c = (_aligned(part) for part in (small(1024)(rng), small(1024)(rng), np.zeros(1024, bfloat16)))
    wanted = c.copy()
    call("eltwise_mul_bf16_vector", a, b, wanted)
    core_of(library).rounding = FLOOR
    library.eltwise_mul_bf16_vector(*(part.ctypes.data_as(ctypes.c_void_p) for part in (a, b, c)))
    exact = a.astype(np.float64) * b.astype(np.float64)
    assert (c.astype(np.float64) <= exact).all() and (c != wanted).any()
    assert (np.abs(c.view(np.int16).astype(int) - wanted.view(np.int16).astype(int)) <= 1).all()


def _has_bf16(given: list[Any]) -> bool:
    return any(isinstance(part, np.ndarray) and part.dtype == bfloat16 for part in given)


def _aligned(array: np.ndarray) -> np.ndarray:
    """A copy where vectors can be loaded from."""
    room = np.zeros(array.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype)
    copy[:] = array
    return copy
