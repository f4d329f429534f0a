"""Arithmetic as the cores do it: wrapping integers, shifts that round and saturate, bf16 rounded to nearest even."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tilewright.kernels.definition import DTYPES, Array

Floats = npt.NDArray[np.float32]
BF16 = np.dtype(ml_dtypes.bfloat16)
BLOCK = 8
BLOCK_DTYPE = DTYPES["v8bfp16ebs8"]
_EXPONENT_BIAS = 127
_MANTISSA_BITS = 7  # and a sign
_ROUNDINGS: Mapping[str, Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]] = {
    "floor": np.floor,
    "positive_inf": lambda values: np.floor(values + 0.5),
    "symmetric_inf": lambda values: np.trunc(values + np.copysign(0.5, values)),
    "conv_even": np.rint,
}


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


def block_floats(values: Array, rounding: str = "floor") -> Array:
    """Numbers as `bfp16ebs8`: records of an exponent and the mantissas of eight neighbours of the last axis."""
    blocks = values.astype(np.float64).reshape(*values.shape[:-1], -1, BLOCK)
    greatest = np.abs(blocks).max(axis=-1)
    found = np.zeros(blocks.shape[:-1], BLOCK_DTYPE)
    # Eight numbers share the exponent of the greatest of them, which has its first bit before the point.
    found["exponent"] = np.clip(np.frexp(greatest)[1] - 1 + _EXPONENT_BIAS, 0, 255) * (greatest > 0)
    scaled = _ROUNDINGS[rounding](blocks / _units(found))
    limit = (1 << _MANTISSA_BITS) - 1
    found["mantissas"] = np.clip(scaled, -limit - 1, limit)
    return found


def block_values(blocks: Array) -> Floats:
    """The numbers of blocks, which stand one after another along the last axis."""
    numbers = blocks["mantissas"] * _units(blocks)
    return numbers.reshape(*blocks.shape[:-1], -1).astype(np.float32)


def _units(blocks: Array) -> npt.NDArray[np.float64]:
    """What the last bit of the mantissas stands for."""
    exponents = blocks["exponent"].astype(np.int32) - _EXPONENT_BIAS - (_MANTISSA_BITS - 1)
    return np.ldexp(1.0, exponents)[..., np.newaxis]


def rounded_blocks(matrix: Array, axis: int) -> Floats:
    """What is left of numbers that become `bfp16ebs8` in blocks along an axis: rounded to nearest even."""
    values = np.moveaxis(matrix, axis, -1)
    return np.moveaxis(block_values(block_floats(values, "conv_even")), -1, axis)
