"""Sizes that are only known when a sequence runs: types for them, and what has to hold of them."""

from __future__ import annotations

from typing import Any, TypeAlias

from xdsl.dialects.builtin import i32

from tilewright.dialects.aiex.guards import NpuAssertRangeOp
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.builders.scalars import as_index, as_integer
from tilewright.iron.dialects import arith

__all__ = ["Size", "least", "most", "require_at_least", "require_multiple", "require_zero"]

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


def require_at_least(size: Any, limit: int, name: str) -> None:
    """Refuse a `size`, which messages call `name`, below a `limit`: now where it is known, else when it is given."""
    if isinstance(size, int):
        if size < limit:
            refuse(f"{name} is {size}, which is less than {limit}", (None, "pad it with zeros"))
        return
    _require_range(size, limit, (1 << 31) - 1, name)


def require_zero(number: Any, name: str) -> None:
    """Refuse to run the sequence where a `number` of it, which messages call `name`, is not 0."""
    _require_range(number, 0, 0, name)


def _require_range(number: Any, low: int, high: int, name: str) -> None:
    check = NpuAssertRangeOp(as_integer(number, i32), low, high, name)
    check.location = user_location()
    InsertionPoint.current.insert(check)


def least(left: Any, right: Any) -> Any:
    """The smaller of two sizes, `left` and `right`, as an index."""
    return arith.minsi(as_index(left), as_index(right))


def most(left: Any, right: Any) -> Any:
    """The larger of two sizes, `left` and `right`, as an index."""
    return arith.maxsi(as_index(left), as_index(right))
