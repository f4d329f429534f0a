"""Folding and canonical forms of integer and float arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import add, mul, sub
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects import arith
from tilewright.rewrite.canonicalization import PatternFunction
from tilewright.rewrite.emitter import Emitter, cast_op, constant_op
from tilewright.rewrite.folding import arith_conversions, arith_floats, arith_integers, floats
from tilewright.rewrite.folding.constants import (
    FALSE,
    TRUE,
    FloatType,
    Folded,
    as_float,
    as_integer,
    as_integer_type,
    constant_of,
    defining,
    element_type,
    int_bits,
    is_all_ones,
    is_one,
    is_zero,
    mask,
    width_of,
)
from tilewright.rewrite.folding.predicates import (
    EQ,
    INVERTED,
    NE,
    SGE,
    SGT,
    SLE,
    SLT,
    UGE,
    UGT,
    ULE,
    ULT,
)

IntegerOp: TypeAlias = arith.AddiOp | arith.SubiOp | arith.MuliOp


def _integer(value: SSAValue) -> int | None:
    """The bits of a scalar constant."""
    return int_bits(as_integer(constant_of(value)))


def _merge_flags(a: IntegerOp, b: IntegerOp) -> arith.IntegerOverflowAttr:
    """What both operations promise about overflow."""
    return arith.IntegerOverflowAttr([flag for flag in a.overflow_flags.data if flag in b.overflow_flags.data])


_LEFT, _RIGHT = 0, 1

_MERGED: dict[tuple[str, int, str, int], tuple[type[IntegerOp], int, Callable[[int, int], int]]] = {
    ("arith.addi", _RIGHT, "arith.addi", _RIGHT): (arith.AddiOp, _RIGHT, add),
    ("arith.addi", _RIGHT, "arith.subi", _RIGHT): (arith.AddiOp, _RIGHT, sub),
    ("arith.addi", _RIGHT, "arith.subi", _LEFT): (arith.SubiOp, _LEFT, add),
    ("arith.subi", _RIGHT, "arith.addi", _RIGHT): (arith.AddiOp, _RIGHT, lambda b, a: a - b),
    ("arith.subi", _RIGHT, "arith.subi", _RIGHT): (arith.SubiOp, _RIGHT, add),
    ("arith.subi", _RIGHT, "arith.subi", _LEFT): (arith.SubiOp, _LEFT, lambda b, a: a - b),
    ("arith.subi", _LEFT, "arith.addi", _RIGHT): (arith.SubiOp, _LEFT, sub),
    ("arith.subi", _LEFT, "arith.subi", _RIGHT): (arith.SubiOp, _LEFT, add),
    ("arith.subi", _LEFT, "arith.subi", _LEFT): (arith.AddiOp, _RIGHT, sub),
    ("arith.muli", _RIGHT, "arith.muli", _RIGHT): (arith.MuliOp, _RIGHT, mul),
}
"""An operation, the side of its constant `b`, the operation that makes its other operand, the side of its constant `a`;
and the one operation that does the same: the side of its constant, and that constant from `b` and `a`.
"""


def _merge_constants(op: IntegerOp, rewriter: PatternRewriter, side: int) -> None:
    """Merge `op`, whose constant is on `side`, with the operation that makes its other operand."""
    inner, b = op.operands[1 - side].owner, _integer(op.operands[side])
    if b is None or not isinstance(inner, IntegerOp):
        return
    for inner_side in (_RIGHT, _LEFT):
        a = _integer(inner.operands[inner_side])
        merged = _MERGED.get((op.name, side, inner.name, inner_side))
        if a is not None and merged is not None:
            kind, new_side, compute = merged
            value = inner.operands[1 - inner_side]
            constant = Emitter(rewriter).constant(compute(b, a), op.result.type)
            lhs, rhs = (value, constant) if new_side == _RIGHT else (constant, value)
            # MLIR keeps no promise about overflow of `(x + a) - b`
            is_mixed = side == _RIGHT and (op.name, inner.name) == ("arith.subi", "arith.addi")
            flags = arith.IntegerOverflowAttr("none") if is_mixed else _merge_flags(inner, op)
            rewriter.replace(op, kind(lhs, rhs, overflow=flags))
            return


def add_to_sum_or_difference(op: arith.AddiOp, rewriter: PatternRewriter) -> None:
    """`(x + a) + b`, `(x - a) + b` and `(a - x) + b` with constants a, b."""
    _merge_constants(op, rewriter, _RIGHT)


def add_of_negated(op: arith.AddiOp, rewriter: PatternRewriter) -> None:
    """`x + y * -1` and `y * -1 + x` are `x - y`."""
    for this, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        product = defining(this, arith.MuliOp)
        if product is not None and is_all_ones(constant_of(product.rhs)):
            rewriter.replace(op, arith.SubiOp(other, product.lhs))
            return


def subtract_constant(op: arith.SubiOp, rewriter: PatternRewriter) -> None:
    """`(x + a) - b`, `(x - a) - b` and `(a - x) - b` with constants a, b."""
    _merge_constants(op, rewriter, _RIGHT)


def subtract_from_constant(op: arith.SubiOp, rewriter: PatternRewriter) -> None:
    """`b - (x + a)`, `b - (x - a)` and `b - (a - x)` with constants a, b."""
    _merge_constants(op, rewriter, _LEFT)


def subtract_minuend(op: arith.SubiOp, rewriter: PatternRewriter) -> None:
    """`(a - b) - a` is `0 - b`."""
    inner = defining(op.lhs, arith.SubiOp)
    if inner is not None and inner.lhs is op.rhs:
        zero = Emitter(rewriter).constant(0, inner.rhs.type)
        rewriter.replace(op, arith.SubiOp(zero, inner.rhs, overflow=_merge_flags(inner, op)))


def multiply_product(op: arith.MuliOp, rewriter: PatternRewriter) -> None:
    """`(x * a) * b` with constants a, b."""
    _merge_constants(op, rewriter, _RIGHT)


def drop_unused_extension(op: Operation, rewriter: PatternRewriter) -> None:
    """An extended sum or product of which only the low half is used is a plain one."""
    if op.results[1].first_use is None:
        kind = arith.AddiOp if isinstance(op, arith.AddUIExtendedOp) else arith.MuliOp
        low = Emitter(rewriter).value(kind(op.operands[0], op.operands[1]))
        # the high half is unused: any value of its type stands for it
        rewriter.replace(op, (), (low, op.operands[0]))


def multiply_extended_by_one(op: arith.MulSIExtendedOp, rewriter: PatternRewriter) -> None:
    """The high half of `x * 1` repeats the sign of `x`."""
    # the 1 of i1 is -1
    if is_one(constant_of(op.rhs)) and width_of(op.rhs.type) != 1:
        emit = Emitter(rewriter)
        negative = emit.value(_compare(SLT, op.lhs, emit.constant(0, op.lhs.type)))
        rewriter.replace(op, (), (op.lhs, emit.value(cast_op(arith.ExtSIOp, negative, op.lhs.type))))


def _compare(predicate: int, lhs: SSAValue, rhs: SSAValue) -> arith.CmpiOp:
    """`arith.cmpi`; unlike xDSL's constructor, of tensors too."""
    properties = {"predicate": IntegerAttr(predicate, i64)}
    return arith.CmpiOp.create(operands=[lhs, rhs], result_types=[arith.bool_like(lhs.type)], properties=properties)


