"""The host's side: tensors, and the device that designs are for."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from tilewright.iron.utils.hostruntime.current_device import set_current_device
from tilewright.iron.utils.hostruntime.tensor_class import NpuTensor, Tensor

__all__ = ["NpuTensor", "Tensor", "bfloat16_safe_allclose", "set_current_device"]


def bfloat16_safe_allclose(dtype: Any, arr1: Any, arr2: Any) -> bool:
    """`np.allclose`, for bf16 as well."""
    if dtype == bfloat16:
        arr1, arr2 = (np.asarray(array).astype(np.float16) for array in (arr1, arr2))
    return np.allclose(arr1, arr2)
