"""The `vector` dialect for Python programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, BoolAttr

from tilewright.dialects import vector as ops
from tilewright.iron.builders.handles import value_of, view_of
from tilewright.iron.builders.operations import build, builder
from tilewright.iron.builders.types import convert_type

broadcast = builder(ops.BroadcastOp, "source", result=...)
fma = builder(ops.FMAOp, "lhs rhs acc", result=...)
load = builder(ops.LoadOp, "base indices", result=...)
shape_cast = builder(ops.ShapeCastOp, "source", result=...)
store = builder(ops.StoreOp, "vector base indices")


def transfer_read(
    result: Any,
    source: Any,
    indices: Sequence[Any],
    permutation_map: Any,
    padding: Any,
    in_bounds: Sequence[bool],
    *,
    mask: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """`vector.transfer_read`: read a vector from a part of a buffer, `padding` for what lies outside."""
    fields: dict[str, Any] = {"source": source, "indices": indices, "padding": padding, "mask": mask}
    fields |= {"permutation_map": permutation_map, "in_bounds": _booleans(in_bounds)}
    return value_of(build(ops.TransferReadOp, results=[convert_type(result)], loc=loc, ip=ip, **fields).result)


def transfer_write(
    result: Any,
    value_to_store: Any,
    base: Any,
    indices: Sequence[Any],
    permutation_map: Any,
    in_bounds: Sequence[bool],
    *,
    mask: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """`vector.transfer_write`: write a vector into a part of a buffer; `result` is the type of a tensor, or None."""
    fields: dict[str, Any] = {"vector": value_to_store, "source": base, "indices": indices, "mask": mask}
    fields |= {"permutation_map": permutation_map, "in_bounds": _booleans(in_bounds)}
    results = [] if result is None else [convert_type(result)]
    made = build(ops.TransferWriteOp, results=results, loc=loc, ip=ip, **fields)
    return view_of(made) if made.result is None else value_of(made.result)


def _booleans(given: Sequence[bool]) -> Any:
    return ArrayAttr([BoolAttr.from_bool(bool(part)) for part in given])


__all__ = ["broadcast", "fma", "load", "shape_cast", "store", "transfer_read", "transfer_write"]
