"""The tensor dialect: xDSL's, with operations that it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import tensor as xdsl_tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FixedBitwidthType,
    IndexType,
    TensorType,
    UnrankedTensorType,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_dialect
from tilewright.dialects._mixed_indices import MixedIndices, verify_mixed
from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects._syntax import INDEX
from tilewright.ir.constraints import described
from tilewright.ir.diagnostics import VerifyError
from tilewright.ir.print_operations import PartDirective
from tilewright.ir.shown import quoted

ANY_TENSOR = described(base(TensorType) | base(UnrankedTensorType), "tensor of any type values")


@op_definition
class BitcastOp(IRDLOperation):
    """The same bits under another element type."""

    name = "tensor.bitcast"
    source = operand_def(ANY_TENSOR)
    dest = result_def(ANY_TENSOR)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"

    def verify_(self) -> None:
        source, target = self.source.type, self.dest.type
        if _shape(source) != _shape(target) or _width(source) != _width(target):
            raise VerifyException(
                f"operand type {quoted(source)} and result type {quoted(target)} are cast incompatible"
            )


def _shape(type: Attribute) -> tuple[int, ...] | None:
    """The shape of a tensor; None if it has no rank."""
    return cast(TensorType, type).get_shape() if isinstance(type, TensorType) else None


def _width(type: Attribute) -> int | None:
    """The width of a tensor's elements in bits, if they have one."""
    element = cast("TensorType | UnrankedTensorType", type).element_type  # an index has no width of its own
    return element.bitwidth if isinstance(element, FixedBitwidthType) else None


@op_definition
class RankOp(IRDLOperation):
    """The number of dimensions of a tensor."""

    name = "tensor.rank"
    tensor = operand_def(ANY_TENSOR)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$tensor attr-dict `:` type($tensor)"

    def result_names(self) -> Sequence[str | None]:
        return ("rank",)


@irdl_custom_directive
class Extents(PartDirective):
    """Operands, with upstream's space also where there are none."""

    operands: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.operands.parse(parser, state)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_list(self.operands.get(op), printer.print_ssa_value)


@op_definition
class GenerateOp(IRDLOperation):
    """A tensor whose elements the region computes from their indices."""

    name = "tensor.generate"
    dynamic_extents = var_operand_def(IndexType)
    body = region_def("single_block")
    result = result_def(TensorType)
    traits = traits_def(RecursiveMemoryEffect())
    custom_directives = (Extents,)
    assembly_format = "custom<Extents>($dynamic_extents) $body attr-dict `:` type($result)"

    def verify_(self) -> None:
        expected = self.result.type.get_shape().count(DYNAMIC_INDEX)
        if len(self.dynamic_extents) != expected:
            raise VerifyException(
                f"incorrect number of dynamic sizes, has {len(self.dynamic_extents)}, expected {expected}"
            )

    def verify_regions(self) -> None:  # after the operations in the body, as upstream does
        if any(argument.type != INDEX for argument in self.body.block.args):
            raise VerifyError("all body arguments must be index", bare=True)
        if len(self.body.block.args) != self.result.type.get_num_dims():
            raise VerifyError("must have one body argument per input dimension", bare=True)
        end = self.body.block.last_op
        if not isinstance(end, xdsl_tensor.YieldOp) or end.operand_types != (self.result.type.element_type,):
            raise VerifyException("body must be terminated with a `yield` operation of the tensor element type")

    def result_names(self) -> Sequence[str | None]:
        return ("generated",)


@op_definition
class ParallelInsertSliceOp(IRDLOperation):
    """One thread's part of the tensor that an `scf.forall` makes."""

    name = "tensor.parallel_insert_slice"
    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(ParentOp("scf.forall.in_parallel"))
    custom_directives = (MixedIndices,)
    assembly_format = (
        "$source `into` $dest `` custom<MixedIndices>($offsets, $static_offsets) "
        "custom<MixedIndices>($sizes, $static_sizes) custom<MixedIndices>($strides, $static_strides) attr-dict "
        "`:` type($source) `into` type($dest)"
    )

    def verify_(self) -> None:
        verify_mixed(self.offsets, self.static_offsets, "offset")
        verify_mixed(self.sizes, self.static_sizes, "size")
        verify_mixed(self.strides, self.static_strides, "stride")


TENSOR = derived_dialect(xdsl_tensor.Tensor, [BitcastOp, GenerateOp, ParallelInsertSliceOp, RankOp])
