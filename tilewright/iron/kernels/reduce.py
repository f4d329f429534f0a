"""Kernels that make one number of many."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from tilewright.iron.builders.location import refuse
from tilewright.iron.kernels.library import LibraryFunction, aligned_elements, array, library_function, source_of

_REDUCE_MAX = "reduce_max.o"  # has `compute_max`, too


def reduce_add(tile_size: int = 1024, dtype: Any = np.int32, vectorized: bool = True) -> LibraryFunction:
    """`reduce_add_*(a, c, size)`: c[0] = the sum of a."""
    return _integers("add", tile_size, dtype, vectorized)


def reduce_min(tile_size: int = 1024, dtype: Any = np.int32, vectorized: bool = True) -> LibraryFunction:
    """`reduce_min_*(a, c, size)`: c[0] = the least of a."""
    return _integers("min", tile_size, dtype, vectorized)


def _integers(operation: str, tile_size: int, dtype: Any, vectorized: bool) -> LibraryFunction:
    if np.dtype(dtype) != np.int32:
        refuse(f"reduce_{operation}() dtype must be np.int32, got {dtype}. Only the int32 variant is available.")
    name = f"reduce_{operation}_{'vector' if vectorized else 'scalar'}"
    types = [array(tile_size, np.int32), array(1, np.int32), np.int32]
    return library_function(name, source_of(f"reduce_{operation}.cc"), types)


def reduce_max(tile_size: int = 1024, dtype: Any = np.int32, vectorized: bool = True) -> LibraryFunction:
    """`reduce_max_*(a, c, size)`: c[0] = the greatest of a, for int32 and bf16; c has a whole word."""
    element, suffix = _element("reduce_max", dtype)
    # a result of two bytes would be less than a DMA can move
    types = [array(tile_size, element), array(aligned_elements(element), element), np.int32]
    name = f"reduce_max_{'vector' if vectorized else 'scalar'}{suffix}"
    return library_function(name, source_of("reduce_max.cc"), types, object_file=_REDUCE_MAX)


def compute_max(dtype: Any = np.int32) -> LibraryFunction:
    """`compute_max(a, b, c)`: c[0] = the greater of a[0] and b[0]; each has a whole word."""
    element, suffix = _element("compute_max", dtype)
    one = array(aligned_elements(element), element)
    return library_function(
        f"compute_max{suffix}", source_of("reduce_max.cc"), [one, one, one], object_file=_REDUCE_MAX
    )


def _element(factory: str, dtype: Any) -> tuple[Any, str]:
    for known, suffix in ((np.int32, ""), (bfloat16, "_bfloat16")):
        if np.dtype(dtype) == np.dtype(known):
            return known, suffix
    refuse(f"{factory}() dtype must be np.int32 or bfloat16, got {dtype}")
