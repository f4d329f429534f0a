"""Conversions between types of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IndexType, IntegerType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.iron.builders.conversions import convert
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.python_values import is_integer
from tilewright.iron.builders.scalars import ScalarValue, constant
from tilewright.iron.builders.signs import signless, signless_type, with_sign
from tilewright.iron.builders.types import convert_type, is_integer_type


def cast_to(op_class: type[IRDLOperation]) -> Callable[..., ScalarValue]:
    """The builder of a cast: `(type, value)` as generated builders have it, or `(value, to=type)`."""

    def cast_value(out: Any, in_: Any = None, *, to: Any = None, loc: Any = None, ip: Any = None) -> ScalarValue:
        value, target = (out, to) if in_ is None else (in_, out)
        type = convert_type(target)
        op = build(op_class, results=[signless_type(type)], input=signless(ssa_of(value)), loc=loc, ip=ip)
        return ScalarValue(with_sign(op.results[0], type))

    return cast_value


def as_integer(given: Any, type: IntegerType) -> SSAValue:
    """A value of the program as an integer of this width."""
    value = ssa_of(given, "a number")
    if not is_integer_type(value.type) and not isinstance(value.type, IndexType):
        refuse(f"expected an integer, not a value of type {value.type}", (None, "write `v.astype(np.int32)`"))
    return convert(value, type)


def as_i32(given: Any) -> Any:
    """A Python number as an i32 constant, a value as an i32; None as it is."""
    if given is None:
        return None
    return constant(int(given), i32).ssa if is_integer(given) else as_integer(given, i32)
