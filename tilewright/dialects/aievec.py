"""The aievec dialect: what the vector unit of a core does, as far as Python programs build it."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    base,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import i8_attr, i32_attr, op_definition
from tilewright.ir.constraints import described
from tilewright.ir.interned import wrapped_integer

VECTOR = described(base(VectorType), "vector of any type values")
SIGNED = wrapped_integer(1, IntegerType(32))


def _lanes(type: Attribute) -> int:
    """How many elements the innermost dimension of a vector has."""
    return cast("VectorType[Any]", type).get_shape()[-1]


def _width(type: Attribute) -> int:
    return getattr(cast("VectorType[Any]", type).element_type, "bitwidth", 0)


class _Elementwise(IRDLOperation):
    """`%a, %b`, both and the result of one type."""

    T: ClassVar = VarConstraint("T", VECTOR)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"


@op_definition
class AddElemOp(_Elementwise):
    """Add two vectors lane by lane."""

    name = "aievec.add_elem"


@op_definition
class SubElemOp(_Elementwise):
    """Subtract two vectors lane by lane."""

    name = "aievec.sub_elem"


@op_definition
class MinOp(_Elementwise):
    """Take the smaller of two vectors in each lane."""

    name = "aievec.min"


@op_definition
class MaxOp(_Elementwise):
    """Take the larger of two vectors in each lane."""

    name = "aievec.max"


@op_definition
class MulElemOp(IRDLOperation):
    """Multiply two vectors lane by lane, into an accumulator."""

    name = "aievec.mul_elem"
    T: ClassVar = VarConstraint("T", VECTOR)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(VECTOR)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `,` type($result)"

    def verify_(self) -> None:
        if _lanes(self.lhs.type) != _lanes(self.result.type):
            raise VerifyException("requires the same shape for all operands and results")


@op_definition
class MacElemOp(IRDLOperation):
    """Multiply two vectors lane by lane, and add to an accumulator; with `fmsub`, subtract."""

    name = "aievec.mac_elem"
    ACC: ClassVar = VarConstraint("ACC", VECTOR)
    lhs = operand_def(VECTOR)
    rhs = operand_def(VECTOR)
    acc = operand_def(ACC)
    result = result_def(ACC)
    fmsub = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)"


@op_definition
class UpsOp(IRDLOperation):
    """Move a vector into an accumulator, shifted up."""

    name = "aievec.ups"
    source = operand_def(VECTOR)
    result = result_def(VECTOR)
    shift = prop_def(i8_attr(minimum=0))
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `,` type($result)"

    def verify_(self) -> None:
        if _lanes(self.source.type) != _lanes(self.result.type):
            raise VerifyException("The number of lanes in source vector and result accumulator must match")
        if _width(self.source.type) >= _width(self.result.type):
            text = "the element type of result accumulator must be wider than that of the source vector"
            raise VerifyException(text)


@op_definition
class SrsOp(IRDLOperation):
    """Move an accumulator into a vector: shifted down, rounded, saturated as a signed or unsigned number."""

    name = "aievec.srs"
    source = operand_def(VECTOR)
    shift = operand_def(IntegerType)
    result = result_def(VECTOR)
    sign = prop_def(i32_attr(minimum=0, maximum=1), default_value=SIGNED)
    traits = traits_def(Pure())
    assembly_format = "$source `,` $shift attr-dict `:` type($source) `,` type($shift) `,` type($result)"

    def verify_(self) -> None:
        if _lanes(self.source.type) != _lanes(self.result.type):
            raise VerifyException("The number of lanes in result vector and source accumulator must match")
        is_integer = isinstance(cast("VectorType[Any]", self.source.type).element_type, IntegerType)
        if is_integer and _width(self.result.type) >= _width(self.source.type):
            text = "the element type of source accumulator must be wider than that of the result vector"
            raise VerifyException(text)


@op_definition
class UpdOp(IRDLOperation):
    """Load lanes of a vector from a buffer, `offset` bits further; with `vector`, into one of its halves."""

    name = "aievec.upd"
    T: ClassVar = VarConstraint("T", VECTOR)
    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    vector = opt_operand_def(T)
    result = result_def(T)
    offset = prop_def(i32_attr())
    index = prop_def(i8_attr(minimum=0, maximum=1))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    assembly_format = "$source `[` $indices `]` (`,` $vector^)? attr-dict `:` type($source) `,` type($result)"

    def verify_(self) -> None:
        if not self.indices:
            raise VerifyException("upd source cannot come from scalar value")


@op_definition
class BroadcastOp(IRDLOperation):
    """Fill all lanes with one lane of a vector."""

    name = "aievec.broadcast"
    source = operand_def(VECTOR)
    result = result_def(VECTOR)
    idx = prop_def(i8_attr(minimum=0))
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `,` type($result)"

    def verify_(self) -> None:
        if self.source.type != self.result.type:
            raise VerifyException("The vector type of source vector and result vector must match")


@op_definition
class CastOp(IRDLOperation):
    """Take a vector as an accumulator, or back; the bits stay."""

    name = "aievec.cast"
    source = operand_def(VECTOR)
    result = result_def(VECTOR)
    isResAcc = prop_def(BoolAttr)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `,` type($result)"

    def verify_(self) -> None:
        if _width(self.source.type) != _width(self.result.type):
            raise VerifyException("the bitwidth of resource and result should be equal")


class _MatMul(IRDLOperation):
    """A product of two small matrices, added to an accumulator."""

    T: ClassVar = VarConstraint("T", VECTOR)
    lhs = operand_def(VECTOR)
    rhs = operand_def(VECTOR)
    acc = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `into` type($acc)"

    def verify_(self) -> None:
        lhs, rhs, acc = (cast("VectorType[Any]", operand.type).get_shape() for operand in self.operands)
        if not len(lhs) == len(rhs) == len(acc) == 2 or lhs[1] != rhs[0] or acc != (lhs[0], rhs[1]):
            raise VerifyException("multiplies an MxK and a KxN matrix into an MxN one")


@op_definition
class MatMulOp(_MatMul):
    """A product as the vector unit of AIE2 has it."""

    name = "aievec.matmul"


@op_definition
class MatMulAie2pOp(_MatMul):
    """A product as the vector unit of AIE2P has it."""

    name = "aievec.matmul_aie2p"


OPS: list[type[Operation]] = [
    AddElemOp,
    BroadcastOp,
    CastOp,
    MacElemOp,
    MatMulAie2pOp,
    MatMulOp,
    MaxOp,
    MinOp,
    MulElemOp,
    SrsOp,
    SubElemOp,
    UpdOp,
    UpsOp,
]
AIEVEC = Dialect("aievec", OPS, [])
