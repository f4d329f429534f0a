"""Kernels that make one number of many: sums, and the least and the greatest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.kernels import cost
from tilewright.kernels.definition import Array, Call, Function, MemoryArg, ScalarArg, define
from tilewright.kernels.numbers import wide


def _vector_cost(call: Call, source: Array, _target: Array, count: int) -> int:
    return cost.moves(call, count * source.itemsize, 0)


def _scalar_cost(_call: Call, _source: Array, _target: Array, count: int) -> int:
    return count * cost.SCALAR_ELEMENT_CYCLES


def _reduction(reduce: Callable[[Array, Any], Any], start: Callable[[np.dtype[Any]], Any]) -> Function:
    """`start` is what an empty reduction gives."""

    def function(call: Call, source: Array, target: Array, count: int) -> None:
        target[:1] = reduce(call.part(source, count), start(source.dtype))

    return function


def _wrapping_sum(values: Array, _start: Any) -> Any:
    return wide(values).sum().astype(values.dtype)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind == "i" else np.finfo(np.float32).min.astype(dtype)


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).max


_add = _reduction(_wrapping_sum, lambda dtype: 0)
_min = _reduction(lambda values, start: values.min(initial=start), _highest)
_max = _reduction(lambda values, start: values.max(initial=start), _lowest)


def _define(name: str, element: str, function: Function, summary: str, suffix: str = "") -> None:
    parameters = [MemoryArg("a_in", element), MemoryArg("c_out", element), ScalarArg("input_size")]
    define(f"{name}_vector{suffix}", parameters, _vector_cost, summary)(function)
    define(f"{name}_scalar{suffix}", parameters, _scalar_cost, summary)(function)


def _greater(call: Call, a: Array, b: Array, c: Array) -> None:
    c[0] = a[0] if a[0] > b[0] else b[0]


def _one_element(_call: Call, *_arguments: Array) -> int:
    return cost.SCALAR_ELEMENT_CYCLES


_define("reduce_add", "i32", _add, "c[0] = the sum of a")
_define("reduce_min", "i32", _min, "c[0] = the least of a")
for _element, _suffix in (("i32", ""), ("bf16", "_bfloat16")):
    _define("reduce_max", _element, _max, "c[0] = the greatest of a", _suffix)
    _parameters = [MemoryArg(part, _element) for part in ("a_in", "b_in", "c_out")]
    define(f"compute_max{_suffix}", _parameters, _one_element, "c[0] = the greater of a[0] and b[0]")(_greater)
