"""Folding of integer arithmetic, comparison and selection.

What `x op constant` and `x op x` are equal to, and results computed on bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import arith
from tilewright.rewrite.folding.constants import (
    IN_PLACE,
    Folded,
    Rule,
    bool_attr,
    constant_of,
    defining,
    fold_binary,
    fold_elements,
    folder_with,
    int_bits,
    int_width,
    is_all_ones,
    is_one,
    is_poison,
    is_zero,
    width_of,
    zero_attr,
)
from tilewright.rewrite.folding.predicates import EQ, NE, SGE, SLE, SWAPPED, UGE, ULE, compare
from tilewright.rewrite.integers import compute, fits_signed, mask, signed


def _integer_folder(name: str, rules: Sequence[Rule]) -> Callable[[Operation], Folded]:
    """A folder of `lhs op rhs` that tries `rules`, then computes."""

    def fold(op: Operation) -> Folded:
        width = width_of(op.operands[0].type)
        if width is None:
            return None
        return fold_binary(op, lambda a, b: _computed(name, a, b, width))

    return folder_with(rules, fold)


def _computed(name: str, a: int, b: int, width: int) -> int | None:
    # MLIR's folder goes through positive numbers: it stops where the negative of an operand does not fit
    if name == "arith.ceildivsi" and a and not all(fits_signed(-signed(n, width), width) for n in (a, b)):
        return None
    return compute(name, a, b, width)


def _operand_if(is_such: Callable[[Attribute | None], bool], number: int) -> Rule:
    """Gives an operand where the right one is such a constant."""
    return lambda op, rhs: (op.operands[number],) if is_such(rhs) else None


_lhs_if_zero, _rhs_if_zero = _operand_if(is_zero, 0), _operand_if(is_zero, 1)
_lhs_if_one, _lhs_if_all_ones = _operand_if(is_one, 0), _operand_if(is_all_ones, 0)


def _zero_if_one(op: Operation, rhs: Attribute | None) -> Folded:
    return (zero_attr(op.results[0].type),) if is_one(rhs) else None


# the attribute, where others give the operand: MLIR's folder does so
def _ones_if_all_ones(_: Operation, rhs: Attribute | None) -> Folded:
    return (rhs,) if rhs is not None and is_all_ones(rhs) else None


def _zero_if_same(op: Operation, _: Attribute | None) -> Folded:
    return (zero_attr(op.results[0].type),) if op.operands[0] is op.operands[1] else None


def operand_if_same(op: Operation, _: Attribute | None) -> Folded:
    return (op.operands[1],) if op.operands[0] is op.operands[1] else None


def _undo_subtraction(op: Operation, _: Attribute | None) -> Folded:
    """`(a - b) + b` and `b + (a - b)` are `a`."""
    for this, other in (op.operands, reversed(op.operands)):
        sub = defining(this, arith.SubiOp)
        if sub is not None and sub.rhs is other:
            return (sub.lhs,)
    return None


def _undo_addition(op: Operation, _: Attribute | None) -> Folded:
    """`(a + b) - b` is `a`, and `(a + b) - a` is `b`."""
    add = defining(op.operands[0], arith.AddiOp)
    if add is None:
        return None
    if add.rhs is op.operands[1]:
        return (add.lhs,)
    return (add.rhs,) if add.lhs is op.operands[1] else None


def _undo_xor(op: Operation, _: Attribute | None) -> Folded:
    """`(x ^ a) ^ a`, in any order, is `x`."""
    for this, other in (op.operands, reversed(op.operands)):
        previous = defining(this, arith.XOrIOp)
        if previous is not None and previous.rhs is other:
            return (previous.lhs,)
        if previous is not None and previous.lhs is other:
            return (previous.rhs,)
    return None


def _fold_inverse(op: Operation, _: Attribute | None) -> Folded:
    """`x & ~x` is 0, `x | ~x` is all ones."""
    for this, other in (reversed(op.operands), op.operands):
        xor = defining(this, arith.XOrIOp)
        if xor is not None and xor.lhs is other and is_all_ones(constant_of(xor.rhs)):
            return (zero_attr(op.results[0].type) if isinstance(op, arith.AndIOp) else xor.rhs,)
    return None


def _absorbed(op: Operation, _: Attribute | None) -> Folded:
    """`a & (a & b)` is `a & b`."""
    for this, other in (op.operands, reversed(op.operands)):
        previous = defining(this, arith.AndIOp)
        if previous is not None and other in (previous.lhs, previous.rhs):
            return (previous.result,)
    return None


def _bounded(least: bool, is_signed: bool) -> Callable[[Operation, Attribute | None], Folded]:
    """For the maximum (or, if `least`, the minimum) with the largest or smallest number there is."""

    def rule(op: Operation, rhs: Attribute | None) -> Folded:
        bits, width = int_bits(rhs), width_of(op.operands[0].type)
        if bits is None or width is None:
            return None
        # as bits: the smallest signed number has the sign bit alone
        lowest, highest = (1 << (width - 1), mask(width - 1)) if is_signed else (0, mask(width))
        if bits == (lowest if least else highest):
            return (op.operands[1],)
        return (op.operands[0],) if bits == (highest if least else lowest) else None

    return rule


def _fold_addui_extended(op: arith.AddUIExtendedOp) -> Folded:
    rhs = constant_of(op.rhs)
    if is_zero(rhs):
        return (op.lhs, zero_attr(op.overflow.type))
    lhs, width = constant_of(op.lhs), cast(int, width_of(op.lhs.type))
    if lhs is None or rhs is None:
        return None
    total = fold_elements([lhs, rhs], op.sum.type, sum)
    overflow = fold_elements([lhs, rhs], op.overflow.type, lambda numbers: sum(numbers) >> width)
    return (total, overflow) if total is not None and overflow is not None else None


def _fold_multiply_extended(op: arith.MulUIExtendedOp | arith.MulSIExtendedOp) -> Folded:
    rhs, is_signed = constant_of(op.rhs), isinstance(op, arith.MulSIExtendedOp)
    if is_zero(rhs):
        return (cast(Attribute, rhs), cast(Attribute, rhs))
    if is_one(rhs) and not is_signed:
        return (op.lhs, zero_attr(op.lhs.type))
    lhs, width = constant_of(op.lhs), cast(int, width_of(op.lhs.type))
    if lhs is None or rhs is None:
        return None

    def high(numbers: Sequence[int]) -> int:
        return prod(signed(number, width) if is_signed else number for number in numbers) >> width

    low = fold_elements([lhs, rhs], op.low.type, prod)
    top = fold_elements([lhs, rhs], op.high.type, high)
    return (low, top) if low is not None and top is not None else None


def _is_bool(value: SSAValue) -> bool:
    return int_width(value.type) == 1


def _fold_cmpi(op: arith.CmpiOp) -> Folded:
    predicate = op.predicate.value.data
    if op.lhs is op.rhs:
        return (bool_attr(predicate in (EQ, SLE, SGE, ULE, UGE), op.result.type),)
    lhs, rhs = constant_of(op.lhs), constant_of(op.rhs)
    if _is_bool(op.lhs) and ((predicate == EQ and is_one(rhs)) or (predicate == NE and is_zero(rhs))):
        return (op.lhs,)
    if is_zero(rhs) and predicate == NE:
        extension = op.lhs.owner
        if isinstance(extension, arith.ExtSIOp | arith.ExtUIOp) and _is_bool(extension.input):
            return (extension.input,)
    # constants go to the right, and the comparison turns around
    if lhs is not None and rhs is None:
        op.properties["predicate"] = IntegerAttr(SWAPPED[predicate], i64)
        op.operands = (op.rhs, op.lhs)
        return IN_PLACE
    width = width_of(op.lhs.type)
    if lhs is None or width is None:
        return None
    return fold_binary(op, lambda a, b: int(compare(predicate, a, b, width)))


def _fold_select(op: arith.SelectOp) -> Folded:
    condition = constant_of(op.cond)
    if op.lhs is op.rhs:
        return (op.lhs,)
    if is_one(condition):
        return (op.lhs,)
    if is_zero(condition):
        return (op.rhs,)
    then, otherwise = constant_of(op.lhs), constant_of(op.rhs)
    # poison may be anything, so it may be the other one
    if is_poison(then):
        return (op.rhs,)
    if is_poison(otherwise):
        return (op.lhs,)
    if op.result.type == i1 and is_one(then) and is_zero(otherwise):
        return (op.cond,)
    compared = defining(op.cond, arith.CmpiOp)
    if compared is not None and {compared.lhs, compared.rhs} == {op.lhs, op.rhs}:
        predicate = compared.predicate.value.data
        if predicate in (EQ, NE):
            return (op.lhs if predicate == NE else op.rhs,)
    return _select_elements(op.result.type, condition, then, otherwise)


def _select_elements(type: Attribute, *attributes: Attribute | None) -> Folded:
    if None in attributes or not all(isinstance(a, DenseIntOrFPElementsAttr) for a in attributes):
        return None
    folded = fold_elements(attributes, type, lambda numbers: numbers[1] if numbers[0] else numbers[2])
    return None if folded is None else (folded,)


_RULES: dict[str, tuple[Rule, ...]] = {
    "arith.addi": (_lhs_if_zero, _undo_subtraction),
    "arith.subi": (_zero_if_same, _lhs_if_zero, _undo_addition),
    "arith.muli": (_rhs_if_zero, _lhs_if_one),
    "arith.divui": (_lhs_if_one,),
    "arith.divsi": (_lhs_if_one,),
    "arith.ceildivui": (_lhs_if_one,),
    "arith.ceildivsi": (_lhs_if_one,),
    "arith.floordivsi": (_lhs_if_one,),
    "arith.remui": (_zero_if_one,),
    "arith.remsi": (_zero_if_one,),
    "arith.andi": (_rhs_if_zero, _lhs_if_all_ones, _fold_inverse, _absorbed),
    "arith.ori": (_lhs_if_zero, _ones_if_all_ones, _fold_inverse),
    "arith.xori": (_lhs_if_zero, _zero_if_same, _undo_xor),
    "arith.shli": (_lhs_if_zero,),
    "arith.shrui": (_lhs_if_zero,),
    "arith.shrsi": (_lhs_if_zero,),
    "arith.maxsi": (operand_if_same, _bounded(False, True)),
    "arith.maxui": (operand_if_same, _bounded(False, False)),
    "arith.minsi": (operand_if_same, _bounded(True, True)),
    "arith.minui": (operand_if_same, _bounded(True, False)),
}
"""What is tried before anything is computed."""
FOLDERS: dict[str, Callable[[Any], Folded]] = {
    **{name: _integer_folder(name, rules) for name, rules in _RULES.items()},
    "arith.addui_extended": _fold_addui_extended,
    "arith.mulsi_extended": _fold_multiply_extended,
    "arith.mului_extended": _fold_multiply_extended,
    "arith.cmpi": _fold_cmpi,
    "arith.select": _fold_select,
}
