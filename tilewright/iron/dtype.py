"""Short names of element types, as command lines have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from tilewright.iron.builders.location import refuse

dtype_map: dict[str, type[Any]] = {
    "bf16": bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "f32": np.float32,
    "i32": np.int32,
}


def str_to_dtype(dtype_str: str) -> type[Any]:
    """The NumPy type that a short name, the `dtype_str`, stands for."""
    if dtype_str not in dtype_map:
        refuse(f"Unrecognized dtype: {dtype_str}", (None, f"it is one of {', '.join(dtype_map)}"))
    return dtype_map[dtype_str]


def dtype_to_str(dtype: Any) -> str:
    """The short name of a NumPy type, the `dtype`."""
    # compared, not looked up: a dtype is equal to its scalar type, but has another hash
    for name, known in dtype_map.items():
        if known == dtype:
            return name
    refuse(f"Unrecognized dtype: {dtype}", (None, f"it is one of {', '.join(str(t) for t in dtype_map.values())}"))
