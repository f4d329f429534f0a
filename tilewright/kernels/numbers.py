"""Arithmetic as the cores do it: wrapping integers, shifts that round and saturate, bf16 rounded to nearest even."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tilewright.kernels.definition import Array

Floats = npt.NDArray[np.float32]
BF16 = np.dtype(ml_dtypes.bfloat16)
BLOCK = 8
_MANTISSA_BITS = 7  # and a sign


def wide(array: Array) -> npt.NDArray[np.int64]:
    return array.astype(np.int64)


def wrapped(values: Array, dtype: np.dtype[Any]) -> Array:
    """Integers of 64 bits cut to the bits of a type."""
    return values.astype(dtype)


def shifted(values: npt.NDArray[np.int64], shift: int, rounding: str = "floor") -> npt.NDArray[np.int64]:
    """Divide by a power of two. `floor` is what a core does unless it is told otherwise.

    `positive_inf` rounds halves up, `symmetric_inf` away from zero, `conv_even` to the even number.
    """
    if shift <= 0:
        return values << -shift
    if rounding == "floor":
        return values >> shift
    half = 1 << (shift - 1)
    if rounding == "symmetric_inf":
        return np.sign(values) * ((np.abs(values) + half) >> shift)
    if rounding == "conv_even":
        return (values + half - 1 + ((values >> shift) & 1)) >> shift
    return (values + half) >> shift


def saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers that do not fit become the nearest that does."""
    limits = np.iinfo(dtype)
    return np.clip(values, limits.min, limits.max).astype(dtype)


def f32(array: Array | float | np.floating[Any]) -> Floats:
    return np.asarray(array, dtype=np.float32)


def bf16(values: Array | float | np.floating[Any]) -> Array:
    """Round to nearest even."""
    return np.asarray(values, dtype=np.float32).astype(BF16)


def bf16_step(values: Array | float | np.floating[Any]) -> Floats:
    """What is left of values that go through a bf16 register."""
    return bf16(values).astype(np.float32)


def rounded_blocks(matrix: Array, axis: int) -> npt.NDArray[np.float32]:
    """What is left of numbers that become `bfp16ebs8` in blocks along an axis: rounded to nearest even."""
    values = np.moveaxis(matrix.astype(np.float32), axis, -1)
    blocks = values.reshape(*values.shape[:-1], -1, BLOCK)
    # Eight numbers share the exponent of the greatest of them.
    _, exponents = np.frexp(np.abs(blocks).max(axis=-1, keepdims=True))
    unit = np.ldexp(np.float32(1), exponents - _MANTISSA_BITS)
    limit = (1 << _MANTISSA_BITS) - 1
    rounded = np.clip(np.rint(blocks / unit), -limit - 1, limit) * unit
    return np.moveaxis(rounded.reshape(values.shape).astype(np.float32), -1, axis)
