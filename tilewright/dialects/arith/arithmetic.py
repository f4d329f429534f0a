"""Arithmetic on integers, indices and floating-point numbers."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import arith as xdsl_arith
from xdsl.dialects.arith import FastMathFlagsAttr as FastMathFlagsAttr
from xdsl.dialects.arith import IntegerOverflowAttr as IntegerOverflowAttr
from xdsl.dialects.arith import IntegerOverflowFlag as IntegerOverflowFlag
from xdsl.dialects.builtin import (
    UnitAttr,
)
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Commutative, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects.arith.types import (
    BOOL_LIKE,
    FASTMATH,
    FLOAT_LIKE,
    INTEGER_LIKE,
    NO_FASTMATH,
    OVERFLOW,
    binary_format,
    bool_like,
)


# One variable for all three: the type is written once.
class _IntegerBinary(IRDLOperation):
    T: ClassVar = VarConstraint("T", INTEGER_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    assembly_format = binary_format()


class _Overflowing(_IntegerBinary):
    assembly_format = binary_format(OVERFLOW)


class _Exact(_IntegerBinary):
    # An absent unit attribute means that the result may be rounded.
    is_exact = opt_prop_def(UnitAttr, prop_name="isExact")
    assembly_format = binary_format("(`exact` $isExact^)?")


@derived_op_definition
class AddiOp(_Overflowing, xdsl_arith.AddiOp): ...


@derived_op_definition
class SubiOp(_Overflowing, xdsl_arith.SubiOp): ...


@derived_op_definition
class MuliOp(_Overflowing, xdsl_arith.MuliOp): ...


@derived_op_definition
class ShLIOp(_Overflowing, xdsl_arith.ShLIOp): ...


@derived_op_definition
class ShRUIOp(_Exact, xdsl_arith.ShRUIOp): ...


@derived_op_definition
class ShRSIOp(_Exact, xdsl_arith.ShRSIOp): ...


@derived_op_definition
class DivUIOp(_Exact, xdsl_arith.DivUIOp): ...


@derived_op_definition
class DivSIOp(_Exact, xdsl_arith.DivSIOp): ...


@derived_op_definition
class FloorDivSIOp(_IntegerBinary, xdsl_arith.FloorDivSIOp): ...


@derived_op_definition
class CeilDivSIOp(_IntegerBinary, xdsl_arith.CeilDivSIOp): ...


@derived_op_definition
class CeilDivUIOp(_IntegerBinary, xdsl_arith.CeilDivUIOp): ...


# Not `Pure`: division by zero is undefined, so it must not be moved before a test.
@derived_op_definition
class RemUIOp(_IntegerBinary, xdsl_arith.RemUIOp):
    traits = traits_def(NoMemoryEffect())


@derived_op_definition
class RemSIOp(_IntegerBinary, xdsl_arith.RemSIOp):
    traits = traits_def(NoMemoryEffect())


# xDSL does not mark these as commutative; MLIR does, and canonicalization relies on it.
@derived_op_definition
class MinUIOp(_IntegerBinary, xdsl_arith.MinUIOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class MaxUIOp(_IntegerBinary, xdsl_arith.MaxUIOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class MinSIOp(_IntegerBinary, xdsl_arith.MinSIOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class MaxSIOp(_IntegerBinary, xdsl_arith.MaxSIOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class AndIOp(_IntegerBinary, xdsl_arith.AndIOp): ...


@derived_op_definition
class OrIOp(_IntegerBinary, xdsl_arith.OrIOp): ...


@derived_op_definition
class XOrIOp(_IntegerBinary, xdsl_arith.XOrIOp): ...


class _ExtendedMultiplication(IRDLOperation):
    T: ClassVar = VarConstraint("T", INTEGER_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    low = result_def(T)
    high = result_def(T)
    assembly_format = binary_format(result="low")


@derived_op_definition
class MulUIExtendedOp(_ExtendedMultiplication, xdsl_arith.MulUIExtendedOp): ...


@derived_op_definition
class MulSIExtendedOp(_ExtendedMultiplication, xdsl_arith.MulSIExtendedOp): ...


# Syntax from xDSL: two types, since the second result is a bool.
@derived_op_definition
class AddUIExtendedOp(xdsl_arith.AddUIExtendedOp):
    """A sum, and whether it overflowed as an unsigned number."""

    T: ClassVar = VarConstraint("T", INTEGER_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    sum = result_def(T)
    overflow = result_def(BOOL_LIKE)

    def verify_(self) -> None:
        if self.overflow.type != bool_like(self.sum.type):
            raise VerifyException("failed to verify that if an operand is non-scalar, then all results must be too")


class _FloatBinary(IRDLOperation):
    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    assembly_format = binary_format(FASTMATH)


@derived_op_definition
class AddfOp(_FloatBinary, xdsl_arith.AddfOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class SubfOp(_FloatBinary, xdsl_arith.SubfOp): ...


@derived_op_definition
class MulfOp(_FloatBinary, xdsl_arith.MulfOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class DivfOp(_FloatBinary, xdsl_arith.DivfOp): ...


# xDSL has no such operation.
@op_definition
class RemfOp(_FloatBinary):
    """The remainder of a division, with the sign of the dividend."""

    name = "arith.remf"
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())


@derived_op_definition
class MaximumfOp(_FloatBinary, xdsl_arith.MaximumfOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class MaxnumfOp(_FloatBinary, xdsl_arith.MaxnumfOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class MinimumfOp(_FloatBinary, xdsl_arith.MinimumfOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class MinnumfOp(_FloatBinary, xdsl_arith.MinnumfOp):
    traits = traits_def(Pure(), Commutative())


@derived_op_definition
class NegfOp(xdsl_arith.NegfOp):
    """The number with the other sign."""

    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    operand = operand_def(T)
    result = result_def(T)
