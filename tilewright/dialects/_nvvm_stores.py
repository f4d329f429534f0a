"""nvvm: stores of small matrices to memory of a block, and from there to a described array by the copy engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import IntAttr, IntegerAttr, UnitAttr, i1, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tilewright.dialects._nvvm_copies import SHARED_POINTER
from tilewright.dialects._nvvm_matrices import MMALayoutAttr
from tilewright.dialects._ods import i32_attr, op_definition
from tilewright.dialects._syntax import print_attributes, split_attributes
from tilewright.dialects.llvm import LLVMPointerType

MOST_DIMENSIONS = 5


class ProxyKind(StrEnum):
    """Which ways to memory a fence orders with ordinary loads and stores."""

    ALIAS = "alias"
    ASYNC = "async"
    ASYNC_GLOBAL = "async.global"
    ASYNC_SHARED = "async.shared"


class SharedSpace(StrEnum):
    """Whose memory of the block it is about."""

    CTA = "cta"
    CLUSTER = "cluster"


@irdl_attr_definition
class ProxyKindAttr(EnumAttribute[ProxyKind]):
    name = "nvvm.proxy_kind"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ProxyKind:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(ProxyKind)


@irdl_attr_definition
class SharedSpaceAttr(EnumAttribute[SharedSpace]):
    name = "nvvm.shared_space"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SharedSpace:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(SharedSpace)


@op_definition
class FenceProxyOp(IRDLOperation):
    """Let the copy engine see what this thread has stored."""

    name = "nvvm.fence.proxy"

    kind = prop_def(ProxyKindAttr)
    space = opt_prop_def(SharedSpaceAttr)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if (self.kind.data is ProxyKind.ASYNC_SHARED) != (self.space is not None):
            raise VerifyException("a space is for async.shared, and for no other kind")


@op_definition
class CpAsyncBulkTensorSharedCTAToGlobalOp(IRDLOperation):
    """Have the copy engine store a box to a described array, as far as the array reaches."""

    name = "nvvm.cp.async.bulk.tensor.global.shared.cta"

    tma_descriptor = operand_def(LLVMPointerType)
    src_mem = operand_def(SHARED_POINTER)
    coordinates = var_operand_def(i32)

    def verify_(self) -> None:
        if not 1 <= len(self.coordinates) <= MOST_DIMENSIONS:
            raise VerifyException(f"a box has 1 to {MOST_DIMENSIONS} dimensions, not {len(self.coordinates)}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        described, _ = parser.parse_unresolved_operand(), parser.parse_punctuation(",")
        source, _ = parser.parse_unresolved_operand(), parser.parse_punctuation(",")
        parser.parse_keyword("box")
        places = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) != 2:
            parser.raise_error("expected the types of the description and of the source")
        operands = [
            *(parser.resolve_operand(value, type) for value, type in zip((described, source), types, strict=True)),
            *(parser.resolve_operand(place, i32) for place in places),
        ]
        return cls.create(operands=operands, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.tma_descriptor, self.src_mem), printer.print_ssa_value)
        printer.print_string(", box[")
        printer.print_list(self.coordinates, printer.print_ssa_value)
        printer.print_string("]")
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list((self.tma_descriptor.type, self.src_mem.type), printer.print_attribute)


@op_definition
class CpAsyncBulkCommitGroupOp(IRDLOperation):
    """Make a group of all stores by the engine that this thread has asked for since the last one."""

    name = "nvvm.cp.async.bulk.commit.group"
    assembly_format = "attr-dict"


@op_definition
class CpAsyncBulkWaitGroupOp(IRDLOperation):
    """Wait until no more than so many groups of this thread are under way, or only until the others were read."""

    name = "nvvm.cp.async.bulk.wait_group"

    group = prop_def(i32_attr(0))
    read = opt_prop_def(UnitAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        group = IntegerAttr(parser.parse_integer(allow_boolean=False), i32)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        return cls.create(properties={"group": group, **properties}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.group.value.data}")
        print_attributes(printer, self, ("group",))


@op_definition
class SyncWarpOp(IRDLOperation):
    """Wait for the lanes of a mask, and see what they have stored."""

    name = "nvvm.bar.warp.sync"

    mask = operand_def(i32)
    assembly_format = "$mask attr-dict `:` type($mask)"


@op_definition
class ElectSyncOp(IRDLOperation):
    """Whether this lane is the one that is chosen among those of a mask, or of the warp: always the same one."""

    name = "nvvm.elect.sync"

    membermask = opt_operand_def(i32)
    pred = result_def(i1)
    assembly_format = "($membermask^)? attr-dict `->` type($pred)"


class LdStMatrixEltType(StrEnum):
    """Elements that `stmatrix` stores; only those of two bytes here."""

    B16 = "b16"


@irdl_attr_definition
class LdStMatrixEltTypeAttr(EnumAttribute[LdStMatrixEltType]):
    name = "nvvm.ld_st_matrix_elt_type"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> LdStMatrixEltType:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(LdStMatrixEltType)


@irdl_attr_definition
class LdStMatrixShapeAttr(ParametrizedAttribute):
    """Rows and columns of a small matrix."""

    name = "nvvm.ld_st_matrix_shape"
    m: IntAttr
    n: IntAttr

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<m = {self.m.data}, n = {self.n.data}>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        sizes = list[IntAttr]()
        with parser.in_angle_brackets():
            for word in ("m", "n"):
                if sizes:
                    parser.parse_punctuation(",")
                parser.parse_keyword(word)
                parser.parse_punctuation("=")
                sizes.append(IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False)))
        return sizes


MATRIX_COUNTS = 1, 2, 4


@op_definition
class StMatrixOp(IRDLOperation):
    """Store matrices of 8 x 8, of whose rows lanes hold pairs; lane `8 * i + j` says where row `j` of matrix `i` goes.

    With the layout "col" these are rows of the transposed matrix.
    """

    name = "nvvm.stmatrix"

    ptr = operand_def(SHARED_POINTER)
    sources = var_operand_def(i32)
    layout = prop_def(MMALayoutAttr)
    shape = prop_def(LdStMatrixShapeAttr)
    eltType = prop_def(LdStMatrixEltTypeAttr)
    assembly_format = "$ptr `,` $sources attr-dict `:` type($ptr) `,` type($sources)"

    def verify_(self) -> None:
        if (self.shape.m.data, self.shape.n.data) != (8, 8):
            raise VerifyException(
                f"matrices of two-byte elements are 8 x 8, not {self.shape.m.data} x {self.shape.n.data}"
            )
        if len(self.sources) not in MATRIX_COUNTS:
            raise VerifyException(f"1, 2 or 4 matrices are stored at a time, not {len(self.sources)}")


STORES: Sequence[type[IRDLOperation]] = [
    FenceProxyOp,
    CpAsyncBulkTensorSharedCTAToGlobalOp,
    CpAsyncBulkCommitGroupOp,
    CpAsyncBulkWaitGroupOp,
    SyncWarpOp,
    ElectSyncOp,
    StMatrixOp,
]
STORE_ATTRIBUTES: Sequence[type[Attribute]] = [
    ProxyKindAttr,
    SharedSpaceAttr,
    LdStMatrixEltTypeAttr,
    LdStMatrixShapeAttr,
]
