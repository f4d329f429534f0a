"""Integer arithmetic on SSA values as LLVM instructions, one row per operation.

MLIR's integers wrap at their width; a division by zero, or of the smallest integer by -1, is undefined there. Native
code must not trap on it, so such a division gives 0 here, as in the interpreter that the generators are checked
against.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from xdsl.ir import Operation

Builder = ir.IRBuilder
Binary = Callable[[Builder, ir.Value, ir.Value], ir.Value]


def _guarded(divide: Callable[[Builder, ir.Value, ir.Value], ir.Value], signed: bool) -> Binary:
    def build(builder: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        zero, one = ir.Constant(lhs.type, 0), ir.Constant(lhs.type, 1)
        bad = builder.icmp_unsigned("==", rhs, zero)
        if signed:
            lowest, minus_one = ir.Constant(lhs.type, -(1 << lhs.type.width - 1)), ir.Constant(lhs.type, -1)
            overflow = builder.and_(builder.icmp_signed("==", lhs, lowest), builder.icmp_signed("==", rhs, minus_one))
            bad = builder.or_(bad, overflow)
        return builder.select(bad, zero, divide(builder, lhs, builder.select(bad, one, rhs)))

    return build


def _floor_div(builder: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    quotient, remainder = builder.sdiv(lhs, rhs), builder.srem(lhs, rhs)
    zero, one = ir.Constant(lhs.type, 0), ir.Constant(lhs.type, 1)
    signs_differ = builder.icmp_signed("<", builder.xor(remainder, rhs), zero)
    inexact = builder.icmp_signed("!=", remainder, zero)
    return builder.select(builder.and_(inexact, signs_differ), builder.sub(quotient, one), quotient)


def _ceil_div_signed(builder: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    quotient, remainder = builder.sdiv(lhs, rhs), builder.srem(lhs, rhs)
    zero, one = ir.Constant(lhs.type, 0), ir.Constant(lhs.type, 1)
    same_sign = builder.icmp_signed(">=", builder.xor(remainder, rhs), zero)
    inexact = builder.icmp_signed("!=", remainder, zero)
    return builder.select(builder.and_(inexact, same_sign), builder.add(quotient, one), quotient)


def _ceil_div_unsigned(builder: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    quotient, remainder = builder.udiv(lhs, rhs), builder.urem(lhs, rhs)
    inexact = builder.icmp_unsigned("!=", remainder, ir.Constant(lhs.type, 0))
    return builder.select(inexact, builder.add(quotient, ir.Constant(lhs.type, 1)), quotient)


def _shift(shift: Callable[[Builder, ir.Value, ir.Value], ir.Value]) -> Binary:
    def build(builder: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """Shifting by the width or more is undefined; give 0 rather than whatever the processor does."""
        width, zero = ir.Constant(lhs.type, lhs.type.width), ir.Constant(lhs.type, 0)
        fits = builder.icmp_unsigned("<", rhs, width)
        return builder.select(fits, shift(builder, lhs, builder.select(fits, rhs, zero)), zero)

    return build


def _extreme(predicate: str, signed: bool) -> Binary:
    def build(builder: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return builder.select(compare(predicate, lhs, rhs), lhs, rhs)

    return build


BINARY: dict[str, Binary] = {
    "arith.addi": lambda b, x, y: b.add(x, y),
    "arith.subi": lambda b, x, y: b.sub(x, y),
    "arith.muli": lambda b, x, y: b.mul(x, y),
    "arith.andi": lambda b, x, y: b.and_(x, y),
    "arith.ori": lambda b, x, y: b.or_(x, y),
    "arith.xori": lambda b, x, y: b.xor(x, y),
    "arith.divsi": _guarded(lambda b, x, y: b.sdiv(x, y), signed=True),
    "arith.divui": _guarded(lambda b, x, y: b.udiv(x, y), signed=False),
    "arith.remsi": _guarded(lambda b, x, y: b.srem(x, y), signed=True),
    "arith.remui": _guarded(lambda b, x, y: b.urem(x, y), signed=False),
    "arith.floordivsi": _guarded(_floor_div, signed=True),
    "arith.ceildivsi": _guarded(_ceil_div_signed, signed=True),
    "arith.ceildivui": _guarded(_ceil_div_unsigned, signed=False),
    "arith.shli": _shift(lambda b, x, y: b.shl(x, y)),
    "arith.shrui": _shift(lambda b, x, y: b.lshr(x, y)),
    "arith.shrsi": _shift(lambda b, x, y: b.ashr(x, y)),
    "arith.maxsi": _extreme(">", signed=True),
    "arith.minsi": _extreme("<", signed=True),
    "arith.maxui": _extreme(">", signed=False),
    "arith.minui": _extreme("<", signed=False),
}

DIVISIONS = frozenset(name for name in BINARY if "div" in name or "rem" in name)

# arith.cmpi's predicates by number, as MLIR numbers them.
PREDICATES = [
    ("==", True),
    ("!=", True),
    ("<", True),
    ("<=", True),
    (">", True),
    (">=", True),
    ("<", False),
    ("<=", False),
    (">", False),
    (">=", False),
]


def compare(builder: Builder, predicate: int, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    symbol, signed = PREDICATES[predicate]
    return (builder.icmp_signed if signed else builder.icmp_unsigned)(symbol, lhs, rhs)


def resize(builder: Builder, op: Operation, value: ir.Value, target: ir.Type) -> ir.Value:
    """arith.trunci, extsi, extui, index_cast, index_castui: to the width of the result."""
    if value.type.width == target.width:
        return value
    if value.type.width > target.width:
        return builder.trunc(value, target)
    unsigned = op.name in ("arith.extui", "arith.index_castui")
    return builder.zext(value, target) if unsigned else builder.sext(value, target)


RESIZES = frozenset(
    {
        *("arith.trunci", "arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui"),
        "builtin.unrealized_conversion_cast",  # between integers with and without sign
    }
)
