"""Numbers of the program: constants, casts and Python's operators on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.dialects import arith
from tilewright.dialects._syntax import INDEX
from tilewright.ir.diagnostics import location_of
from tilewright.iron.builders import arithmetic
from tilewright.iron.builders.arithmetic import convert, signless, signless_type, with_sign
from tilewright.iron.builders.handles import VALUE_CLASSES, OpView, Value, ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.remedies import number_remedy, truth_remedy, worded
from tilewright.iron.builders.types import (
    convert_type,
    inferred_type,
    is_float_type,
    is_integer,
    is_integer_type,
    is_number,
    numpy_type,
)
from tilewright.support.tracebacks import user_facing

Operator: TypeAlias = "Callable[[ScalarValue, Any], ScalarValue]"
_NOT_KNOWN = "a value of the program is not known while it is being built"


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
    return ScalarValue(arithmetic.number(value, kind, loc=loc, ip=ip))


def _operators(name: str) -> tuple[Operator, Operator]:
    """The methods for `self operator other` and `other operator self`, by the operator's name in Python."""

    method = f"__r{name.strip('_')}__"

    def direct(self: ScalarValue, other: Any) -> ScalarValue:
        return NotImplemented if _computes(other, method) else _binary(name, self, other)

    def reflected(self: ScalarValue, other: Any) -> ScalarValue:
        return _binary(name, like(other, self), self)

    return direct, reflected


