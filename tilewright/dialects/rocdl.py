"""The rocdl dialect: what AMD GPUs do beyond LLVM, with the syntax of upstream MLIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, StringAttr, i1, i32
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import AnyAttr, IRDLOperation, VarConstraint, irdl_attr_definition, operand_def, result_def

from tilewright.dialects._ods import op_definition, register_read
from tilewright.dialects._rocdl_matrices import MATRIX_OPERATIONS
from tilewright.dialects._targets import TargetAttr


@irdl_attr_definition
class ROCDLTargetAttr(TargetAttr):
    """An AMD GPU to compile for."""

    name = "rocdl.target"
    entries: DictionaryAttr

    DEFAULTS: ClassVar[Mapping[str, Attribute | type[Attribute]]] = {
        "O": IntAttr(2),
        "triple": StringAttr("amdgcn-amd-amdhsa"),
        "chip": StringAttr("gfx900"),
        "features": StringAttr(""),
        "abi": StringAttr("600"),
        "flags": DictionaryAttr,
        "link": ArrayAttr,
    }


@op_definition
class BarrierOp(IRDLOperation):
    """Wait for all threads of the workgroup, with what they have written."""

    name = "rocdl.barrier"
    assembly_format = "attr-dict"


@op_definition
class SBarrierOp(IRDLOperation):
    """Wait for all waves of the workgroup."""

    name = "rocdl.s.barrier"
    assembly_format = "attr-dict"


class _MaskedBitCount(IRDLOperation):
    """The number of set bits of `in0` below this lane, added to `in1`."""

    # a wave has up to 64 lanes and registers 32 bits: the count of the low half is the `in1` of the high half
    in0 = operand_def(i32)
    in1 = operand_def(i32)
    res = result_def(i32)
    assembly_format = "$in0 `,` $in1 attr-dict `:` `(` type($in0) `,` type($in1) `)` `->` type($res)"


@op_definition
class MbcntLoOp(_MaskedBitCount):
    """Among the lower 32 lanes."""

    name = "rocdl.mbcnt.lo"


@op_definition
class MbcntHiOp(_MaskedBitCount):
    """Among the upper 32 lanes."""

    name = "rocdl.mbcnt.hi"


@op_definition
class DsBpermuteOp(IRDLOperation):
    """Read a value of another lane, whose number times four is `index`."""

    name = "rocdl.ds_bpermute"
    index = operand_def(i32)  # in bytes, as if lanes were words of memory
    src = operand_def(i32)
    res = result_def(i32)
    assembly_format = "$index `,` $src attr-dict `:` `(` type($index) `,` type($src) `)` `->` type($res)"


@op_definition
class ReadfirstlaneOp(IRDLOperation):
    """The value of the first active lane, for all of them."""

    name = "rocdl.readfirstlane"
    T: ClassVar = VarConstraint("T", AnyAttr())
    src = operand_def(T)
    res = result_def(T)
    assembly_format = "$src attr-dict `:` type($res)"


@op_definition
class ReadlaneOp(IRDLOperation):
    """The value of one lane, for all of them."""

    name = "rocdl.readlane"
    src0 = operand_def()
    src1 = operand_def(i32)
    res = result_def()
    assembly_format = "$src0 `,` $src1 attr-dict `:` `(` type($src0) `,` type($src1) `)` `->` type($res)"


@op_definition
class BallotOp(IRDLOperation):
    """A mask of the lanes that say yes."""

    name = "rocdl.ballot"
    pred = operand_def(i1)
    res = result_def()  # as many bits as the wave has lanes, 32 or 64
    assembly_format = "$pred attr-dict `:` type($res)"


REGISTERS = [
    register_read(f"rocdl.{what}.{dimension}")
    for what in ("workitem.id", "workgroup.id", "workgroup.dim", "grid.dim")
    for dimension in "xyz"
]
OPERATIONS: Sequence[type[IRDLOperation]] = [
    *REGISTERS,
    register_read("rocdl.wavefrontsize"),
    BarrierOp,
    SBarrierOp,
    MbcntLoOp,
    MbcntHiOp,
    DsBpermuteOp,
    ReadfirstlaneOp,
    ReadlaneOp,
    BallotOp,
    *MATRIX_OPERATIONS,
]

ROCDL = Dialect("rocdl", list(OPERATIONS), [ROCDLTargetAttr])
