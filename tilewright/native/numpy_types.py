"""MLIR types as NumPy has them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute

_FLOATS: dict[type[Attribute], npt.DTypeLike] = {
    BFloat16Type: ml_dtypes.bfloat16,
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
    Float8E4M3B11FNUZType: ml_dtypes.float8_e4m3b11fnuz,
    Float8E4M3FNType: ml_dtypes.float8_e4m3fn,
    Float8E4M3FNUZType: ml_dtypes.float8_e4m3fnuz,
    Float8E5M2Type: ml_dtypes.float8_e5m2,
    Float8E5M2FNUZType: ml_dtypes.float8_e5m2fnuz,
}


class NotInNumPy(TypeError):
    """A type that NumPy has nothing like."""


def dtype_of(type: Attribute) -> np.dtype[Any]:
    """The type that NumPy has for the elements of a memref."""
    match type:
        case IntegerType():
            unsigned = type.signedness.data is Signedness.UNSIGNED
            width = max(8, type.width.data)
            if width not in (8, 16, 32, 64):
                raise NotInNumPy(f"NumPy has no integers of {width} bits")
            return np.dtype(f"{'u' if unsigned else ''}int{width}") if type.width.data > 1 else np.dtype(np.bool_)
        case IndexType():
            return np.dtype(np.int64)
        case _:
            if type.__class__ not in _FLOATS:
                raise NotInNumPy(f"NumPy has no type like {type}")
            return np.dtype(_FLOATS[type.__class__])


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether values have something behind the point; NumPy does not say so of the short types."""
    return dtype.kind == "f" or dtype in [np.dtype(known) for known in _FLOATS.values()]


@cache
def accepted_dtypes(type: Attribute) -> Sequence[np.dtype[Any]]:
    """The element types of arrays that may stand for a memref of this one, best first; none if NumPy has no such type.

    Integers without a sign take either one. Those of four bits are in a byte each, as in MLIR's memrefs.
    """
    try:
        usual = dtype_of(type)
    except NotInNumPy:
        return ()
    match type:
        case IntegerType() if usual.kind in "iu":
            signless, is_nibble = type.signedness.data is Signedness.SIGNLESS, type.width.data == 4
        case IndexType():
            signless, is_nibble = True, False
        case _:
            return (usual,)
    found = [usual, np.dtype(f"u{usual.name}")] if signless else [usual]
    nibbles = [np.dtype(ml_dtypes.int4 if dtype.kind == "i" else ml_dtypes.uint4) for dtype in found]
    return [*found, *nibbles] if is_nibble else found
