"""Block floating point: eight numbers that share an exponent and have eight bits each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.kernels.definition import Array

BLOCK = 8
_MANTISSA_BITS = 7  # and a sign


def rounded_blocks(matrix: Array, axis: int) -> npt.NDArray[np.float32]:
    """What is left of numbers that become `bfp16ebs8` in blocks along an axis: rounded to nearest even."""
    values = np.moveaxis(matrix.astype(np.float32), axis, -1)
    blocks = values.reshape(*values.shape[:-1], -1, BLOCK)
    _, exponents = np.frexp(np.abs(blocks).max(axis=-1, keepdims=True))
    unit = np.ldexp(np.float32(1), exponents - _MANTISSA_BITS)
    limit = (1 << _MANTISSA_BITS) - 1
    rounded = np.clip(np.rint(blocks / unit), -limit - 1, limit) * unit
    return np.moveaxis(rounded.reshape(values.shape).astype(np.float32), -1, axis)
