"""Numbers of the program: constants, casts and Python's operators on them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    Signedness,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.dialects import arith
from tilewright.ir.diagnostics import location_of
from tilewright.iron.builders.handles import VALUE_CLASSES, OpView, Value, ssa_of
from tilewright.iron.builders.insertion import InsertionPoint
from tilewright.iron.builders.literals import inferred_type, literal
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.python_values import is_integer, is_number
from tilewright.iron.builders.types import convert_type, is_float_type, is_integer_type

INDEX = IndexType()
_INTEGERS = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
_FLOATING = ["false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"]


def constant(
    value: Any,
    type: Any = None,
    index: bool | None = None,
    *,
    vector: bool = False,
    loc: LocationAttr | None = None,
    ip: InsertionPoint | None = None,
) -> ScalarValue:
    """`arith.constant`; without a type, integers are i32 if they fit and floats are f32."""
    kind = INDEX if index else inferred_type(value) if type is None else convert_type(type)
    attribute = literal(value, kind)
    op = build(arith.ConstantOp, results=[kind], value=attribute, loc=loc, ip=ip)
    return ScalarValue(op.result)


class ScalarValue(Value):
    """An integer, an index or a floating-point number; operators build arithmetic.

    A Python number on the other side becomes a constant of this value's type. Where an index meets an integer, the
    right one takes the type of the left one.
    """

    def __init__(self, given: Any, *, dtype: Any = None, loc: LocationAttr | None = None):
        if is_number(given):
            given = constant(given, dtype, loc=loc)
        super().__init__(ssa_of(given))

    @property
    def dtype(self) -> Attribute:
        return self.type

    def is_constant(self) -> bool:
        return isinstance(self.ssa.owner, arith.ConstantOp)

    @property
    def literal_value(self) -> int | float:
        """The number that a constant is."""
        owner = self.ssa.owner
        value = owner.value if isinstance(owner, arith.ConstantOp) else None
        if not isinstance(value, IntegerAttr | FloatAttr):
            refuse("this value is not a constant", (location_of(self.ssa), "it is made here"))
        return value.value.data

    def __add__(self, other: Any) -> ScalarValue:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> ScalarValue:
        return _binary("add", self, other)

    def __sub__(self, other: Any) -> ScalarValue:
        return _binary("sub", self, other)

    def __rsub__(self, other: Any) -> ScalarValue:
        return _binary("sub", _like(other, self), self)

    def __mul__(self, other: Any) -> ScalarValue:
        return _binary("mul", self, other)

    def __rmul__(self, other: Any) -> ScalarValue:
        return _binary("mul", self, other)

    def __truediv__(self, other: Any) -> ScalarValue:
        return _binary("truediv", self, other)

    def __rtruediv__(self, other: Any) -> ScalarValue:
        return _binary("truediv", _like(other, self), self)

    def __floordiv__(self, other: Any) -> ScalarValue:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> ScalarValue:
        return _binary("floordiv", _like(other, self), self)

    def __mod__(self, other: Any) -> ScalarValue:
        return _binary("mod", self, other)

    def __rmod__(self, other: Any) -> ScalarValue:
        return _binary("mod", _like(other, self), self)

    def __and__(self, other: Any) -> ScalarValue:
        return _binary("and", self, other)

    def __rand__(self, other: Any) -> ScalarValue:
        return _binary("and", self, other)

    def __or__(self, other: Any) -> ScalarValue:
        return _binary("or", self, other)

    def __ror__(self, other: Any) -> ScalarValue:
        return _binary("or", self, other)

    def __xor__(self, other: Any) -> ScalarValue:
        return _binary("xor", self, other)

    def __lshift__(self, other: Any) -> ScalarValue:
        return _binary("lshift", self, other)

    def __rshift__(self, other: Any) -> ScalarValue:
        return _binary("rshift", self, other)

    def __neg__(self) -> ScalarValue:
        return _binary("sub", _like(0, self), self)

    def __eq__(self, other: object) -> Any:
        return _compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _compare("ne", self, other)

    def __lt__(self, other: Any) -> ScalarValue:
        return _compare("lt", self, other)

    def __le__(self, other: Any) -> ScalarValue:
        return _compare("le", self, other)

    def __gt__(self, other: Any) -> ScalarValue:
        return _compare("gt", self, other)

    def __ge__(self, other: Any) -> ScalarValue:
        return _compare("ge", self, other)

    def __hash__(self) -> int:
        return hash(self.ssa)

    def __bool__(self) -> bool:
        refuse(
            "a value of the program is not known while it is being built",
            (None, "use `with if_(condition):` for a choice that the program makes"),
        )

    def __int__(self) -> int:
        return int(self.literal_value)

    def __float__(self) -> float:
        return float(self.literal_value)

    def __index__(self) -> int:
        refuse(
            "a value of the program is not known while it is being built",
            (None, "use `range_` for loops over it, and `index_cast` to convert it"),
        )


_OPERATORS: dict[str, tuple[type[IRDLOperation] | None, type[IRDLOperation] | None]] = {
    "add": (arith.AddiOp, arith.AddfOp),
    "sub": (arith.SubiOp, arith.SubfOp),
    "mul": (arith.MuliOp, arith.MulfOp),
    "truediv": (arith.DivSIOp, arith.DivfOp),
    "floordiv": (arith.FloorDivSIOp, None),
    "mod": (arith.RemSIOp, arith.RemfOp),
    "and": (arith.AndIOp, None),
    "or": (arith.OrIOp, None),
    "xor": (arith.XOrIOp, None),
    "lshift": (arith.ShLIOp, None),
    "rshift": (arith.ShRSIOp, None),
}
"""What an operator builds on integers and on floating-point numbers."""


def _binary(operator: str, left: ScalarValue, right: Any) -> ScalarValue:
    left, right = _alike(left, right)
    integers, floats = _OPERATORS[operator]
    op_class = floats if is_float_type(left.type) else integers
    if op_class is None:
        refuse(f"there is no '{operator}' of {left.type}")
    return binary(op_class, left, right)


def binary(op_class: type[IRDLOperation], left: Any, right: Any, **kwargs: Any) -> ScalarValue:
    """An arithmetic operation on two values of one type."""
    left, right = _alike(_like(left, right), right)
    op = build(op_class, results=[left.type], lhs=left, rhs=right, **kwargs)
    return ScalarValue(op.results[0])


def _alike(left: ScalarValue, right: Any) -> tuple[ScalarValue, ScalarValue]:
    """Both operands with one type."""
    right = _like(right, left)
    if left.type == right.type:
        return left, right
    kinds = (left.type, right.type)
    if any(isinstance(kind, IndexType) for kind in kinds) and any(is_integer_type(kind) for kind in kinds):
        return left, index_cast(right, to=left.type)
    refuse(
        f"operands have different types, {left.type} and {right.type}",
        (None, "convert one of them, for example with `arith.extsi` or `arith.trunci`"),
    )


def _like(given: Any, other: Any) -> ScalarValue:
    if is_number(given):
        return constant(given, ssa_of(other).type)
    return given if isinstance(given, ScalarValue) else ScalarValue(given)


def _compare(relation: str, left: ScalarValue, right: Any) -> ScalarValue:
    if not isinstance(right, int | float | np.number | Value | OpView | SSAValue):
        return cast(Any, relation == "ne")
    left, right = _alike(left, right)
    if is_float_type(left.type):
        return cmpf(f"o{relation}", left, right)
    if relation in ("eq", "ne"):
        return cmpi(relation, left, right)
    return cmpi(("u" if _is_unsigned(left.type) else "s") + relation, left, right)


def _is_unsigned(type: Attribute) -> bool:
    return is_integer_type(type) and type.signedness.data is Signedness.UNSIGNED


def cmpi(predicate: Any, lhs: Any, rhs: Any, **kwargs: Any) -> ScalarValue:
    """`arith.cmpi`; the predicate is a name (`"slt"`) or a member of `CmpIPredicate`."""
    return _comparison(arith.CmpiOp, _INTEGERS, predicate, lhs, rhs, kwargs)


def cmpf(predicate: Any, lhs: Any, rhs: Any, **kwargs: Any) -> ScalarValue:
    """`arith.cmpf`; the predicate is a name (`"olt"`) or a member of `CmpFPredicate`."""
    return _comparison(arith.CmpfOp, _FLOATING, predicate, lhs, rhs, kwargs)


def _comparison(
    op_class: type[IRDLOperation], names: list[str], predicate: Any, lhs: Any, rhs: Any, kwargs: dict[str, Any]
) -> ScalarValue:
    number = names.index(predicate) if isinstance(predicate, str) and predicate in names else predicate
    if not is_integer(number) or not 0 <= number < len(names):
        refuse(f"{predicate!r} is not a way to compare", (None, f"there are {', '.join(names)}"))
    left, right = _alike(lhs if isinstance(lhs, ScalarValue) else ScalarValue(lhs), rhs)
    chosen = IntegerAttr(int(number), i64)
    op = build(op_class, results=[i1], lhs=left, rhs=right, predicate=chosen, **kwargs)
    return ScalarValue(op.results[0])


def index_cast(value: Any, *, to: Any = None, loc: Any = None, ip: Any = None) -> ScalarValue:
    """An integer as an index, or an index as an integer."""
    target = INDEX if to is None else convert_type(to)
    return ScalarValue(build(arith.IndexCastOp, results=[target], input=value, loc=loc, ip=ip).result)


def as_index(given: Any) -> ScalarValue:
    """A number or a value as an index."""
    if is_integer(given):
        return constant(int(given), index=True)
    value = given if isinstance(given, ScalarValue) else ScalarValue(given)
    return value if isinstance(value.type, IndexType) else index_cast(value)


for _type in (IntegerType, IndexType, Float16Type, Float32Type, Float64Type, BFloat16Type):
    VALUE_CLASSES[_type] = ScalarValue
