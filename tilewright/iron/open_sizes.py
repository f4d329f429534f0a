"""Sizes that are only known when a sequence runs: types for them, and what has to hold of them."""

from __future__ import annotations

from typing import Any, TypeAlias

from xdsl.dialects.builtin import i32

from tilewright.dialects.aiex.guards import NpuAssertRangeOp
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.builders.scalars import as_index, as_integer
from tilewright.iron.dialects import arith

__all__ = ["Size", "least", "require_multiple", "require_zero"]

Size: TypeAlias = "int | type[Any]"
"""A number, or the type of one that the host gives at run time, such as `np.int32`."""


def require_multiple(size: Any, of: int, name: str) -> None:
    """Refuse a `size` that is no multiple of `of`: now where it is known, else when the sequence gets it.

    `name` is what messages call it.
    """
    if isinstance(size, int):
        if size % of:
            refuse(f"{name} is {size}, which is not a multiple of {of}", (None, "pad it with zeros"))
        return
    require_zero(size % of, f"{name} modulo {of}")


def require_zero(number: Any, name: str) -> None:
    """Refuse to run the sequence where a `number` of it, which messages call `name`, is not 0."""
    check = NpuAssertRangeOp(as_integer(number, i32), 0, 0, name)
    check.location = user_location()
    InsertionPoint.current.insert(check)


def least(left: Any, right: Any) -> Any:
    """The smaller of two sizes, `left` and `right`, as an index."""
    return arith.minsi(as_index(left), as_index(right))