def operate_before_extension(op: Operation, rewriter: PatternRewriter) -> None:
    """A bitwise operation on two extensions of the same kind is the extension of the operation."""
    # extensions of one kind treat the new bits alike, so that a bit-by-bit operation may come before
    for cls in (arith.ExtUIOp, arith.ExtSIOp):
        a, b = defining(op.operands[0], cls), defining(op.operands[1], cls)
        if a is not None and b is not None and a.input.type == b.input.type:
            narrow = type(op).create(operands=[a.input, b.input], result_types=[a.input.type])
            rewriter.replace(op, cast_op(cls, Emitter(rewriter).value(narrow), op.results[0].type))
            return


def invert_comparison(op: arith.XOrIOp, rewriter: PatternRewriter) -> None:
    """`!(a < b)` is `a >= b`."""
    compared = defining(op.lhs, arith.CmpiOp)
    if compared is not None and constant_of(op.rhs) == TRUE:
        rewriter.replace(op, _compare(INVERTED[compared.predicate.value.data], compared.lhs, compared.rhs))


def compare_before_extension(op: arith.CmpiOp, rewriter: PatternRewriter) -> None:
    """Extensions of the same kind are equal if what they extend is."""
    if op.predicate.value.data not in (EQ, NE):
        return
    for cls in (arith.ExtSIOp, arith.ExtUIOp):
        a, b = defining(op.lhs, cls), defining(op.rhs, cls)
        if a is not None and b is not None and a.input.type == b.input.type:
            rewriter.replace(op, _compare(op.predicate.value.data, a.input, b.input))
            return


def select_of_select(op: arith.SelectOp, rewriter: PatternRewriter) -> None:
    """A choice on the same condition inside a choice is already made."""
    inner = defining(op.rhs, arith.SelectOp)
    if inner is not None and inner.cond is op.cond:
        rewriter.replace(op, arith.SelectOp(op.cond, op.lhs, inner.rhs))
        return
    inner = defining(op.lhs, arith.SelectOp)
    if inner is not None and inner.cond is op.cond:
        rewriter.replace(op, arith.SelectOp(op.cond, inner.lhs, op.rhs))


