"""Types of elements, under mlir-air's names; NumPy takes each for the dtype of arrays that hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.air import dtypes


class DType:
    """A type of elements, under a `name`: `dtype` is NumPy's, which it is equal to and whose attributes it has.

    `default_vector_width` is how many elements a vector instruction of an NPU takes; on GPUs it means nothing.
    """

    def __init__(self, name: str, dtype: Any, default_vector_width: int):
        self._name, self.dtype, self.default_vector_width = name, np.dtype(dtype), default_vector_width

    @property
    def np_dtype(self) -> type:
        """NumPy's type of one such number."""
        return self.dtype.type

    @property
    def is_float(self) -> bool:
        return self in (bf16, f16, f32, f64)

    @property
    def is_unsigned(self) -> bool:
        return self.dtype.kind == "u"

    def __getattr__(self, name: str) -> Any:
        # `dtype` itself is not there yet while it is unpickled
        if name == "dtype" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dtype, name)

    def __eq__(self, other: object) -> bool:
        return self.dtype == other

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __str__(self) -> str:
        return str(self.dtype)

    def __repr__(self) -> str:
        return f"air.{self._name}"


bf16 = DType("bf16", dtypes.bf16, 16)
f16 = DType("f16", dtypes.f16, 16)
f32 = DType("f32", dtypes.f32, 16)
f64 = DType("f64", dtypes.f64, 8)
i8 = DType("i8", dtypes.i8, 32)
i16 = DType("i16", dtypes.i16, 16)
i32 = DType("i32", dtypes.i32, 16)
i64 = DType("i64", dtypes.i64, 8)
ui8 = DType("ui8", dtypes.ui8, 32)
ui16 = DType("ui16", dtypes.ui16, 16)
ui32 = DType("ui32", dtypes.ui32, 16)
ui64 = DType("ui64", dtypes.ui64, 8)
KNOWN = bf16, f16, f32, f64, i8, i16, i32, i64, ui8, ui16, ui32, ui64


def dtype_of(np_dtype: Any) -> DType | None:
    """The type of elements of such arrays, `np_dtype`, if there is one."""
    return next((each for each in KNOWN if each.dtype == np.dtype(np_dtype)), None)
