"""The math dialect: xDSL's, with the operations that it lacks."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects import math as xdsl_math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.irdl import IRDLOperation, VarConstraint, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_dialect
from tilewright.dialects._ods import op_definition
from tilewright.dialects.arith.types import (
    BOOL_LIKE,
    FLOAT_LIKE,
    NO_FASTMATH,
    bool_like,
    parse_fastmath,
    print_fastmath,
)


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

    # no format: the type of the result has the shape of the operand's, which constraints cannot infer
    operand = operand_def(FLOAT_LIKE)
    result = result_def(BOOL_LIKE)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        fastmath = parse_fastmath(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(operand, type)],
            result_types=[bool_like(type)],  # the text has the type of the operand only
            properties={"fastmath": fastmath},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        print_fastmath(printer, self.fastmath)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)

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