@user_facing
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

    def astype(self, dtype: Any) -> ScalarValue:
        """The number converted, as NumPy's `astype` converts: integers wrap, fractions are cut off."""
        return ScalarValue(convert(self.ssa, convert_type(dtype)))

    def is_constant(self) -> bool:
        return arithmetic.constant_of(self.ssa) is not None

    @property
    def literal_value(self) -> int | float:
        """The number that a constant is."""
        known = arithmetic.constant_of(self.ssa)
        if known is None:
            refuse("this value is not a constant", (location_of(self.ssa), "it is made here"))
        return known

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("truediv")
    __floordiv__, __rfloordiv__ = _operators("floordiv")
    __mod__, __rmod__ = _operators("mod")
    __and__, __rand__ = _operators("and")
    __or__, __ror__ = _operators("or")
    __xor__, __rxor__ = _operators("xor")
    __lshift__, __rlshift__ = _operators("lshift")
    __rshift__, __rrshift__ = _operators("rshift")

    def __pow__(self, other: Any) -> ScalarValue:
        exponent = other.literal_value if isinstance(other, ScalarValue) and other.is_constant() else other
        # products are exact where a general power need not be
        return ScalarValue(arithmetic.power(self.ssa, exponent)) if is_number(exponent) else _binary("pow", self, other)

    def __rpow__(self, other: Any) -> ScalarValue:
        return like(other, self) ** self

    def __divmod__(self, other: Any) -> tuple[ScalarValue, ScalarValue]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[ScalarValue, ScalarValue]:
        return other // self, other % self

    def __neg__(self) -> ScalarValue:
        # 0.0 - 0.0 would be 0.0
        return _binary("sub", like(-0.0 if is_float_type(self.type) else 0, self), self)

    def __pos__(self) -> ScalarValue:
        return self

    def __abs__(self) -> ScalarValue:
        return ScalarValue(arithmetic.magnitude(self.ssa))

    def __invert__(self) -> ScalarValue:
        return ScalarValue(arithmetic.inverted(self.ssa))

    def __floor__(self) -> ScalarValue:
        return _rounded("floor", self)

    def __ceil__(self) -> ScalarValue:
        return _rounded("ceil", self)

    def __trunc__(self) -> ScalarValue:
        return _rounded("trunc", self)

    def __round__(self, digits: None = None) -> ScalarValue:
        if digits is not None:
            refuse("a number of the program is rounded to whole numbers only", (None, "scale it before and after"))
        return _rounded("roundeven", self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> ScalarValue:
        """NumPy's functions, `np.exp(v)` or `np.maximum(v, 0)`, build what they mean."""
        # it imports this module
        from tilewright.iron.math import numpy_function

        function = numpy_function(ufunc.__name__) if method == "__call__" and not options else None
        if function is None:
            refuse(f"a program has no `{ufunc.__name__}` of NumPy", (None, "`tilewright.iron.math` has what there is"))
        return function(*inputs)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse(
            _NOT_KNOWN, (None, "it cannot be in a NumPy array; store it in a buffer of the program: `buffer[i] = v`")
        )

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
        return hash(self.ssa)  # Python takes it away from a class that defines `__eq__`

    def __bool__(self) -> bool:
        refuse(_NOT_KNOWN, (None, truth_remedy()))

    def __int__(self) -> int:
        return int(self._known("int()"))

    def __float__(self) -> float:
        return float(self._known("float()"))

    def _known(self, asked_by: str) -> int | float:
        known = arithmetic.constant_of(self.ssa)
        if known is None:
            refuse(_NOT_KNOWN, (None, number_remedy(asked_by)), (location_of(self.ssa), "it is made here"))
        return known

    def __index__(self) -> int:
        # not even of constants: `range(v)` would unroll what is meant as a loop
        refuse(_NOT_KNOWN, (None, number_remedy("an index of Python")))

    def __format__(self, spec: str) -> str:
        known = arithmetic.constant_of(self.ssa)
        if known is not None:
            return format(known, spec)
        refuse(_NOT_KNOWN, (None, worded("print it when the program runs: {print}")))


def _computes(given: object, method: str) -> bool:
    """Whether something else than numbers, such as several of them, knows what an operator does with a number."""
    return hasattr(type(given), method) and not isinstance(given, ScalarValue | np.ndarray) and not is_number(given)


def _binary(operator: str, left: ScalarValue, right: Any) -> ScalarValue:
    left, right = same_type(left, right)
    return ScalarValue(arithmetic.binary(operator, left.ssa, right.ssa))


def _rounded(function: str, value: ScalarValue) -> ScalarValue:
    from tilewright.iron import math

    return getattr(math, function)(value) if is_float_type(value.type) else value


def binary(op_class: type[IRDLOperation], left: Any, right: Any, **kwargs: Any) -> ScalarValue:
    """An arithmetic operation on two values of one type."""
    left, right = same_type(like(left, right), right)
    lhs, rhs = signless(left.ssa), signless(right.ssa)
    return ScalarValue(with_sign(build(op_class, results=[lhs.type], lhs=lhs, rhs=rhs, **kwargs).results[0], left.type))


def same_type(left: ScalarValue, right: Any) -> tuple[ScalarValue, ScalarValue]:
    """Both operands with one type; types that differ are refused, unless one is an index."""
    right = like(right, left)
    if left.type == right.type:
        return left, right
    kinds = (left.type, right.type)
    if any(isinstance(kind, IndexType) for kind in kinds) and any(is_integer_type(kind) for kind in kinds):
        return left, right.astype(left.type)
    refuse(f"operands have different types, {left.type} and {right.type}", (None, _conversion_remedy(left, right)))


def _conversion_remedy(left: ScalarValue, right: ScalarValue) -> str:
    """The conversion that loses nothing, by the names that a program has for types."""
    a, b = (numpy_type(value.type) for value in (left, right))
    for value in (left, right):
        if isinstance(value.type, MemRefType):
            return "an element of an array is `a[i]`, that of one without dimensions `a[()]`"
    if any(isinstance(value.type, IndexType) for value in (left, right)):
        name = np.dtype(b if isinstance(left.type, IndexType) else a).name
        return f"convert the index: `n.astype({'' if name == 'bfloat16' else 'np.'}{name})`"
    if a is None or b is None:
        return "convert one of them, such as `a.astype(np.int32)`"
    try:
        wider = np.result_type(a, b).name
    except TypeError:
        wider = "bfloat16"  # NumPy knows of nothing that holds them and other numbers
    return f"convert them first, such as `a.astype({'' if wider == 'bfloat16' else 'np.'}{wider})`"


def like(given: Any, other: Any) -> ScalarValue:
    """A Python number as a constant of the other operand's type, a value as it is."""
    if is_number(given):
        type = ssa_of(other).type
        if not is_integer(given) and not is_float_type(type):
            remedy = "convert the number first: `v.astype(np.float32)`"
            refuse(f"{given!r} is no whole number, the other operand has type {type}", (None, remedy))
        return constant(given, type)
    return given if isinstance(given, ScalarValue) else ScalarValue(given)


def _compare(relation: str, left: ScalarValue, right: Any) -> ScalarValue:
    # `v == None` and the like are Python's to answer: nothing of the program is equal to them
    if not isinstance(right, int | float | np.number | Value | OpView | SSAValue):
        return NotImplemented
    left, right = same_type(left, right)
    return ScalarValue(arithmetic.compare(relation, left.ssa, right.ssa))


def cmpi(predicate: Any, lhs: Any, rhs: Any, **kwargs: Any) -> ScalarValue:
    """`arith.cmpi`; the predicate is a name (`"slt"`) or a member of `CmpIPredicate`."""
    return _comparison(arith.CmpiOp, arithmetic.INTEGER_PREDICATES, predicate, lhs, rhs, kwargs)


def cmpf(predicate: Any, lhs: Any, rhs: Any, **kwargs: Any) -> ScalarValue:
    """`arith.cmpf`; the predicate is a name (`"olt"`) or a member of `CmpFPredicate`."""
    return _comparison(arith.CmpfOp, arithmetic.FLOAT_PREDICATES, predicate, lhs, rhs, kwargs)


def _comparison(
    op_class: type[IRDLOperation], names: list[str], predicate: Any, lhs: Any, rhs: Any, kwargs: dict[str, Any]
) -> ScalarValue:
    number = names.index(predicate) if isinstance(predicate, str) and predicate in names else predicate
    if not is_integer(number) or not 0 <= number < len(names):
        refuse(f"{predicate!r} is not a way to compare", (None, f"there are {', '.join(names)}"))
    left, right = same_type(lhs if isinstance(lhs, ScalarValue) else ScalarValue(lhs), rhs)
    chosen = IntegerAttr(int(number), i64)
    operands: dict[str, Any] = {"lhs": signless(left.ssa), "rhs": signless(right.ssa)}
    return ScalarValue(build(op_class, results=[i1], predicate=chosen, **operands, **kwargs).results[0])


def index_cast(value: Any, *, to: Any = None, loc: Any = None, ip: Any = None) -> ScalarValue:
    """An integer as an index, or an index as an integer."""
    target = INDEX if to is None else convert_type(to)
    op = build(arith.IndexCastOp, results=[signless_type(target)], input=signless(ssa_of(value)), loc=loc, ip=ip)
    return ScalarValue(with_sign(op.result, target))


def as_index(given: Any) -> ScalarValue:
    """A number or a value as an index."""
    if is_integer(given):
        return constant(int(given), index=True)
    value = given if isinstance(given, ScalarValue) else ScalarValue(given)
    if is_float_type(value.type):
        refuse(f"an index is a whole number, not a value of type {value.type}", (None, "write `v.astype(np.int32)`"))
    return value.astype(INDEX)


# how `value_of` knows that values of these types are numbers
for _type in (IntegerType, IndexType, Float16Type, Float32Type, Float64Type, BFloat16Type):
    VALUE_CLASSES[_type] = ScalarValue


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
    return None if given is None else constant(int(given), i32).ssa if is_integer(given) else as_integer(given, i32)
