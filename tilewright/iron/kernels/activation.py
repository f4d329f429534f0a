"""Functions of bf16, and the same in NumPy for comparing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from ml_dtypes import bfloat16

from tilewright.iron.kernels.library import LibraryFunction, array, library_function, need_tile_size, source_of

_TILE = 1024  # the length that the sources of these kernels have written into them


def _function(factory: str, name: str, file: str, tile_size: int, count: int, *others: Any) -> LibraryFunction:
    need_tile_size(factory, tile_size, _TILE)
    types = [array(tile_size, bfloat16)] * count + [*others]
    return library_function(name, source_of(file), types, uses_tables=True)


def softmax(tile_size: int = _TILE) -> LibraryFunction:
    """`softmax_bf16(input, output, size)`: exp, divided by its sum."""
    return _function("softmax", "softmax_bf16", "softmax.cc", tile_size, 2, np.int32)


def gelu(tile_size: int = _TILE) -> LibraryFunction:
    """`gelu_bf16(input, output)`, by tanh."""
    return _function("gelu", "gelu_bf16", "gelu.cc", tile_size, 2)


def silu(tile_size: int = _TILE) -> LibraryFunction:
    """`silu_bf16(input, output)`: x * sigmoid(x)."""
    return _function("silu", "silu_bf16", "silu.cc", tile_size, 2)


def swiglu(tile_size: int = _TILE) -> LibraryFunction:
    """`swiglu_bf16(input, weights_1, weights_2, output)`."""
    return _function("swiglu", "swiglu_bf16", "swiglu.cc", tile_size, 4)


def bf16_exp(tile_size: int = _TILE) -> LibraryFunction:
    """`exp_bf16_1024(a, c)`: c = exp(a)."""
    return _function("bf16_exp", "exp_bf16_1024", "bf16_exp.cc", tile_size, 2)


Array = npt.NDArray[Any]


def relu_ref(x: Array) -> Array:
    """max(x, 0)"""
    return np.maximum(x.astype(np.float32), 0.0).astype(x.dtype)


def silu_ref(x: Array) -> Array:
    """x * sigmoid(x)"""
    wide = x.astype(np.float32)
    return (wide / (1.0 + np.exp(-wide))).astype(x.dtype)


def gelu_ref(x: Array) -> Array:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))"""
    wide = x.astype(np.float32)
    inner = math.sqrt(2.0 / math.pi) * (wide + 0.044715 * wide**3)
    return (0.5 * wide * (1.0 + np.tanh(inner))).astype(x.dtype)


def bf16_exp_ref(x: Array) -> Array:
    """exp(x)"""
    # what is too large is infinite, as on the device
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(x.astype(np.float32)).astype(x.dtype)


def softmax_ref(x: Array, *, tile_size: int = _TILE) -> Array:
    """Softmax of each `tile_size` elements."""
    if x.size % tile_size != 0:
        raise ValueError(f"softmax_ref: x has {x.size} elements; not a multiple of tile_size={tile_size}")
    rows = x.astype(np.float32).reshape(-1, tile_size)
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).reshape(x.shape).astype(x.dtype)
