"""Operations that threads of a block or a wave do together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, UnitAttr, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    base,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import i32_attr, op_definition
from tilewright.dialects._syntax import (
    TypedOperandsOp,
    print_attributes,
)
from tilewright.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr, Reduction, ReductionAttr, ShuffleMode
from tilewright.dialects.gpu.attributes import ShuffleModeAttr as ShuffleModeAttr
from tilewright.ir.constraints import described, following

# Clusters of neighbouring lanes, unless a stride is given.
ONE = IntegerAttr(1, i32)


@op_definition
class BarrierOp(IRDLOperation):
    """Wait until all threads of the block are here; what they have written is visible to all of them."""

    name = "gpu.barrier"
    assembly_format = "attr-dict"


@op_definition
class ShuffleOp(IRDLOperation):
    """Read the value of another lane among `width` neighbours; `valid` tells whether there is such a lane."""

    name = "gpu.shuffle"

    value = operand_def(VarConstraint("T", AnyAttr()))
    offset = operand_def(i32)
    width = operand_def(i32)
    mode = prop_def(ShuffleModeAttr)
    shuffle_result = result_def(following(AnyAttr(), lambda type: type))
    valid = result_def(i1)

    traits = traits_def(Pure())
    # Two spaces, as MLIR prints it.
    assembly_format = "` ` $mode $value `,` $offset `,` $width attr-dict `:` type($value)"

    def __init__(self, mode: ShuffleMode, value: SSAValue, offset: SSAValue, width: SSAValue):
        super().__init__(
            operands=[value, offset, width],
            result_types=[value.type, i1],
            properties={"mode": ShuffleModeAttr(mode)},
        )

    def result_names(self) -> Sequence[str | None]:
        # The names of ODS, which is not how fields are called here.
        return "shuffleResult", "valid"

    def verify_(self) -> None:
        if self.value.type != self.shuffle_result.type:
            raise VerifyException("failed to verify that all of {value, shuffleResult} have same type")


@op_definition
class YieldOp(TypedOperandsOp):
    """The result of combining two values."""

    name = "gpu.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())


@op_definition
class AllReduceOp(IRDLOperation):
    """Combine the values of all threads of a block, by a known operation or by a body."""

    name = "gpu.all_reduce"

    value = operand_def()
    op = opt_prop_def(ReductionAttr)
    uniform = opt_prop_def(UnitAttr)
    body = region_def()
    result = result_def()

    traits = traits_def(IsolatedFromAbove(), NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties = _parse_reduction(parser)
        value = parser.parse_unresolved_operand()
        if parser.parse_optional_keyword("uniform") is not None:
            properties["uniform"] = UnitAttr()
        # Empty braces where an operation is named.
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        operand, result = _parse_signature(parser)
        return cls.create(
            operands=[parser.resolve_operand(value, operand)],
            result_types=[result],
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        _print_reduction(printer, self.op, self.value)
        printer.print_string(" uniform " if self.uniform is not None else " ")
        printer.print_region(self.body)
        print_attributes(printer, self, ("op", "uniform"))
        _print_signature(printer, self)

    def verify_(self) -> None:
        # Exactly one of the two says how values are combined.
        if (self.op is None) == (not self.body.blocks):
            raise VerifyException("expected either an op attribute or a non-empty body")


@op_definition
class SubgroupReduceOp(IRDLOperation):
    """Combine the values of the lanes of a wave, or of clusters of them."""

    name = "gpu.subgroup_reduce"

    value = operand_def()
    op = prop_def(ReductionAttr)
    uniform = opt_prop_def(UnitAttr)
    cluster_size = opt_prop_def(i32_attr())
    cluster_stride = prop_def(i32_attr(), ONE)
    result = result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties = _parse_reduction(parser)
        value = parser.parse_unresolved_operand()
        if parser.parse_optional_keyword("uniform") is not None:
            properties["uniform"] = UnitAttr()
        if parser.parse_optional_keyword("cluster") is not None:
            properties |= _parse_cluster(parser)
        attributes = parser.parse_optional_attr_dict()
        operand, result = _parse_signature(parser)
        return cls.create(
            operands=[parser.resolve_operand(value, operand)],
            result_types=[result],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        _print_reduction(printer, self.op, self.value)
        if self.uniform is not None:
            printer.print_string(" uniform")
        if self.cluster_size is not None:
            stride = self.cluster_stride.value.data
            # A stride of 1 goes without saying.
            text = f"size = {self.cluster_size.value.data}" + ("" if stride == 1 else f", stride = {stride}")
            printer.print_string(f" cluster({text})")
        print_attributes(printer, self, ("op", "uniform", "cluster_size", "cluster_stride"))
        _print_signature(printer, self)


def _parse_reduction(parser: Parser) -> dict[str, Attribute]:
    # Optional: `gpu.all_reduce` may have a body instead.
    word = parser.parse_optional_keyword_in(list(Reduction))
    return {} if word is None else {"op": ReductionAttr(Reduction(word))}


def _print_reduction(printer: Printer, reduction: ReductionAttr | None, value: SSAValue) -> None:
    printer.print_string("  " if reduction is None else f"  {reduction.data} ")
    printer.print_ssa_value(value)


def _parse_cluster(parser: Parser) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {}

    def parse_entry() -> None:
        word = parser.parse_optional_keyword_in(["size", "stride"])
        if word is None:
            parser.raise_error("expected 'size' or 'stride'")
        parser.parse_punctuation("=")
        properties[f"cluster_{word}"] = IntegerAttr(parser.parse_integer(), i32)

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_entry)
    return properties


def _parse_signature(parser: Parser) -> tuple[Attribute, Attribute]:
    """`: (type) -> type`."""
    parser.parse_punctuation(":")
    type = parser.parse_function_type()
    # Read as a function type, which could have any number.
    if len(type.inputs) != 1 or len(type.outputs) != 1:
        parser.raise_error("expected a function of one value")
    return type.inputs.data[0], type.outputs.data[0]


def _print_signature(printer: Printer, op: Operation) -> None:
    printer.print_string(" : ")
    printer.print_function_type(op.operand_types, op.result_types)


@op_definition
class PrintfOp(IRDLOperation):
    """Print from a kernel, as C's printf does."""

    name = "gpu.printf"

    values = var_operand_def()
    format = prop_def(StringAttr)
    assembly_format = "$format attr-dict (`,` $values^ `:` type($values))?"


def _is_shared_bytes(type: MemRefType) -> bool:
    return type.memory_space == AddressSpaceAttr(AddressSpace.WORKGROUP)


@op_definition
class DynamicSharedMemoryOp(IRDLOperation):
    """The shared memory that a launch asks for, besides what its kernel declares."""

    name = "gpu.dynamic_shared_memory"

    result = result_def(described(base(MemRefType), "1D memref of 8-bit signless integer values", _is_shared_bytes))

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"


OPS: Sequence[type[IRDLOperation]] = [
    BarrierOp,
    ShuffleOp,
    YieldOp,
    AllReduceOp,
    SubgroupReduceOp,
    PrintfOp,
    DynamicSharedMemoryOp,
]