def select_on_inverted(op: arith.SelectOp, rewriter: PatternRewriter) -> None:
    inverted = defining(op.cond, arith.XOrIOp)
    if inverted is not None and is_all_ones(as_integer(constant_of(inverted.rhs))):
        rewriter.replace(op, arith.SelectOp(inverted.lhs, op.rhs, op.lhs))


def select_to_not(op: arith.SelectOp, rewriter: PatternRewriter) -> None:
    """`c ? false : true` is `!c`."""
    if constant_of(op.lhs) == FALSE and constant_of(op.rhs) == TRUE:
        rewriter.replace(op, arith.XOrIOp(op.cond, Emitter(rewriter).constant(1, i1)))


def select_to_extension(op: arith.SelectOp, rewriter: PatternRewriter) -> None:
    """`c ? 1 : 0` is the extension of `c`."""
    type = op.result.type
    if as_integer_type(type) is None or type == i1:
        return
    then, otherwise = constant_of(op.lhs), constant_of(op.rhs)
    if is_one(then) and is_zero(otherwise):
        rewriter.replace(op, cast_op(arith.ExtUIOp, op.cond, type))
    elif is_zero(then) and is_one(otherwise):
        emit = Emitter(rewriter)
        inverted = emit.value(arith.XOrIOp(op.cond, emit.constant(1, i1)))
        rewriter.replace(op, cast_op(arith.ExtUIOp, inverted, type))


def cast_back(op: Operation, rewriter: PatternRewriter) -> None:
    """A cast of a cast of the same kind back to the original type is the original."""
    inner = op.operands[0].owner
    if type(inner) is type(op) and cast(Operation, inner).operands[0].type == op.results[0].type:
        rewriter.replace(op, (), (cast(Operation, inner).operands[0],))


def index_cast_of_extension(op: Operation, rewriter: PatternRewriter) -> None:
    """Casting to index extends already."""
    extension = defining(op.operands[0], arith.ExtSIOp if op.name == "arith.index_cast" else arith.ExtUIOp)
    if extension is not None:
        rewriter.replace(op, type(op).create(operands=[extension.input], result_types=op.result_types))


def bitcast_of_bitcast(op: arith.BitcastOp, rewriter: PatternRewriter) -> None:
    inner = defining(op.input, arith.BitcastOp)
    if inner is not None:
        rewriter.replace(op, arith.BitcastOp(inner.input, op.result.type))


def sign_extension_of_zero_extension(op: arith.ExtSIOp, rewriter: PatternRewriter) -> None:
    inner = defining(op.input, arith.ExtUIOp)
    if inner is not None:
        rewriter.replace(op, cast_op(arith.ExtUIOp, inner.input, op.result.type))


def truncation_of_extension(op: arith.TruncIOp, rewriter: PatternRewriter) -> None:
    """Truncating only bits that an extension put there is a smaller extension."""
    for cls in (arith.ExtSIOp, arith.ExtUIOp):
        inner = defining(op.input, cls)
        if inner is not None and _width(inner.result) > _width(op.result) > _width(inner.input):
            rewriter.replace(op, cast_op(cls, inner.input, op.result.type))
            return


def _width(value: SSAValue) -> int:
    return width_of(value.type) or 0


def truncation_of_shift(op: arith.TruncIOp, rewriter: PatternRewriter) -> None:
    """Where all bits that the shift fills in are truncated, it does not matter what they are."""
    shift = defining(op.input, arith.ShRSIOp)
    amount = constant_of(shift.rhs) if shift is not None else None
    if shift is None or amount is None or int_bits(amount) != _width(shift.result) - _width(op.result):
        return
    emit = Emitter(rewriter)
    shifted = emit.value(arith.ShRUIOp(shift.lhs, emit.value(constant_op(amount))))
    rewriter.replace(op, cast_op(arith.TruncIOp, shifted, op.result.type))


def convert_directly(op: arith.TruncFOp, rewriter: PatternRewriter) -> None:
    """An integer that becomes a wide float and then a narrow one can become the narrow one at once."""
    # converting at once rounds to nearest even: another mode has to be kept
    if "roundingmode" in op.properties:
        return
    for cls in (arith.SIToFPOp, arith.UIToFPOp):
        inner = defining(op.input, cls)
        if inner is not None:
            rewriter.replace(op, cast_op(cls, inner.input, op.result.type))
            return


def drop_two_negations(op: Operation, rewriter: PatternRewriter) -> None:
    """`-x * -y` is `x * y`, and the same for division."""
    a, b = defining(op.operands[0], arith.NegfOp), defining(op.operands[1], arith.NegfOp)
    if a is not None and b is not None:
        operands = (a.operand, b.operand)
        rewriter.replace(op, type(op).create(operands=operands, result_types=op.result_types, properties=op.properties))


