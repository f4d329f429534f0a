"""Kernels that do the same with each element."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from tilewright.iron.builders.location import refuse
from tilewright.iron.kernels.library import (
    LibraryFunction,
    array,
    bit_width,
    library_function,
    need_tile_size,
    source_of,
)


def passthrough(tile_size: int = 4096, dtype: Any = np.int32) -> LibraryFunction:
    """`passThroughLine(in, out, lineWidth)`: out = in."""
    width, line = bit_width(dtype, "passthrough"), array(tile_size, dtype)
    flags = [f"-DBIT_WIDTH={width}"]
    return library_function("passThroughLine", source_of("passThrough.cc", "generic"), [line, line, np.int32], flags)


def scale(
    tile_size: int = 1024, dtype: Any = np.int32, vectorized: bool = True, use_chess: bool = False
) -> LibraryFunction:
    """`vector_scalar_mul_*(a, c, factor, N)`: c = a * factor, for 16 and 32 bits."""
    if dtype not in (np.int16, np.int32):
        refuse(f"scale() dtype must be np.int16 or np.int32, got {dtype}")
    # the factor is an array of one, as the C++ function takes it
    types = [array(tile_size, dtype), array(tile_size, dtype), array(1, np.int32), np.int32]
    name = f"vector_scalar_mul_{'vector' if vectorized else 'scalar'}"
    return library_function(name, source_of("scale.cc"), types, [f"-DBIT_WIDTH={bit_width(dtype, 'scale')}"], use_chess)


def add(tile_size: int = 1024, dtype: Any = bfloat16, vectorized: bool = True) -> LibraryFunction:
    """`eltwise_add_bf16_*(a, b, c)`: c = a + b, for 1024 of bf16."""
    return _bf16("add", tile_size, dtype, vectorized)


def mul(tile_size: int = 1024, dtype: Any = bfloat16, vectorized: bool = True) -> LibraryFunction:
    """`eltwise_mul_bf16_*(a, b, c)`: c = a * b, for 1024 of bf16."""
    return _bf16("mul", tile_size, dtype, vectorized)


def _bf16(operation: str, tile_size: int, dtype: Any, vectorized: bool) -> LibraryFunction:
    need_tile_size(operation, tile_size)
    if dtype is not bfloat16:
        refuse(f"{operation}() dtype must be bfloat16, got {dtype}. Only the bf16 variant is available.")
    name = f"eltwise_{operation}_bf16_{'vector' if vectorized else 'scalar'}"
    return library_function(name, source_of(f"{operation}.cc"), [array(tile_size, bfloat16)] * 3)


def relu(tile_size: int = 1024) -> LibraryFunction:
    """`bf16_relu(a, c)`: c = max(a, 0), for 1024 of bf16."""
    need_tile_size("relu", tile_size)
    return library_function("bf16_relu", source_of("relu.cc"), [array(tile_size, bfloat16)] * 2)
