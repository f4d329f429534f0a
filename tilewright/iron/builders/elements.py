"""Contents of arrays as constants."""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.types import numpy_type


def elements(values: Any, shaped: Any) -> Attribute:
    """An array's contents as a constant of a tensor or buffer type; numbers that the element type cannot hold are
    refused."""
    element_type, shape = shaped.element_type, shaped.get_shape()
    kind = numpy_type(element_type)
    if kind is None:
        refuse(f"cannot give initial values of type {element_type}")
    try:
        given = cast("np.ndarray[Any, Any]", np.asarray(values))
        converted = cast("np.ndarray[Any, Any]", given.astype(kind))
    except (TypeError, ValueError):
        refuse(f"expected an array of initial values, not {values!r}")
    if given.dtype.kind in "iub" and not np.array_equal(converted.astype(given.dtype), given):
        refuse(f"initial values do not fit in {element_type}")
    if given.size != prod(shape):
        refuse(f"initial values of shape {given.shape} do not fill {shaped}")
    return DenseIntOrFPElementsAttr(shaped, BytesAttr(np.ascontiguousarray(converted).tobytes()))
