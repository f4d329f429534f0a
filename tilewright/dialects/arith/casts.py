"""Conversions between types."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith as xdsl_arith
from xdsl.dialects.arith import FastMathFlagsAttr as FastMathFlagsAttr
from xdsl.dialects.arith import IntegerOverflowAttr as IntegerOverflowAttr
from xdsl.dialects.arith import IntegerOverflowFlag as IntegerOverflowFlag
from xdsl.dialects.builtin import (
    FixedBitwidthType,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects.arith.types import (
    BITS,
    CASTABLE_TO_INDEX,
    FASTMATH,
    FIXED_WIDTH_LIKE,
    FLOAT_LIKE,
    NO_FASTMATH,
    NO_OVERFLOW,
    OVERFLOW,
    ROUNDING,
    element_type,
    is_index,
    verify_same_shape,
)
from tilewright.ir.shown import quoted


def _cast_format(flags: str = "") -> str:
    return f"$input {flags} attr-dict `:` type($input) `to` type($result)"


def _scaling_format(flags: str) -> str:
    return f"$in_ `,` $scale {flags} attr-dict `:` type($in_) `,` type($scale) `to` type($out)"


class _Cast(IRDLOperation):
    assembly_format = _cast_format()

    def verify_(self) -> None:
        source, target = self.operands[0].type, self.results[0].type
        # Before the elements, as in MLIR.
        verify_same_shape(source, target)
        if not self.converts(element_type(source), element_type(target)):
            raise VerifyException(
                f"operand type {quoted(source)} and result type {quoted(target)} are cast incompatible"
            )

    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        """Whether a scalar of one type can become one of the other."""
        return True


def _width(type: Attribute) -> int:
    return cast(FixedBitwidthType, type).bitwidth


# A mixin, so that it can be put before any kind of cast.
class _Widening:
    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        return _width(source) < _width(target)


class _Narrowing:
    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        return _width(source) > _width(target)


class _IntegerCast(_Cast):
    input = operand_def(FIXED_WIDTH_LIKE)
    result = result_def(FIXED_WIDTH_LIKE)


class _FloatCast(_Cast):
    input = operand_def(FLOAT_LIKE)
    result = result_def(FLOAT_LIKE)
    fastmath = opt_prop_def(FastMathFlagsAttr, NO_FASTMATH)
    assembly_format = _cast_format(FASTMATH)


class _IntegerToFloat(_Cast):
    input = operand_def(FIXED_WIDTH_LIKE)
    result = result_def(FLOAT_LIKE)


class _FloatToInteger(_Cast):
    input = operand_def(FLOAT_LIKE)
    result = result_def(FIXED_WIDTH_LIKE)


_ROUNDING_AND_FASTMATH = f"($roundingmode^)? {FASTMATH}"


@derived_op_definition
class ExtSIOp(_Widening, _IntegerCast, xdsl_arith.ExtSIOp):
    traits = traits_def(Pure())


@derived_op_definition
class ExtUIOp(_Widening, _IntegerCast, xdsl_arith.ExtUIOp): ...


@derived_op_definition
class TruncIOp(_Narrowing, _IntegerCast, xdsl_arith.TruncIOp):
    """The low bits of a number."""

    overflow_flags = prop_def(IntegerOverflowAttr, default_value=NO_OVERFLOW, prop_name="overflowFlags")
    assembly_format = _cast_format(OVERFLOW)


@derived_op_definition
class ExtFOp(_Widening, _FloatCast, xdsl_arith.ExtFOp): ...


@derived_op_definition
class TruncFOp(_Narrowing, _FloatCast, xdsl_arith.TruncFOp):
    roundingmode = opt_prop_def(ROUNDING)
    assembly_format = _cast_format(_ROUNDING_AND_FASTMATH)


# No rule about widths: rounding is part of the conversion.
@derived_op_definition
class SIToFPOp(_IntegerToFloat, xdsl_arith.SIToFPOp): ...


@derived_op_definition
class UIToFPOp(_IntegerToFloat, xdsl_arith.UIToFPOp): ...


@derived_op_definition
class FPToSIOp(_FloatToInteger, xdsl_arith.FPToSIOp): ...


@derived_op_definition
class FPToUIOp(_FloatToInteger, xdsl_arith.FPToUIOp): ...


class _IndexCast(_Cast):
    input = operand_def(CASTABLE_TO_INDEX)
    result = result_def(CASTABLE_TO_INDEX)

    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        # Between two integers there are extensions and truncations.
        return is_index(source) != is_index(target)


@derived_op_definition
class IndexCastOp(_IndexCast, xdsl_arith.IndexCastOp): ...


@op_definition
class IndexCastUIOp(_IndexCast):
    """Convert between an index and an integer; a wider result is filled with zeros."""

    name = "arith.index_castui"
    traits = traits_def(Pure())


@derived_op_definition
class BitcastOp(_Cast, xdsl_arith.BitcastOp):
    """The same bits as another type of the same width."""

    input = operand_def(BITS)
    result = result_def(BITS)

    @staticmethod
    def converts(source: Attribute, target: Attribute) -> bool:
        # An `index` has no width, and the constraint lets none through.
        return _width(source) == _width(target)


class _Scaling(IRDLOperation):
    in_ = operand_def(FLOAT_LIKE)
    scale = operand_def(FLOAT_LIKE)
    out = result_def(FLOAT_LIKE)
    fastmath = opt_prop_def(FastMathFlagsAttr, NO_FASTMATH)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        verify_same_shape(self.in_.type, self.out.type)


@op_definition
class ScalingExtFOp(_Scaling):
    """A wider number from a narrow one and a scale."""

    name = "arith.scaling_extf"
    assembly_format = _scaling_format(FASTMATH)


@op_definition
class ScalingTruncFOp(_Scaling):
    """A narrow number from a wider one and a scale."""

    name = "arith.scaling_truncf"
    roundingmode = opt_prop_def(ROUNDING)
    assembly_format = _scaling_format(_ROUNDING_AND_FASTMATH)
