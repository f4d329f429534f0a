"""Folding of conversions between integer, index and float types."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Operation

from tilewright.dialects import arith
from tilewright.rewrite.folding import floats
from tilewright.rewrite.folding.constants import (
    IN_PLACE,
    FloatType,
    Folded,
    Number,
    defining,
    element_type,
    fold_unary,
    width_of,
)
from tilewright.rewrite.integers import fits_signed, mask, signed


def _fold_extension(op: Operation) -> Folded:
    """`ext(ext(x))` is `ext(x)`."""
    previous = op.operands[0].owner
    if type(previous) is type(op):
        op.operands = (cast(Operation, previous).operands[0],)
        return IN_PLACE
    return _fold_integer_conversion(op)


def _fold_integer_conversion(op: Operation) -> Folded:
    """The constant as bits, sign-extended where the operation does that."""
    width = cast(int, width_of(op.operands[0].type))
    is_signed = isinstance(op, arith.ExtSIOp | arith.IndexCastOp)
    return fold_unary(op, lambda a: signed(a, width) if is_signed else a)


def _fold_trunci(op: arith.TruncIOp) -> Folded:
    previous = op.input.owner
    if isinstance(previous, arith.ExtUIOp | arith.ExtSIOp):
        source = previous.input
        if cast(int, width_of(source.type)) > cast(int, width_of(op.result.type)):
            op.operands = (source,)
            return IN_PLACE
        if element_type(source.type) == element_type(op.result.type):
            return (source,)
    if isinstance(previous, arith.TruncIOp):
        op.operands = (previous.input,)
        return IN_PLACE
    return _fold_integer_conversion(op)


def _has_contract(op: Operation) -> bool:
    flags = op.properties.get("fastmath")
    return isinstance(flags, arith.FastMathFlagsAttr) and FastMathFlag.ALLOW_CONTRACT in flags.data


def _fold_extf(op: arith.ExtFOp) -> Folded:
    previous = defining(op.input, arith.TruncFOp)
    if previous is not None and previous.input.type == op.result.type and _has_contract(previous) and _has_contract(op):
        return (previous.input,)
    return _fold_float_conversion(op)


def _fold_truncf(op: arith.TruncFOp) -> Folded:
    previous = defining(op.input, arith.ExtFOp)
    # what was extended loses nothing when it is cut back
    if previous is not None:
        if previous.input.type == op.result.type:
            return (previous.input,)
        if cast(int, width_of(previous.input.type)) > cast(int, width_of(op.result.type)):
            op.operands = (previous.input,)
            return IN_PLACE
    return _fold_float_conversion(op)


def _fold_float_conversion(op: Operation) -> Folded:
    """Only where no precision is lost."""
    source, to = (cast(FloatType, element_type(value.type)) for value in (op.operands[0], op.results[0]))
    if floats.format_of(source) is None or floats.format_of(to) is None:
        return None
    return fold_unary(op, lambda a: a if floats.is_exact(a, to) else None)


def _fold_int_to_float(is_signed: bool) -> Callable[[Operation], Folded]:
    def folder(op: Operation) -> Folded:
        to = cast(FloatType, element_type(op.results[0].type))
        width = cast(int, width_of(op.operands[0].type))
        if floats.format_of(to) is None:
            return None
        # a fraction holds every integer: going through a Python float would round twice
        return fold_unary(op, lambda a: floats.round_to(Fraction(signed(a, width) if is_signed else a), to))

    return folder


def _fold_float_to_int(is_signed: bool) -> Callable[[Operation], Folded]:
    def folder(op: Operation) -> Folded:
        width = cast(int, width_of(op.results[0].type))
        if floats.format_of(cast(FloatType, element_type(op.operands[0].type))) is None:
            return None
        return fold_unary(op, lambda a: float_to_int(a, width, is_signed))

    return folder


def float_to_int(value: float, width: int, is_signed: bool) -> int | None:
    """`value` rounded toward zero, if an integer of that width can hold it."""
    if not math.isfinite(value):
        return None
    number = math.trunc(value)
    # one that does not fit is poison in MLIR, and stays for the machine to decide
    return number if (fits_signed(number, width) if is_signed else 0 <= number <= mask(width)) else None


def _fold_bitcast(op: arith.BitcastOp) -> Folded:
    if op.input.type == op.result.type:
        return (op.input,)
    source, to = element_type(op.input.type), element_type(op.result.type)

    def recode(number: int | float) -> Number | None:
        """The number with the same bits."""
        bits = floats.to_bits(number, source) if isinstance(source, FloatType) else cast(int, number)
        return floats.from_bits(bits, to) if bits is not None and isinstance(to, FloatType) else bits

    return fold_unary(op, recode)


FOLDERS: dict[str, Callable[[Any], Folded]] = {
    "arith.extui": _fold_extension,
    "arith.extsi": _fold_extension,
    "arith.trunci": _fold_trunci,
    "arith.extf": _fold_extf,
    "arith.truncf": _fold_truncf,
    "arith.sitofp": _fold_int_to_float(True),
    "arith.uitofp": _fold_int_to_float(False),
    "arith.fptosi": _fold_float_to_int(True),
    "arith.fptoui": _fold_float_to_int(False),
    "arith.index_cast": _fold_integer_conversion,
    "arith.index_castui": _fold_integer_conversion,
    "arith.bitcast": _fold_bitcast,
}
