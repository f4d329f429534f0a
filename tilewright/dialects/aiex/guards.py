"""Checks that the generated code makes on runtime values before it writes them into a descriptor."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, StringAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, base, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import i32_attr, i64_attr, op_definition
from tilewright.dialects.aie.data_layout import INDEX_BITS
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.arith import ExtUIOp
from tilewright.ir.constraints import described

SUBJECT = "subject"
"""Discardable attribute of a guard: what the program calls the number that is checked."""


class Guard(IRDLOperation):
    """Stop the generation of the stream unless a runtime value is one that the hardware can take."""

    value = operand_def(i32)

    assembly_format = "`(` $value `)` attr-dict `:` type($value)"

    @property
    def subject(self) -> str | None:
        text = self.attributes.get(SUBJECT)
        return text.data if isinstance(text, StringAttr) else None

    def _name(self, subject: str | None) -> None:
        if subject is not None:
            self.attributes[SUBJECT] = StringAttr(subject)


@op_definition
class NpuAssertBdFieldOp(Guard):
    """Stop the generation of the stream unless a runtime value fits its field of a descriptor."""

    name = "aiex.npu.assert_bd_field"

    max = prop_def(i32_attr())

    def __init__(self, value: SSAValue, max: int):
        super().__init__(operands=[value], properties={"max": IntegerAttr(max, i32)})

    def verify_(self) -> None:
        value, limit = constant_value(self.value), self.max.value.data
        if value is not None and not 0 <= value <= limit:  # found here, it needs no run
            raise VerifyException(f"constant value {value} exceeds the guarded field range [0:{limit}].")


@op_definition
class NpuAssertBdDivisibleOp(Guard):
    """Stop the generation of the stream unless a runtime size or stride is a whole number of granules.

    With `allow_unit` 1 is fine as well: neighbouring elements share granules.
    """

    name = "aiex.npu.assert_bd_divisible"

    divisor = prop_def(i32_attr())
    allow_unit = opt_prop_def(UnitAttr)

    def __init__(self, value: SSAValue, divisor: int, *, allow_unit: bool = False, subject: str | None = None):
        super().__init__(
            operands=[value],
            properties={"divisor": IntegerAttr(divisor, i32), "allow_unit": UnitAttr() if allow_unit else None},
        )
        self._name(subject)

    @property
    def requirement(self) -> str:
        return f"must be divisible by {self.divisor.value.data}" + (" or be 1" if self.allow_unit is not None else "")

    def verify_(self) -> None:
        value, divisor = constant_value(self.value), self.divisor.value.data
        if divisor == 0:  # before the value: the check is wrong whatever it checks
            raise VerifyException("divisor must be non-zero.")
        if value is None or (self.allow_unit is not None and value == 1):
            return
        if value % divisor != 0:
            raise VerifyException(
                f"constant value {value} is not divisible by {divisor} "
                "(transfer is not a whole number of address-gen granules)."
            )


@op_definition
class NpuAssertRangeOp(Guard):
    """Stop the generation of the stream unless a runtime value, with its sign, is in a range. Not known to mlir-aie."""

    name = "aiex.npu.assert_range"

    value = operand_def(described(base(IntegerType) | base(IndexType), "integer or index"))
    min = prop_def(i64_attr())
    max = prop_def(i64_attr())

    def __init__(self, value: SSAValue, min: int, max: int, subject: str | None = None):
        super().__init__(operands=[value], properties={"min": IntegerAttr(min, i64), "max": IntegerAttr(max, i64)})
        self._name(subject)

    @property
    def limits(self) -> tuple[int, int]:
        return self.min.value.data, self.max.value.data

    @property
    def requirement(self) -> str:
        return range_requirement(*self.limits)

    def verify_(self) -> None:
        (low, high), value = self.limits, constant_value(self.value)
        lowest, highest = signed_limits(self.value.type)
        # the comparison is made in the type of the value
        if low < lowest or high > highest:
            raise VerifyException(f"has limits [{low}:{high}] beyond those of {self.value.type}")
        if value is not None and not low <= value <= high:
            raise VerifyException(f"{self.subject or 'constant value'} is {value} but {self.requirement}")


def signed_limits(type: Attribute) -> tuple[int, int]:
    """The smallest and the largest number of an integer type, or of index."""
    bits = type.bitwidth if isinstance(type, IntegerType) else INDEX_BITS
    return -(1 << bits - 1), (1 << bits - 1) - 1


def any_limits(type: IntegerType) -> tuple[int, int]:
    """The smallest number that an integer holds with sign, a single bit has none, and the largest without."""
    width = type.bitwidth
    return -(1 << width - 1) if width > 1 else 0, (1 << width) - 1


def value_limits(value: SSAValue) -> tuple[int, int]:
    """The smallest and the largest number that a value can be: what is filled with zeros has no sign."""
    if isinstance(value.owner, ExtUIOp) and isinstance(source := value.owner.operands[0].type, IntegerType):
        return 0, (1 << source.bitwidth) - 1
    return signed_limits(value.type)


def range_requirement(low: int, high: int) -> str:
    """What a number has to be to lie between two others."""
    return f"must be {low}" if low == high else f"must be in [{low}:{high}]"


OPS = [NpuAssertBdFieldOp, NpuAssertBdDivisibleOp, NpuAssertRangeOp]