# by the number of an ordered `cmpf` predicate; the unordered one of the same test is 7 higher
_SIGNED = {1: EQ, 2: SGT, 3: SGE, 4: SLT, 5: SLE, 6: NE}
_UNSIGNED = {1: EQ, 2: UGT, 3: UGE, 4: ULT, 5: ULE, 6: NE}


def compare_integers(op: arith.CmpfOp, rewriter: PatternRewriter) -> None:
    """Comparing a converted integer with a float constant is comparing the integer."""
    constant, converted = as_float(constant_of(op.rhs)), op.lhs.owner
    if constant is None or not isinstance(converted, arith.SIToFPOp | arith.UIToFPOp):
        return
    value, integer = constant.value.data, converted.input
    type = as_integer_type(integer.type)
    # a comparison with NaN is folded elsewhere
    if type is None or value != value:
        return
    is_signed, width = isinstance(converted, arith.SIToFPOp), type.width.data
    if not _conversion_is_harmless(value, op.rhs.type, width, is_signed):
        return
    decided = _compare_converted(op.predicate.value.data, value, width, is_signed)
    if isinstance(decided, bool):
        rewriter.replace(op, (), (Emitter(rewriter).constant(decided, i1),))
    elif decided is not None:
        predicate, number = decided
        rewriter.replace(op, _compare(predicate, integer, Emitter(rewriter).constant(number, type)))


def _conversion_is_harmless(value: float, type: Attribute, width: int, is_signed: bool) -> bool:
    """Whether rounding in the conversion cannot change the outcome of comparing with `value`."""
    found = floats.format_of(cast(FloatType, element_type(type)))
    if found is None:
        return False
    # every such integer is a number of the type, and none is rounded
    if width <= found.precision:
        return True
    value_bits = width - 1 if is_signed else width
    if math.isinf(value):
        return found.max_exponent >= value_bits
    exponent = math.frexp(value)[1] - 1 if value else -math.inf
    return not found.precision <= exponent <= value_bits


def _compare_converted(predicate: int, value: float, width: int, is_signed: bool) -> bool | tuple[int, int] | None:
    """The outcome of comparing an integer with `value`, or the integer comparison that gives it."""
    # ord and uno: an integer is never NaN
    if predicate in (7, 14):
        return predicate == 7
    if predicate in (0, 15):
        return None
    test = (_SIGNED if is_signed else _UNSIGNED)[(predicate - 1) % 7 + 1]
    lowest, highest = (-(1 << (width - 1)), mask(width - 1)) if is_signed else (0, mask(width))
    if value > highest:
        return test in (NE, SLT, SLE, ULT, ULE)
    if value < lowest:
        return test in (NE, SGT, SGE, UGT, UGE)
    number = math.trunc(value)
    # between two integers: compare with the one toward zero, with the test that still tells them apart
    if number != value:
        if test in (EQ, NE):
            return test == NE
        if not is_signed and value < 0:
            return test in (UGT, UGE)
        if value < 0:
            test = {SLE: SLT, SGT: SGE}.get(test, test)
        else:
            test = {SLT: SLE, ULT: ULE, SGE: SGT, UGE: UGT}.get(test, test)
    return test, number


PATTERNS: dict[str, Sequence[PatternFunction]] = {
    "arith.addi": [add_to_sum_or_difference, add_of_negated],
    "arith.subi": [subtract_constant, subtract_from_constant, subtract_minuend],
    "arith.muli": [multiply_product],
    "arith.addui_extended": [drop_unused_extension],
    "arith.mulsi_extended": [drop_unused_extension, multiply_extended_by_one],
    "arith.mului_extended": [drop_unused_extension],
    "arith.andi": [operate_before_extension],
    "arith.ori": [operate_before_extension],
    "arith.xori": [operate_before_extension, invert_comparison],
    "arith.mulf": [drop_two_negations],
    "arith.divf": [drop_two_negations],
    "arith.extsi": [sign_extension_of_zero_extension],
    "arith.trunci": [truncation_of_extension, truncation_of_shift],
    "arith.truncf": [convert_directly],
    "arith.index_cast": [cast_back, index_cast_of_extension],
    "arith.index_castui": [cast_back, index_cast_of_extension],
    "arith.bitcast": [cast_back, bitcast_of_bitcast],
    "arith.cmpi": [compare_before_extension],
    "arith.cmpf": [compare_integers],
    "arith.select": [select_of_select, select_on_inverted, select_to_not, select_to_extension],
}


FOLDERS: dict[str, Callable[[Any], Folded]] = {
    **arith_integers.FOLDERS,
    **arith_floats.FOLDERS,
    **arith_conversions.FOLDERS,
}
