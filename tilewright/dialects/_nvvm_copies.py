"""nvvm: barriers in memory of a block that count arrivals and bytes, and copies by the engine that brings tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import IntAttr, UnitAttr, i1, i16, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import print_attributes, segments
from tilewright.dialects.llvm import LLVMPointerType

SHARED_POINTER = LLVMPointerType(IntAttr(3))
"""To memory of the block."""
CLUSTER_POINTER = LLVMPointerType(IntAttr(7))
"""To memory of a block of the cluster."""


@op_definition
class MBarrierInitOp(IRDLOperation):
    """Make a barrier of 8 bytes that `count` arrivals complete a phase of."""

    name = "nvvm.mbarrier.init"

    addr = operand_def(LLVMPointerType)
    count = operand_def(i32)
    assembly_format = "$addr `,` $count attr-dict `:` type($addr) `,` type($count)"


@op_definition
class MBarrierArriveOp(IRDLOperation):
    """Arrive at a barrier; gives the phase that it was in."""

    name = "nvvm.mbarrier.arrive"

    addr = operand_def(LLVMPointerType)
    res = result_def(i64)
    assembly_format = "$addr attr-dict `:` type($addr) `->` type($res)"


@op_definition
class MBarrierArriveExpectTxOp(IRDLOperation):
    """Arrive at a barrier whose phase then waits for `txcount` bytes as well; only where `predicate` holds."""

    name = "nvvm.mbarrier.arrive.expect_tx"

    addr = operand_def(LLVMPointerType)
    txcount = operand_def(i32)
    predicate = opt_operand_def(i1)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
        if parser.parse_optional_punctuation(",") is not None:
            parser.parse_keyword("predicate")
            parser.parse_punctuation("=")
            operands.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(operands=parser.resolve_operands(operands, types, parser.pos), attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.addr, self.txcount), printer.print_ssa_value)
        if self.predicate is not None:
            printer.print_string(", predicate = ")
            printer.print_ssa_value(self.predicate)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)


@op_definition
class MBarrierTryWaitParityOp(IRDLOperation):
    """Wait until the phase of that parity is complete."""

    name = "nvvm.mbarrier.try_wait.parity"

    addr = operand_def(LLVMPointerType)
    phase = operand_def(i32)
    ticks = operand_def(i32)
    assembly_format = "$addr `,` $phase `,` $ticks attr-dict `:` type($addr) `,` type($phase) `,` type($ticks)"


@op_definition
class FenceMbarrierInitOp(IRDLOperation):
    """Let the copy engine see barriers that were made."""

    name = "nvvm.fence.mbarrier.init"
    assembly_format = "attr-dict"


@op_definition
class CpAsyncBulkTensorGlobalToSharedClusterOp(IRDLOperation):
    """Have the copy engine bring a box of a described array, and tell a barrier how many bytes came."""

    name = "nvvm.cp.async.bulk.tensor.shared.cluster.global"

    dst_mem = operand_def(LLVMPointerType)
    tma_descriptor = operand_def(LLVMPointerType)
    coordinates = var_operand_def(i32)
    mbar = operand_def(LLVMPointerType)
    multicast_mask = opt_operand_def(i16)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        target, _ = parser.parse_unresolved_operand(), parser.parse_punctuation(",")
        described, _ = parser.parse_unresolved_operand(), parser.parse_punctuation(",")
        barrier, _ = parser.parse_unresolved_operand(), parser.parse_punctuation(",")
        parser.parse_keyword("box")
        places = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        mask = list[UnresolvedOperand]()
        if parser.parse_optional_keyword("multicast_mask") is not None:
            parser.parse_punctuation("=")
            mask.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) != 2:
            parser.raise_error("expected the types of the target and of the description")
        groups: list[tuple[Sequence[UnresolvedOperand], Attribute]] = [
            ([target], types[0]), ([described], types[1]), (places, i32), ([barrier], SHARED_POINTER), (mask, i16),
        ]  # fmt: skip
        operands = [parser.resolve_operand(value, type) for values, type in groups for value in values]
        sizes = segments(*(len(values) for values, _ in groups))
        return cls.create(operands=operands, properties={"operandSegmentSizes": sizes}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.dst_mem, self.tma_descriptor, self.mbar), printer.print_ssa_value)
        printer.print_string(", box[")
        printer.print_list(self.coordinates, printer.print_ssa_value)
        printer.print_string("]")
        if self.multicast_mask is not None:
            printer.print_string(" multicast_mask = ")
            printer.print_ssa_value(self.multicast_mask)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list((self.dst_mem.type, self.tma_descriptor.type), printer.print_attribute)


@op_definition
class PrefetchOp(IRDLOperation):
    """Bring a tensor map near to the copy engine; what upstream has besides is not here."""

    name = "nvvm.prefetch"

    addr = operand_def(LLVMPointerType)
    tensormap = opt_prop_def(UnitAttr)
    assembly_format = "(`tensormap` $tensormap^ `,`)? $addr attr-dict `:` type($addr)"

    def verify_(self) -> None:
        if self.tensormap is None:
            raise VerifyException("prefetches tensor maps alone here: tensormap")


COPIES: Sequence[type[IRDLOperation]] = [
    MBarrierInitOp,
    MBarrierArriveOp,
    MBarrierArriveExpectTxOp,
    MBarrierTryWaitParityOp,
    FenceMbarrierInitOp,
    CpAsyncBulkTensorGlobalToSharedClusterOp,
    PrefetchOp,
]
