"""Python's operators and conversions on numbers of the program: the operations that mean the same for a type.

Integers wrap at their width. `//` and `%` round down, as in Python; operations divide towards zero where that is no
different. All operands have one type, which the result has too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NoReturn, TypeAlias, cast

from xdsl.dialects import math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    UnrealizedConversionCastOp,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.dialects import arith, scf
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.types import integer_attr, is_float_type, is_integer_type, literal

Binary: TypeAlias = Callable[[SSAValue, SSAValue], SSAValue]
INDEX_BITS = 64  # MLIR keeps numbers of index type in so many
# their places in these lists are MLIR's numbers for them
INTEGER_PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
FLOAT_PREDICATES = [
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno"),
]
_MOST_PRODUCTS = 16
"""A constant power of a floating-point number is a product up to this exponent."""


def number(value: Any, type: Attribute, **kwargs: Any) -> SSAValue:
    """A constant; one that the type does not hold is refused."""
    attribute = literal(value, type)
    if is_unsigned(type) and isinstance(attribute, IntegerAttr):
        # operations take signless constants, which hold a large unsigned number as a negative one
        attribute = IntegerAttr(int(value), IntegerType(width(type)), truncate_bits=True)
    return with_sign(build(arith.ConstantOp, results=[signless_type(type)], value=attribute, **kwargs).result, type)


def constant_of(value: SSAValue) -> int | float | None:
    """The number that a value is known to be."""
    owner = value.owner
    if isinstance(owner, UnrealizedConversionCastOp):
        owner = owner.operands[0].owner  # the cast by which a constant is unsigned
    held = owner.value if isinstance(owner, arith.ConstantOp) else None
    if not isinstance(held, IntegerAttr | FloatAttr):
        return None
    return int(held.value.data) & (1 << width(value.type)) - 1 if is_unsigned(value.type) else held.value.data


def width(type: Attribute) -> int:
    """How many bits an integer has."""
    return type.bitwidth if is_integer_type(type) else INDEX_BITS


def binary(operator: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """`lhs operator rhs`, by the operator's name in Python's `operator` module, or `min` and `max`."""
    type = _element_type(lhs.type)
    make = (_FLOATS if is_float_type(type) else _UNSIGNED if is_unsigned(type) else _SIGNED).get(operator)
    if make is None:
        _refuse_operator(operator, type)
    return with_sign(make(signless(lhs), signless(rhs)), lhs.type)


def _element_type(type: Attribute) -> Attribute:
    """Of a vector, whose elements are computed alike; of a number its own."""
    return cast(Any, type).element_type if isinstance(type, VectorType) else type


def _refuse_operator(operator: str, type: Attribute) -> NoReturn:
    if operator == "truediv":
        refuse(
            f"`/` of whole numbers ({type}) is a fraction in Python, which a program's integers cannot hold",
            (None, "write `//` for the whole part, or `a.astype(np.float32) / b.astype(np.float32)`"),
        )
    remedy = "convert with `.astype(np.int32)` first" if is_float_type(type) else "convert with `.astype(...)` first"
    refuse(f"there is no '{operator}' of {type}", (None, remedy))


def compare(relation: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """A comparison, by its name in Python's `operator` module."""
    type = lhs.type
    if is_float_type(type):
        # a NaN differs from everything, itself included
        return _compare(arith.CmpfOp, FLOAT_PREDICATES.index("une" if relation == "ne" else f"o{relation}"), lhs, rhs)
    sign = "" if relation in ("eq", "ne") else "u" if is_unsigned(type) else "s"
    return _compare(arith.CmpiOp, INTEGER_PREDICATES.index(sign + relation), signless(lhs), signless(rhs))


