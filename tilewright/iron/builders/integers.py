"""Integers as attributes."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.utils.exceptions import VerifyException

from tilewright.iron.builders.location import refuse


@lru_cache(1 << 13)
def integer_attr(value: int, type: IntegerType | IndexType) -> IntegerAttr[IntegerType | IndexType]:
    """A number of this type; one that does not fit is refused."""
    try:
        return IntegerAttr(value, type)
    except VerifyException:
        refuse(f"{value} does not fit in {type}")
