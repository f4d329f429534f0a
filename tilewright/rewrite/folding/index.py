"""Folding and canonical forms of `index` arithmetic, which holds for targets of 32 and of 64 bits alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects import index
from tilewright.dialects.arith.meaning import PREDICATES, SAME_IN_INDEX
from tilewright.rewrite.canonicalization import PatternFunction, fold, materialize
from tilewright.rewrite.folding.constants import (
    INDEX,
    INDEX_WIDTH,
    Folded,
    as_integer_type,
    bool_attr,
    constant_bits,
    constant_of,
    defining,
    int_attr,
    int_width,
)
from tilewright.rewrite.folding.predicates import EQ, INVERTED, NE, SGE, SGT, SLT, UGT, ULT, compare
from tilewright.rewrite.integers import compute, mask, signed

NARROW_WIDTH = 32


def _both_widths(name: str, a: int, b: int) -> int | None:
    """The 64-bit result, if its low half is the 32-bit result of the low halves."""
    narrow = mask(NARROW_WIDTH)
    wide = compute(name, a, b, INDEX_WIDTH, overflow_wraps=True)
    small = compute(name, a & narrow, b & narrow, NARROW_WIDTH, overflow_wraps=True)
    return wide if wide is not None and small is not None and (wide ^ small) & narrow == 0 else None


def _folder(name: str, rule: Callable[[Any, int], Folded] | None = None) -> Callable[[Operation], Folded]:
    """Computes from constants, else tries `rule`, given the constant on the right."""

    def folder(op: Operation) -> Folded:
        a, b = (constant_bits(operand) for operand in op.operands)
        result = _both_widths(name, a, b) if a is not None and b is not None else None
        if result is not None:
            return (int_attr(result, INDEX),)
        return rule(op, b) if rule is not None and b is not None else None

    return folder


def _lhs_if_zero(op: Operation, rhs: int) -> Folded:
    return (op.operands[0],) if rhs == 0 else None


def _multiply_rule(op: Operation, rhs: int) -> Folded:
    if rhs == 1:
        return (op.operands[0],)
    return (int_attr(0, INDEX),) if rhs == 0 else None


def _fold_cast(op: index.CastSOp | index.CastUOp) -> Folded:
    bits, is_signed = constant_bits(op.input), isinstance(op, index.CastSOp)
    width, source_width = int_width(op.output.type), int_width(op.input.type)
    if bits is None or width is None or source_width is None:
        return None
    value = signed(bits, source_width) if is_signed else bits
    if as_integer_type(op.output.type) is not None:
        # a target of 32 bits has only these to convert
        narrow = bits & mask(NARROW_WIDTH)
        if (value ^ (signed(narrow, NARROW_WIDTH) if is_signed else narrow)) & mask(width):
            return None
    return (int_attr(value, op.output.type),)


_LIMITS = (index.MinSOp, index.MinUOp, index.MaxSOp, index.MaxUOp)


def _compare_limited(predicate: int, limit: Operation, a: int, b: int, width: int) -> bool | None:
    """`max(x, a) cmp b`, and the same for the minimum, where it holds of every `x` or of none."""
    # asked once for 64 bits and once for 32: both answers have to agree
    a, b = a & mask(width), b & mask(width)
    is_signed = isinstance(limit, index.MinSOp | index.MaxSOp)
    lowest, highest = (1 << (width - 1), mask(width - 1)) if is_signed else (0, mask(width))
    ends = (lowest, a) if isinstance(limit, index.MinSOp | index.MinUOp) else (a, highest)
    known = _ranges(ends, width, is_signed=is_signed)
    if _always(predicate, known, b, width):
        return True
    return False if _always(INVERTED[predicate], known, b, width) else None


def _ranges(ends: tuple[int, int], width: int, *, is_signed: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    """The least and greatest bits, first as signed then as unsigned numbers, of the numbers between `ends`."""
    same_sign = ends[0] >> (width - 1) == ends[1] >> (width - 1)
    everything = ((1 << (width - 1), mask(width - 1)), (0, mask(width)))
    if is_signed:
        return ends, (min(ends), max(ends)) if same_sign else everything[1]
    return ends if same_sign else everything[0], ends


def _always(predicate: int, known: tuple[tuple[int, int], tuple[int, int]], b: int, width: int) -> bool:
    """Whether the comparison with `b` holds of all numbers in the ranges."""
    in_signed, in_unsigned = known
    if predicate == EQ:
        return in_signed[0] == in_signed[1] == b
    # different in both readings: it is enough that one of two strict comparisons holds in each
    if predicate == NE:
        pairs = ((SLT, SGT), (ULT, UGT))
        return all(any(_always(test, known, b, width) for test in pair) for pair in pairs)
    ends = in_signed if SLT <= predicate <= SGE else in_unsigned
    return all(compare(predicate, end, b, width) for end in ends)


def _fold_cmp(op: index.CmpOp) -> Folded:
    predicate = PREDICATES.index(op.pred.data.value)
    a, b = constant_bits(op.lhs), constant_bits(op.rhs)
    if a is not None and b is not None:
        wide = compare(predicate, a, b, INDEX_WIDTH)
        if wide == compare(predicate, a & mask(NARROW_WIDTH), b & mask(NARROW_WIDTH), NARROW_WIDTH):
            return (bool_attr(wide),)
    limit = op.lhs.owner
    a = constant_bits(limit.operands[1]) if isinstance(limit, _LIMITS) else None
    if isinstance(limit, _LIMITS) and a is not None and b is not None:
        wide = _compare_limited(predicate, limit, a, b, INDEX_WIDTH)
        if wide is not None and wide == _compare_limited(predicate, limit, a, b, NARROW_WIDTH):
            return (bool_attr(wide),)
    return (bool_attr(compare(predicate, 0, 0, INDEX_WIDTH)),) if op.lhs is op.rhs else None


def merge_constants(op: Operation, rewriter: PatternRewriter) -> None:
    """`(x + a) + b` with constants a, b; and the same for the other associative operations."""
    inner = op.operands[0].owner
    if type(inner) is not type(op) or not isinstance(inner, Operation):
        return
    if constant_of(op.operands[1]) is None or constant_of(inner.operands[1]) is None:
        return
    # an operation that never gets a place: made to be folded, as MLIR does
    both = type(op).create(operands=(op.operands[1], inner.operands[1]), result_types=(INDEX,))
    folded = fold(both)
    both.drop_all_references()
    value = folded[0] if folded else None
    if isinstance(value, Attribute) and (constant := materialize(op, value, INDEX)) is not None:
        value = rewriter.insert(constant).results[0]
    if isinstance(value, SSAValue):
        rewriter.replace(op, type(op).create(operands=(inner.operands[0], value), result_types=(INDEX,)))


def compare_operands(op: index.CmpOp, rewriter: PatternRewriter) -> None:
    """`x - y cmp 0` is `x cmp y`, and `0 cmp x - y` is `y cmp x`."""
    for this, other, flip in ((op.lhs, op.rhs, False), (op.rhs, op.lhs, True)):
        difference = defining(this, index.SubOp)
        if constant_bits(other) != 0:
            continue
        if difference is not None:
            operands = tuple(reversed(difference.operands)) if flip else tuple(difference.operands)
            rewriter.replace(
                op, type(op).create(operands=operands, result_types=(op.result.type,), properties=op.properties)
            )
        return


_RULES = {"add": _lhs_if_zero, "sub": _lhs_if_zero, "mul": _multiply_rule}

FOLDERS: dict[str, Callable[[Any], Folded]] = {
    **{f"index.{name}": _folder(same, _RULES.get(name)) for name, same in SAME_IN_INDEX.items()},
    "index.casts": _fold_cast,
    "index.castu": _fold_cast,
    "index.cmp": _fold_cmp,
}

_ASSOCIATIVE = ("add", "mul", "and", "or", "xor", "maxs", "maxu", "mins", "minu")

PATTERNS: dict[str, Sequence[PatternFunction]] = {
    **{f"index.{name}": (merge_constants,) for name in _ASSOCIATIVE},
    "index.cmp": (compare_operands,),
}
