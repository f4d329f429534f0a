"""Compares results with what was expected; scripts end with `PASS!` or `FAIL!`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.iron.utils.benchmark import BenchmarkResult, print_benchmark

DEFAULT_RTOL = 0.128
"""What results of bf16 functions from tables are given."""
_F32 = np.finfo(np.float32)


def nearly_equal(a: Any, b: Any, *, rtol: float = DEFAULT_RTOL, atol: float | None = None) -> npt.NDArray[np.bool_]:
    """Where |a - b| is less than `atol` or than `rtol` of |a| + |b|; never where there is NaN."""
    x, y = (np.asarray(array, dtype=np.float32) for array in (a, b))
    floor = float(_F32.tiny) if atol is None else atol  # near zero a share of the value is nothing
    with np.errstate(over="ignore", invalid="ignore"):
        return (x == y) | (np.abs(x - y) < np.maximum(floor, rtol * np.minimum(np.abs(x) + np.abs(y), _F32.max)))


def count_mismatches(
    actual: Any,
    ref: Any,
    *,
    rtol: float = DEFAULT_RTOL,
    atol: float | None = None,
    stop_at_nonfinite: bool = True,
) -> tuple[int, int]:
    """How many differ, and how many were compared: up to the first that is not finite, unless told otherwise."""
    x, y = (np.asarray(array, dtype=np.float32).ravel() for array in (actual, ref))
    if x.shape != y.shape:
        raise ValueError(f"actual and ref must have the same shape, got {x.shape} vs {y.shape}")
    # a kernel that overflows gives nothing to compare behind it
    odd = ~(np.isfinite(x) & np.isfinite(y))
    compared = int(np.argmax(odd)) if stop_at_nonfinite and odd.any() else x.size
    return int(compared - np.count_nonzero(nearly_equal(x[:compared], y[:compared], rtol=rtol, atol=atol))), compared


def assert_pass(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    fail_msg: str | None = None,
    print_pass: bool = True,
) -> None:
    """Print `PASS!`, or end the program with `FAIL!`. Without tolerances everything has to be equal."""
    if rtol is None and atol is None:
        equal = bool(np.array_equal(actual, expected))
    else:
        equal = count_mismatches(actual, expected, rtol=DEFAULT_RTOL if rtol is None else rtol, atol=atol)[0] == 0
    if not equal:
        sys.exit("FAIL!" if fail_msg is None else f"FAIL! {fail_msg}")
    if print_pass:
        print("PASS!")


def assert_close_with_benchmark(
    actual: Any,
    expected: Any,
    *,
    bench: BenchmarkResult,
    ops: float | None = None,
    gflops_fmt: str = ".2f",
    float_rtol: float = 0.05,
    float_atol: float = 0.5,
    fail_msg: str | None = None,
    mismatch_indices: bool = False,
) -> None:
    """Compare integers exactly and floats with tolerances, then print how long it took, and `PASS!`."""
    if np.issubdtype(np.asarray(expected).dtype, np.integer):
        if mismatch_indices and not np.array_equal(actual, expected):
            places = np.argwhere(np.asarray(actual) != np.asarray(expected))[:5].tolist()
            sys.exit(f"FAIL! {fail_msg or 'output mismatch'} (first mismatches: {places})")
        assert_pass(actual, expected, fail_msg=fail_msg, print_pass=False)
    else:
        assert_pass(actual, expected, rtol=float_rtol, atol=float_atol, fail_msg=fail_msg, print_pass=False)
    print()
    print_benchmark(bench)
    if ops is not None and bench.npu is not None:
        print(f"NPU GFLOPS                    : {ops / (1000 * bench.npu.avg_us):{gflops_fmt}}")
    print("PASS!")
