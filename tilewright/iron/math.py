"""Functions of numbers: of Python numbers now, of a program's numbers when it runs.

`exp(v)` and the like take floating-point numbers of the program (`v.astype(np.float32)` makes them of integers), and
compute in their type; `maximum`, `minimum`, `clip`, `where` and `abs` take integers as well.
"""

from __future__ import annotations

import math as python
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from xdsl.dialects import math as ops
from xdsl.dialects.builtin import i1
from xdsl.irdl import IRDLOperation

from tilewright.dialects import math as more_ops
from tilewright.iron.builders import arithmetic
from tilewright.iron.builders.handles import Value, ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, like, same_type
from tilewright.iron.builders.types import is_float_type, is_number

Number = Any
"""A Python number, or a `ScalarValue`."""


def _operands(name: str, *given: Any) -> list[ScalarValue]:
    """Floating-point numbers of one type."""
    known = next(value for value in given if not is_number(value))
    values = [like(value, known) for value in given]
    if not is_float_type(values[0].type):
        remedy = f"convert it first: `{name}(v.astype(np.float32))`"
        refuse(f"`{name}` takes floating-point numbers, not {values[0].type}", (None, remedy))
    for value in values[1:]:
        same_type(values[0], value)
    return values


def _function(name: str, op_class: type[IRDLOperation], python_function: Callable[..., float]) -> Callable[..., Any]:
    names = [operand for operand, _ in op_class.get_irdl_definition().operands]

    def function(*given: Number) -> Any:
        if len(given) != len(names):
            refuse(f"`{name}` takes {len(names)} numbers, not {len(given)}")
        if all(map(is_number, given)):
            return python_function(*given)
        values = _operands(name, *given)
        operands: dict[str, Any] = dict(zip(names, values, strict=True))
        return ScalarValue(build(op_class, results=[values[0].type], **operands).results[0])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{op_class.name}`."
    return function


def _fma(a: float, b: float, c: float) -> float:
    return a * b + c


def _rsqrt(x: float) -> float:
    return 1 / python.sqrt(x)


def _round_away(x: float) -> float:
    return python.copysign(python.floor(python.fabs(x) + 0.5), x)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x))  # a program's `floor` stays a floating-point number


# one by one, not by a table: editors and type checkers have to know the names
acos = _function("acos", ops.AcosOp, python.acos)
acosh = _function("acosh", ops.AcoshOp, python.acosh)
asin = _function("asin", ops.AsinOp, python.asin)
asinh = _function("asinh", ops.AsinhOp, python.asinh)
atan = _function("atan", ops.AtanOp, python.atan)
atan2 = _function("atan2", ops.Atan2Op, python.atan2)
atanh = _function("atanh", ops.AtanhOp, python.atanh)
cbrt = _function("cbrt", ops.CbrtOp, python.cbrt)
ceil = _function("ceil", ops.CeilOp, _whole(python.ceil))
copysign = _function("copysign", ops.CopySignOp, python.copysign)
cos = _function("cos", ops.CosOp, python.cos)
cosh = _function("cosh", ops.CoshOp, python.cosh)
erf = _function("erf", ops.ErfOp, python.erf)
erfc = _function("erfc", more_ops.ErfcOp, python.erfc)
exp = _function("exp", ops.ExpOp, python.exp)
exp2 = _function("exp2", ops.Exp2Op, python.exp2)
expm1 = _function("expm1", ops.ExpM1Op, python.expm1)
floor = _function("floor", ops.FloorOp, _whole(python.floor))
fma = _function("fma", ops.FmaOp, _fma)
log = _function("log", ops.LogOp, python.log)
log10 = _function("log10", ops.Log10Op, python.log10)
log1p = _function("log1p", ops.Log1pOp, python.log1p)
log2 = _function("log2", ops.Log2Op, python.log2)
powf = _function("powf", ops.PowFOp, python.pow)
# halves away from zero, where Python rounds to even
round = _function("round", ops.RoundOp, _round_away)
roundeven = _function("roundeven", ops.RoundEvenOp, _whole(lambda x: int(x.__round__())))
rsqrt = _function("rsqrt", ops.RsqrtOp, _rsqrt)
sin = _function("sin", ops.SinOp, python.sin)
sinh = _function("sinh", ops.SinhOp, python.sinh)
sqrt = _function("sqrt", ops.SqrtOp, python.sqrt)
tan = _function("tan", ops.TanOp, python.tan)
tanh = _function("tanh", ops.TanhOp, python.tanh)
trunc = _function("trunc", ops.TruncOp, _whole(python.trunc))


def pow(base: Number, exponent: Number) -> Any:
    """`base ** exponent`."""
    return base**exponent


def abs(value: Number) -> Any:
    """The number without its sign."""
    return value.__abs__()  # the name `abs` is taken here


absf = absi = abs


def maximum(first: Number, *others: Number) -> Any:
    """The largest of some numbers; NaN if one of them is."""
    return _extreme("max", first, others)


def minimum(first: Number, *others: Number) -> Any:
    """The smallest of some numbers; NaN if one of them is."""
    return _extreme("min", first, others)


def _extreme(operator: str, first: Number, others: tuple[Number, ...]) -> Any:
    for other in others:
        if is_number(first) and is_number(other):
            first = max(first, other) if operator == "max" else min(first, other)
            continue
        left, right = same_type(like(first, other), other)
        first = ScalarValue(arithmetic.binary(operator, left.ssa, right.ssa))
    return first


def clip(value: Number, low: Number, high: Number) -> Any:
    """`value`, moved into the range from `low` to `high`."""
    return minimum(maximum(value, low), high)


def where(condition: Any, yes: Number, no: Number) -> Any:
    """`yes` if the condition holds, else `no`; both are computed."""
    # what Python knows now, the program need not ask again
    if not isinstance(condition, Value):
        return yes if condition else no
    if condition.type != i1:
        refuse(f"a condition is a comparison, of type i1, not {condition.type}", (None, "such as `v != 0`"))
    left, right = same_type(like(yes, no) if is_number(yes) and not is_number(no) else ScalarValue(yes), no)
    return ScalarValue(arithmetic.choose(ssa_of(condition), left.ssa, right.ssa))


select = where

# those whose names differ; `numpy_function` finds the others by theirs
_NUMPY = {
    "absolute": abs,
    "fabs": abs,
    "arccos": acos,
    "arccosh": acosh,
    "arcsin": asin,
    "arcsinh": asinh,
    "arctan": atan,
    "arctan2": atan2,
    "arctanh": atanh,
    "float_power": pow,
    "power": pow,
    "rint": roundeven,
    "fmax": maximum,
    "fmin": minimum,
    "clip": clip,
}
_OPERATORS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "bitwise_and": "and_",
    "bitwise_or": "or_",
    "bitwise_xor": "xor",
    "left_shift": "lshift",
    "right_shift": "rshift",
    "negative": "neg",
    "positive": "pos",
    "invert": "invert",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}


@lru_cache
def numpy_function(name: str) -> Callable[..., Any] | None:
    """What one of NumPy's functions is here."""
    import operator

    if name in _OPERATORS:
        function = getattr(operator, _OPERATORS[name])
        return lambda *values: function(*map(_of_program, values))
    return _NUMPY.get(name) or (globals().get(name) if name in __all__ else None)


def _of_program(value: Any) -> Any:
    """NumPy's numbers as Python's: an operator of NumPy's would ask for this function again."""
    return value.item() if hasattr(value, "item") else value


__all__ = [
    "abs",
    "absf",
    "absi",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fma",
    "log",
    "log1p",
    "log2",
    "log10",
    "maximum",
    "minimum",
    "pow",
    "powf",
    "round",
    "roundeven",
    "rsqrt",
    "select",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "where",
]