def _compare(op_class: type[IRDLOperation], predicate: int, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    return build(op_class, results=[i1], lhs=lhs, rhs=rhs, predicate=IntegerAttr(predicate, i64)).results[0]


def choose(condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
    """One of two numbers of a type."""
    chosen = build(
        arith.SelectOp, results=[signless_type(yes.type)], cond=condition, lhs=signless(yes), rhs=signless(no)
    )
    return with_sign(chosen.results[0], yes.type)


def magnitude(value: SSAValue) -> SSAValue:
    """`abs`; that of the smallest integer wraps, as NumPy's."""
    if is_float_type(value.type):
        return build(math.AbsFOp, results=[value.type], operand=value).results[0]
    if is_unsigned(value.type):
        return value
    zero = number(0, value.type)
    return choose(compare("lt", value, zero), _op(arith.SubiOp)(zero, value), value)


def inverted(value: SSAValue) -> SSAValue:
    """`~`: all bits the other way round; of a condition, its opposite."""
    bits = signless(value)
    if is_float_type(bits.type):
        refuse(f"there is no '~' of {value.type}", (None, "bits are those of integers"))
    ones = build(arith.ConstantOp, results=[bits.type], value=integer_attr(-1, bits.type)).result
    return with_sign(_op(arith.XOrIOp)(bits, ones), value.type)


def power(base: SSAValue, exponent: int | float) -> SSAValue:
    """A power whose exponent is known."""
    if is_float_type(base.type):
        return _float_power(base, exponent)
    if exponent != int(exponent) or exponent < 0:
        refuse(f"a whole number to the power of {exponent} is none", (None, "convert it first: `v.astype(np.float32)`"))
    return _product(base, int(exponent))


def _float_power(base: SSAValue, exponent: float) -> SSAValue:
    # a square root is exact to the last bit, a general power is not
    if exponent == 0.5:
        return build(math.SqrtOp, results=[base.type], operand=base).results[0]
    if exponent == int(exponent) and abs(exponent) <= _MOST_PRODUCTS:
        product = _product(base, abs(int(exponent)))
        return product if exponent >= 0 else binary("truediv", number(1, base.type), product)
    return build(math.PowFOp, results=[base.type], lhs=base, rhs=number(exponent, base.type)).results[0]


def _product(base: SSAValue, exponent: int) -> SSAValue:
    """By squaring."""
    result, square = None, base
    while exponent:
        if exponent & 1:
            result = square if result is None else binary("mul", result, square)
        exponent >>= 1
        square = binary("mul", square, square) if exponent else square
    return number(1, base.type) if result is None else result


def _op(op_class: type[IRDLOperation]) -> Binary:
    def make(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return build(op_class, results=[lhs.type], lhs=lhs, rhs=rhs).results[0]

    return make


def _floor_mod(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The remainder with the sign of the divisor."""
    divisor = constant_of(rhs)
    # of natural numbers the remainder is the same however division rounds
    if divisor is not None and divisor > 0 and is_natural(lhs):
        return _op(arith.RemSIOp)(lhs, rhs)
    # in two's complement the low bits are the floored remainder, of negative numbers too
    if divisor is not None and divisor > 0 and int(divisor) & (int(divisor) - 1) == 0:
        return _op(arith.AndIOp)(lhs, number(divisor - 1, lhs.type))
    rest = _op(arith.RemSIOp)(lhs, rhs)
    zero = number(0, lhs.type)
    if divisor is not None and divisor > 0:
        is_off = compare("lt", rest, zero)
    else:
        is_off = compare("lt", _op(arith.XOrIOp)(rest, rhs), zero)
        is_off = _op(arith.AndIOp)(compare("ne", rest, zero), is_off)
    return choose(is_off, _op(arith.AddiOp)(rest, rhs), rest)


def is_natural(value: SSAValue) -> bool:
    """Whether a number is known not to be negative: sizes and loop counters are not."""
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        return isinstance(loop, scf.ForOp) and value.index == 0 and is_natural(loop.lb) and is_natural(loop.step)
    owner = value.owner
    if isinstance(owner, arith.ConstantOp):
        known = constant_of(value)
        return known is not None and known >= 0
    # 64 bits are enough for sums and products of what sizes and counters are
    is_wide = isinstance(value.type, IndexType)
    return is_wide and isinstance(owner, _KEEP_NATURAL) and all(map(is_natural, owner.operands))


# natural numbers give a natural number, and no difference is among them
_KEEP_NATURAL = arith.AddiOp, arith.MuliOp, arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.MinSIOp


def _float_mod(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    rest, zero = _op(arith.RemfOp)(lhs, rhs), number(0, lhs.type)
    signs_differ = _op(arith.XOrIOp)(compare("lt", rest, zero), compare("lt", rhs, zero))
    return choose(_op(arith.AndIOp)(compare("ne", rest, zero), signs_differ), _op(arith.AddfOp)(rest, rhs), rest)


def _float_floor_div(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """What is left without the remainder is a multiple of the divisor, but for rounding."""
    whole = _op(arith.DivfOp)(_op(arith.SubfOp)(lhs, _float_mod(lhs, rhs)), rhs)
    return build(math.RoundEvenOp, results=[lhs.type], operand=whole).results[0]


def _shift(op_class: type[IRDLOperation], *, keeps_sign: bool = False) -> Binary:
    """A shift by the width or more leaves nothing but the sign."""

    def make(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        count, bits = constant_of(rhs), width(lhs.type)
        if count is not None and count < 0:
            refuse(f"a shift by {count} has no meaning", (None, "shift the other way round"))
        if count is not None and count >= bits and not keeps_sign:
            return number(0, lhs.type)
        # a shift by the width or more is poison in MLIR
        if keeps_sign and (count is None or count >= bits):
            rhs = _op(arith.MinUIOp)(rhs, number(bits - 1, lhs.type))
        return _op(op_class)(lhs, rhs)

    return make


_ALIKE: Mapping[str, Binary] = {
    "add": _op(arith.AddiOp),
    "sub": _op(arith.SubiOp),
    "mul": _op(arith.MuliOp),
    "and": _op(arith.AndIOp),
    "or": _op(arith.OrIOp),
    "xor": _op(arith.XOrIOp),
    "lshift": _shift(arith.ShLIOp),
}
_SIGNED: Mapping[str, Binary] = {
    **_ALIKE,
    "floordiv": _op(arith.FloorDivSIOp),
    "mod": _floor_mod,
    "rshift": _shift(arith.ShRSIOp, keeps_sign=True),
    "max": _op(arith.MaxSIOp),
    "min": _op(arith.MinSIOp),
    "pow": _op(math.IPowIOp),
}
_UNSIGNED: Mapping[str, Binary] = {
    **_ALIKE,
    "floordiv": _op(arith.DivUIOp),
    "mod": _op(arith.RemUIOp),
    "rshift": _shift(arith.ShRUIOp),
    "max": _op(arith.MaxUIOp),
    "min": _op(arith.MinUIOp),
}
_FLOATS: Mapping[str, Binary] = {
    "add": _op(arith.AddfOp),
    "sub": _op(arith.SubfOp),
    "mul": _op(arith.MulfOp),
    "truediv": _op(arith.DivfOp),
    "floordiv": _float_floor_div,
    "mod": _float_mod,
    "max": _op(arith.MaximumfOp),
    "min": _op(arith.MinimumfOp),
    "pow": _op(math.PowFOp),
}


def convert(value: SSAValue, type: Attribute) -> SSAValue:
    """A number as one of this type: integers wrap, fractions are cut off, floating-point numbers are rounded."""
    if value.type == type:
        return value
    if type == i1:
        return compare("ne", value, number(0, value.type))  # as in NumPy, all but zero is true
    source, target = signless(value), signless_type(type)
    if is_float_type(value.type):
        made = _from_float(source, target, type)
    elif is_float_type(type):
        made = _to_float(source, target, _is_natural_type(value.type))
    else:
        made = _resized(source, target, _is_natural_type(value.type))
    return with_sign(made, type)


def _is_natural_type(type: Attribute) -> bool:
    """Whether all numbers of a type are natural ones; true is 1."""
    return is_unsigned(type) or type == i1


def _cast(op_class: type[IRDLOperation], value: SSAValue, type: Attribute) -> SSAValue:
    return build(op_class, results=[type], input=value).results[0]


def _resized(value: SSAValue, target: Attribute, is_natural: bool) -> SSAValue:
    if value.type == target:
        return value
    # extensions and truncations take no indices
    if isinstance(value.type, IndexType) or isinstance(target, IndexType):
        return _cast(arith.IndexCastUIOp if is_natural else arith.IndexCastOp, value, target)
    if width(value.type) > width(target):
        return _cast(arith.TruncIOp, value, target)
    return _cast(arith.ExtUIOp if is_natural else arith.ExtSIOp, value, target)


def _to_float(value: SSAValue, target: Attribute, is_natural: bool) -> SSAValue:
    if isinstance(value.type, IndexType):
        value = _cast(arith.IndexCastOp, value, i64)  # MLIR converts no index to a floating-point number
    return _cast(arith.UIToFPOp if is_natural else arith.SIToFPOp, value, target)


def _from_float(value: SSAValue, target: Attribute, asked: Attribute) -> SSAValue:
    if isinstance(target, IndexType):
        return _cast(arith.IndexCastOp, _cast(arith.FPToSIOp, value, i64), target)
    if is_integer_type(target):
        return _cast(arith.FPToUIOp if is_unsigned(asked) else arith.FPToSIOp, value, target)
    if _bits(value.type) == _bits(target):  # f16 and bf16: each holds what the other does not
        value = _cast(arith.ExtFOp, value, Float32Type())
    return _cast(arith.ExtFOp if _bits(value.type) < _bits(target) else arith.TruncFOp, value, target)


def _bits(type: Attribute) -> int:
    return 16 if isinstance(type, Float16Type | BFloat16Type) else 32 if isinstance(type, Float32Type) else 64


def is_unsigned(type: Attribute) -> bool:
    """Whether numbers of a type have no sign."""
    return is_integer_type(type) and type.signedness.data is Signedness.UNSIGNED


def signless_type(type: Attribute) -> Attribute:
    """The type that operations take and give for numbers of a type."""
    return _integer_type(type.bitwidth) if is_integer_type(type) else type


@cache  # it is asked for with each number
def _integer_type(bits: int) -> IntegerType:
    return IntegerType(bits)


def signless(value: SSAValue) -> SSAValue:
    """A number as operations take it."""
    wanted = signless_type(value.type)
    if value.type == wanted:
        return value
    # what was made signless already is taken as it was, not cast to and fro
    maker = value.owner
    if isinstance(maker, UnrealizedConversionCastOp) and maker.operands[0].type == wanted:
        return maker.operands[0]
    return build(UnrealizedConversionCastOp, results=[wanted], inputs=[value]).results[0]


def with_sign(value: SSAValue, type: Attribute) -> SSAValue:
    """What an operation gave, as a number of the type that it stands for."""
    if value.type == type:
        return value
    return build(UnrealizedConversionCastOp, results=[type], inputs=[value]).results[0]
