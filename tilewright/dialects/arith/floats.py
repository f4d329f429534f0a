"""Arithmetic on floating-point numbers."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import arith as xdsl_arith
from xdsl.dialects.arith import FastMathFlagsAttr as FastMathFlagsAttr
from xdsl.dialects.arith import IntegerOverflowAttr as IntegerOverflowAttr
from xdsl.dialects.arith import IntegerOverflowFlag as IntegerOverflowFlag
from xdsl.irdl import (
    VarConstraint,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Commutative, Pure

from tilewright.dialects._amend import amend
from tilewright.dialects._ods import op_definition
from tilewright.dialects.arith.types import FLOAT_LIKE, NO_FASTMATH, Binary, WithFastmath


class _FloatBinary(WithFastmath, Binary):
    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)


@amend
class AddfOp(_FloatBinary, xdsl_arith.AddfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class SubfOp(_FloatBinary, xdsl_arith.SubfOp): ...


@amend
class MulfOp(_FloatBinary, xdsl_arith.MulfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class DivfOp(_FloatBinary, xdsl_arith.DivfOp): ...


@op_definition
class RemfOp(_FloatBinary):
    """The remainder of a division, with the sign of the dividend."""

    name = "arith.remf"
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())


@amend
class MaximumfOp(_FloatBinary, xdsl_arith.MaximumfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class MaxnumfOp(_FloatBinary, xdsl_arith.MaxnumfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class MinimumfOp(_FloatBinary, xdsl_arith.MinimumfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class MinnumfOp(_FloatBinary, xdsl_arith.MinnumfOp):
    traits = traits_def(Pure(), Commutative())


@amend
class NegfOp(xdsl_arith.NegfOp):
    """The number with the other sign."""

    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    operand = operand_def(T)
    result = result_def(T)
