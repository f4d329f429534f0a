"""Checks that the generated code makes on runtime values before it writes them into a descriptor."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import i32_attr, op_definition
from tilewright.dialects.aie.lookup import constant_value

from .attributes import ATTR_DICT


@op_definition
class NpuAssertBdFieldOp(IRDLOperation):
    """Stop the generation of the stream unless a runtime value fits its field of a descriptor."""

    name = "aiex.npu.assert_bd_field"

    value = operand_def(i32)
    max = prop_def(i32_attr())

    irdl_options = ATTR_DICT
    assembly_format = "`(` $value `)` attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, max: int):
        super().__init__(operands=[value], properties={"max": IntegerAttr(max, i32)})

    def verify_(self) -> None:
        value, limit = constant_value(self.value), self.max.value.data
        if value is not None and not 0 <= value <= limit:
            raise VerifyException(f"constant value {value} exceeds the guarded field range [0:{limit}].")


@op_definition
class NpuAssertBdDivisibleOp(IRDLOperation):
    """Stop the generation of the stream unless a runtime size or stride is a whole number of granules.

    With `allow_unit` 1 is fine as well: neighbouring elements share granules.
    """

    name = "aiex.npu.assert_bd_divisible"

    value = operand_def(i32)
    divisor = prop_def(i32_attr())
    allow_unit = opt_prop_def(UnitAttr)

    irdl_options = ATTR_DICT
    assembly_format = "`(` $value `)` attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, divisor: int, *, allow_unit: bool = False):
        super().__init__(
            operands=[value],
            properties={"divisor": IntegerAttr(divisor, i32), "allow_unit": UnitAttr() if allow_unit else None},
        )

    def verify_(self) -> None:
        value, divisor = constant_value(self.value), self.divisor.value.data
        if divisor == 0:
            raise VerifyException("divisor must be non-zero.")
        if value is None or (self.allow_unit is not None and value == 1):
            return
        if value % divisor != 0:
            raise VerifyException(
                f"constant value {value} is not divisible by {divisor} "
                "(transfer is not a whole number of address-gen granules)."
            )


OPS = [NpuAssertBdFieldOp, NpuAssertBdDivisibleOp]
