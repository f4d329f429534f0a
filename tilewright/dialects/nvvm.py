"""The nvvm dialect: what NVIDIA GPUs do beyond LLVM, with the syntax of upstream MLIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DictionaryAttr, IntAttr, StringAttr, UnitAttr, i1, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Dialect, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tilewright.dialects._nvvm_clusters import CLUSTERS
from tilewright.dialects._nvvm_copies import COPIES
from tilewright.dialects._nvvm_matrices import MATRICES, MATRIX_ATTRIBUTES
from tilewright.dialects._nvvm_stores import STORE_ATTRIBUTES, STORES
from tilewright.dialects._ods import op_definition, register_read
from tilewright.dialects._syntax import print_attributes, segments, split_attributes
from tilewright.dialects._targets import TargetAttr


@irdl_attr_definition
class NVVMTargetAttr(TargetAttr):
    """An NVIDIA GPU to compile for."""

    name = "nvvm.target"
    entries: DictionaryAttr

    DEFAULTS: ClassVar[Mapping[str, Attribute | type[Attribute]]] = {
        "O": IntAttr(2),
        "triple": StringAttr("nvptx64-nvidia-cuda"),
        "chip": StringAttr("sm_50"),
        "features": StringAttr(""),
        "flags": DictionaryAttr,
        "link": ArrayAttr,
        "verifyTarget": BoolAttr.from_bool(True),
    }


class ShflKind(StrEnum):
    """How a lane finds the lane that it reads from."""

    BFLY = "bfly"
    UP = "up"
    DOWN = "down"
    IDX = "idx"


class VoteKind(StrEnum):
    """What a vote of the lanes gives."""

    ANY = "any"
    ALL = "all"
    BALLOT = "ballot"
    UNI = "uni"


class MemScope(StrEnum):
    """Who sees what a fence orders."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class GridDepAction(StrEnum):
    """What a launch has to do with those before and behind it."""

    WAIT = "wait"
    LAUNCH_DEPENDENTS = "launch_dependents"


@irdl_attr_definition
class ShflKindAttr(EnumAttribute[ShflKind], SpacedOpaqueSyntaxAttribute):
    name = "nvvm.shfl_kind"


@irdl_attr_definition
class VoteKindAttr(EnumAttribute[VoteKind], SpacedOpaqueSyntaxAttribute):
    name = "nvvm.vote_sync_kind"


@irdl_attr_definition
class GridDepActionAttr(EnumAttribute[GridDepAction], SpacedOpaqueSyntaxAttribute):
    name = "nvvm.grid_dep_action"


@irdl_attr_definition
class MemScopeAttr(EnumAttribute[MemScope]):
    name = "nvvm.mem_scope"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")  # the other enums of this dialect have no brackets

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MemScope:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(MemScope)


@op_definition
class Barrier0Op(IRDLOperation):
    """Wait for all threads of the block, with what they have written."""

    name = "nvvm.barrier0"
    assembly_format = "attr-dict"


@op_definition
class BarrierOp(IRDLOperation):
    """Wait at one of the block's barriers, for some or all of its threads."""

    name = "nvvm.barrier"

    barrier_id = opt_operand_def(i32)
    number_of_threads = opt_operand_def(i32)
    reduction_predicate = opt_operand_def(i32)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        groups = [_parse_named(parser, word) for word in ("id", "number_of_threads")]
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        # a predicate to reduce over has no syntax here: only the generic form can have one
        properties["operandSegmentSizes"] = segments(*map(len, groups), 0)
        return cls.create(operands=[*groups[0], *groups[1]], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        for word, value in (("id", self.barrier_id), ("number_of_threads", self.number_of_threads)):
            if value is not None:
                printer.print_string(f" {word} = ")
                printer.print_ssa_value(value)
        print_attributes(printer, self)


def _parse_named(parser: Parser, word: str) -> list[SSAValue]:
    if parser.parse_optional_keyword(word) is None:
        return []
    parser.parse_punctuation("=")
    return [parser.resolve_operand(parser.parse_unresolved_operand(), i32)]


@op_definition
class ShflOp(IRDLOperation):
    """Read a value of another lane."""

    name = "nvvm.shfl.sync"

    thread_mask = operand_def(i32)
    val = operand_def()
    offset = operand_def(i32)
    mask_and_clamp = operand_def(i32)
    kind = prop_def(ShflKindAttr)
    return_value_and_is_valid = opt_prop_def(UnitAttr)
    res = result_def()
    # two spaces: upstream's printer of an enum writes one of its own
    assembly_format = (
        "` ` $kind $thread_mask `,` $val `,` $offset `,` $mask_and_clamp attr-dict `:` type($val) `->` type($res)"
    )


@op_definition
class VoteSyncOp(IRDLOperation):
    """Ask the lanes of a mask, and tell all of them the outcome."""

    name = "nvvm.vote.sync"

    mask = operand_def(i32)
    pred = operand_def(i1)
    kind = prop_def(VoteKindAttr)
    res = result_def()
    assembly_format = "` ` $kind $mask `,` $pred attr-dict `->` type($res)"


@op_definition
class MemoryBarrierOp(IRDLOperation):
    """Order this thread's accesses for everyone in `scope`."""

    name = "nvvm.memory.barrier"

    scope = prop_def(MemScopeAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if parser._current_token.text == "<":  # upstream prints this form and reads both
            scope: Attribute = MemScopeAttr(MemScopeAttr.parse_parameter(parser))
        else:
            scope = parser.parse_attribute()
        return cls.create(properties={"scope": scope}, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.scope.print_parameter(printer)
        print_attributes(printer, self, ("scope",))


@op_definition
class GridDepControlOp(IRDLOperation):
    """Wait for the launch before this one, which has then ended and stored all; or let the next one begin already.

    A kernel that waits so may begin while the launch before it ends: all of its threads have to wait before they access
    memory that others do.
    """

    name = "nvvm.griddepcontrol"

    kind = prop_def(GridDepActionAttr)
    # two spaces, as above
    assembly_format = "` ` $kind attr-dict"


REGISTERS = [
    register_read(f"nvvm.read.ptx.sreg.{what}.{dimension}")
    for what in ("tid", "ctaid", "ntid", "nctaid")
    for dimension in "xyz"
]
OPERATIONS: Sequence[type[IRDLOperation]] = [
    *REGISTERS,
    register_read("nvvm.read.ptx.sreg.laneid"),
    register_read("nvvm.read.ptx.sreg.warpsize"),
    Barrier0Op,
    BarrierOp,
    ShflOp,
    VoteSyncOp,
    MemoryBarrierOp,
    GridDepControlOp,
    *CLUSTERS,
    *COPIES,
    *STORES,
    *MATRICES,
]

ATTRIBUTES: Sequence[type[Attribute]] = [
    NVVMTargetAttr,
    ShflKindAttr,
    VoteKindAttr,
    GridDepActionAttr,
    MemScopeAttr,
    *MATRIX_ATTRIBUTES,
    *STORE_ATTRIBUTES,
]
NVVM = Dialect("nvvm", list(OPERATIONS), list(ATTRIBUTES))
