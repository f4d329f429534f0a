"""The `aievec` dialect for Python programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.dialects import aievec as ops
from tilewright.iron.builders.handles import value_of
from tilewright.iron.builders.operations import build, builder
from tilewright.iron.builders.types import convert_type

add_elem = builder(ops.AddElemOp, "lhs rhs", result=...)
sub_elem = builder(ops.SubElemOp, "lhs rhs", result=...)
min = builder(ops.MinOp, "lhs rhs", result=...)
max = builder(ops.MaxOp, "lhs rhs", result=...)
mul_elem = builder(ops.MulElemOp, "lhs rhs", result=...)
mac_elem = builder(ops.MacElemOp, "lhs rhs acc", optional="fmsub", result=...)
srs = builder(ops.SrsOp, "source shift", optional="sign", result=...)


def upd(
    result: Any,
    source: Any,
    indices: Sequence[Any],
    *,
    offset: int = 0,
    index: int = 0,
    vector: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """`aievec.upd`: load lanes of a vector from a buffer."""
    fields: dict[str, Any] = {"source": source, "indices": indices, "offset": offset, "index": index, "vector": vector}
    return value_of(build(ops.UpdOp, results=[convert_type(result)], loc=loc, ip=ip, **fields).result)


def ups(result: Any, source: Any, *, shift: int = 0, loc: Any = None, ip: Any = None) -> Any:
    """`aievec.ups`: move a vector into an accumulator."""
    return value_of(build(ops.UpsOp, results=[convert_type(result)], source=source, shift=shift, loc=loc, ip=ip).result)


def broadcast(result: Any, source: Any, *, idx: int = 0, loc: Any = None, ip: Any = None) -> Any:
    """`aievec.broadcast`: fill all lanes with one of a vector."""
    made = build(ops.BroadcastOp, results=[convert_type(result)], source=source, idx=idx, loc=loc, ip=ip)
    return value_of(made.result)


def cast(result: Any, source: Any, *, isResAcc: bool = False, loc: Any = None, ip: Any = None) -> Any:
    """`aievec.cast`: take a vector as an accumulator, or back."""
    made = build(ops.CastOp, results=[convert_type(result)], source=source, isResAcc=isResAcc, loc=loc, ip=ip)
    return value_of(made.result)


__all__ = [
    "add_elem",
    "broadcast",
    "cast",
    "mac_elem",
    "max",
    "min",
    "mul_elem",
    "srs",
    "sub_elem",
    "upd",
    "ups",
]
