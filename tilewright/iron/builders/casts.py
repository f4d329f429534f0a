"""Conversions between types of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IndexType, IntegerType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.dialects import arith
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.python_values import is_integer
from tilewright.iron.builders.scalars import ScalarValue, constant, index_cast
from tilewright.iron.builders.types import convert_type, is_integer_type


def cast_to(op_class: type[IRDLOperation]) -> Callable[..., ScalarValue]:
    """The builder of a cast: `(type, value)` as generated builders have it, or `(value, to=type)`."""

    def cast_value(out: Any, in_: Any = None, *, to: Any = None, loc: Any = None, ip: Any = None) -> ScalarValue:
        value, target = (out, to) if in_ is None else (in_, out)
        op = build(op_class, results=[convert_type(target)], input=value, loc=loc, ip=ip)
        return ScalarValue(op.results[0])

    return cast_value


def as_integer(given: Any, type: IntegerType) -> SSAValue:
    """A value of the program as an integer of this width."""
    value = ssa_of(given, "a number")
    if value.type == type:
        return value
    if isinstance(value.type, IndexType):
        return index_cast(value, to=type).ssa
    if not is_integer_type(value.type):
        refuse(f"expected an integer, not a value of type {value.type}")
    cast = arith.ExtSIOp if value.type.bitwidth < type.bitwidth else arith.TruncIOp
    return build(cast, results=[type], input=value).results[0]


def as_i32(given: Any) -> Any:
    """A Python number as an i32 constant, a value as an i32; None as it is."""
    if given is None:
        return None
    return constant(int(given), i32).ssa if is_integer(given) else as_integer(given, i32)
