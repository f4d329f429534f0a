"""The math dialect: xDSL's, with the operations that it lacks."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import math as xdsl_math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.irdl import IRDLOperation, VarConstraint, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_dialect
from tilewright.dialects._ods import op_definition
from tilewright.dialects.arith.types import (
    BOOL_LIKE,
    FLOAT_LIKE,
    NO_FASTMATH,
    bool_like,
)
from tilewright.ir.constraints import following


@op_definition
class ErfcOp(IRDLOperation):
    """One minus the error function."""

    name = "math.erfc"
    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    operand = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class _Classification(IRDLOperation):
    """Whether numbers are of some kind."""

    operand = operand_def(VarConstraint("T", FLOAT_LIKE))
    result = result_def(following(BOOL_LIKE, bool_like))
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($operand)"

    def verify_(self) -> None:
        if self.result.type != bool_like(self.operand.type):
            raise VerifyException("failed to verify that result type has i1 element type and same shape as operands")


@op_definition
class IsFiniteOp(_Classification):
    name = "math.isfinite"


@op_definition
class IsInfOp(_Classification):
    name = "math.isinf"


@op_definition
class IsNaNOp(_Classification):
    name = "math.isnan"


@op_definition
class IsNormalOp(_Classification):
    name = "math.isnormal"


@op_definition
class SincosOp(IRDLOperation):
    """Sine and cosine at once."""

    name = "math.sincos"
    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    operand = operand_def(T)
    sin = result_def(T)
    cos = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($sin)"


@op_definition
class ClampFOp(IRDLOperation):
    """A number moved into a range."""

    name = "math.clampf"
    T: ClassVar = VarConstraint("T", FLOAT_LIKE)
    value = operand_def(T)
    min = operand_def(T)
    max = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())
    # the space between `to` and the bracket is upstream's
    assembly_format = "$value `to` ` ` `[` $min `,` $max `]` (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


MATH = derived_dialect(xdsl_math.Math, [ClampFOp, ErfcOp, IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp, SincosOp])
