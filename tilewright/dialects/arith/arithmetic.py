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
from xdsl.ir import Attribute
from xdsl.irdl import (
    VarConstraint,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects.arith.types import (
    BOOL_LIKE,
    FLOAT_LIKE,
    INTEGER_LIKE,
    NO_FASTMATH,
    Binary,
    Flagged,
    WithFastmath,
    WithOverflow,
    bool_like,
)


class _Exact(Flagged):
    is_exact = opt_prop_def(UnitAttr, prop_name="isExact")

    @classmethod
    def parse_flags(cls, parser: Parser) -> dict[str, Attribute]:
        # An absent unit attribute means that the result may be rounded.
        return {} if parser.parse_optional_keyword("exact") is None else {"isExact": UnitAttr()}

    def print_flags(self, printer: Printer) -> None:
        if self.is_exact is not None:
            printer.print_string(" exact")


# One variable for all three: the type is written once.
class _IntegerBinary(Binary):
    T: ClassVar = VarConstraint("T", INTEGER_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)


@derived_op_definition
class AddiOp(WithOverflow, _IntegerBinary, xdsl_arith.AddiOp): ...


@derived_op_definition
class SubiOp(WithOverflow, _IntegerBinary, xdsl_arith.SubiOp): ...


@derived_op_definition
class MuliOp(WithOverflow, _IntegerBinary, xdsl_arith.MuliOp): ...


@derived_op_definition
class ShLIOp(WithOverflow, _IntegerBinary, xdsl_arith.ShLIOp): ...


@derived_op_definition
class ShRUIOp(_Exact, _IntegerBinary, xdsl_arith.ShRUIOp): ...


@derived_op_definition
class ShRSIOp(_Exact, _IntegerBinary, xdsl_arith.ShRSIOp): ...


@derived_op_definition
class DivUIOp(_Exact, _IntegerBinary, xdsl_arith.DivUIOp): ...


@derived_op_definition
class DivSIOp(_Exact, _IntegerBinary, xdsl_arith.DivSIOp): ...


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


class _ExtendedMultiplication(Binary):
    T: ClassVar = VarConstraint("T", INTEGER_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    low = result_def(T)
    high = result_def(T)


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


class _FloatBinary(WithFastmath, Binary):
    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)


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
