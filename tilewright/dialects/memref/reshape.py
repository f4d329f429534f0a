"""A buffer with dimensions merged, split or in another order."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import memref as xdsl_memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    IndexType,
    MemRefType,
    NoneAttr,
    SignlessIntegerConstraint,
    StridedLayoutAttr,
)
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    base,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    NoMemoryEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects._strides import strided_form
from tilewright.dialects._syntax import PAREN
from tilewright.dialects._type_directives import RankedMemRef
from tilewright.dialects.memref.types import (
    ANY_MEMREF,
    GROUPS,
    STRIDED,
    Groups,
    any_memref,
    is_contiguous,
    is_ranked,
    memref_type,
)
from tilewright.ir.constraints import described
from tilewright.ir.print_operations import PartDirective
from tilewright.ir.shown import quoted


def _verify_reassociation(reassociation: Groups, collapsed: MemRefType, expanded: MemRefType) -> None:
    if len(reassociation) != collapsed.get_num_dims():
        raise VerifyException(
            f"invalid number of reassociation groups: found {len(reassociation)}, expected {collapsed.get_num_dims()}"
        )
    # Groups partition the dimensions in order, so one counter goes through all of them.
    next_dimension = 0
    for number, (group, size) in enumerate(zip(reassociation, collapsed.get_shape(), strict=True)):
        dynamic = False
        static = 1
        for dimension in group:
            if dimension.value.data != next_dimension:
                raise VerifyException("reassociation indices must be contiguous")
            if next_dimension >= expanded.get_num_dims():
                raise VerifyException(f"reassociation index {next_dimension} is out of bounds")
            extent = expanded.get_shape()[next_dimension]
            if extent == DYNAMIC_INDEX:
                dynamic = True
            else:
                static *= extent
            next_dimension += 1
        # A product with an unknown factor is unknown, and the other way round.
        if dynamic != (size == DYNAMIC_INDEX):
            raise VerifyException(
                f"collapsed dim ({number}) must be dynamic if and only if reassociation group is dynamic"
            )
        if not dynamic and static != size:
            raise VerifyException(f"collapsed dim size ({size}) must equal reassociation group size ({static})")
    if next_dimension != expanded.get_num_dims():
        raise VerifyException(
            f"expanded rank ({expanded.get_num_dims()}) inconsistent with number of reassociation indices "
            f"({next_dimension})"
        )


@derived_op_definition
class CollapseShapeOp(xdsl_memref.CollapseShapeOp):
    """Merge neighbouring dimensions."""

    src = operand_def(STRIDED)
    result = result_def(STRIDED)
    reassociation = prop_def(GROUPS)

    def verify_(self) -> None:
        source, result = memref_type(self.src), self.result.type
        _verify_reassociation(self.reassociation, result, source)
        expected = collapsed_type(source, result.get_shape(), self.reassociation)
        if expected is None:
            raise VerifyException("invalid source layout map or collapsing non-contiguous dims")
        if not _same_layout(expected, result):
            raise VerifyException(f"expected collapsed type to be {quoted(expected)} but found {quoted(result)}")


def _same_layout(expected: MemRefType, found: MemRefType) -> bool:
    """Whether two types are equal but for the way in which the layout is written."""
    # A strided layout may be written as a map or in its own syntax.
    return expected == found or (
        isinstance(expected.layout, NoneAttr) == isinstance(found.layout, NoneAttr)
        and strided_form(expected) == strided_form(found)
        and expected == MemRefType(found.element_type, found.shape, expected.layout, found.memory_space)
    )


def collapsed_type(source: MemRefType, shape: Sequence[int], reassociation: Groups) -> MemRefType | None:
    """`source` with dimensions merged to `shape`; None if they do not lie one after the other in memory."""
    if isinstance(source.layout, NoneAttr):
        return MemRefType(source.element_type, shape, source.layout, source.memory_space)
    form = strided_form(source)
    if form is None:
        return None
    sizes = source.get_shape()
    strides: list[int | None] = []
    for group in reassociation:
        dimensions = [index.value.data for index in group]
        # Strides of dimensions with one element mean nothing.
        innermost = next((d for d in reversed(dimensions) if sizes[d] != 1), dimensions[0])
        # MLIR leaves the stride unknown if it may belong to a dimension of one element.
        known = sizes[innermost] != DYNAMIC_INDEX or innermost == dimensions[0]
        stride = form.strides[innermost] if known else None
        strides.append(stride)
        for dimension in reversed(dimensions[1:]):
            stride = None if stride is None or sizes[dimension] == DYNAMIC_INDEX else stride * sizes[dimension]
            outer = form.strides[dimension - 1]
            # Unknown strides pass, as in MLIR: they may fit when the program runs.
            if sizes[dimension - 1] != 1 and stride is not None and outer is not None and stride != outer:
                return None
    return MemRefType(source.element_type, shape, StridedLayoutAttr(strides, form.offset), source.memory_space)


@derived_op_definition
class ExpandShapeOp(xdsl_memref.ExpandShapeOp):
    """Split dimensions."""

    src = operand_def(STRIDED)
    result = result_def(STRIDED)
    reassociation = prop_def(GROUPS)

    def verify_(self) -> None:
        source, result = memref_type(self.src), self.result.type
        sizes = self.static_output_shape.get_values()
        _verify_reassociation(self.reassociation, source, result)
        if len(sizes) != result.get_num_dims():
            raise VerifyException(
                "expected number of static shape bounds to be equal to the output rank "
                f"({result.get_num_dims()}) but found {len(sizes)} inputs instead"
            )
        if len(self.output_shape) != sizes.count(DYNAMIC_INDEX):
            raise VerifyException(
                "mismatch in dynamic dims in output_shape and static_output_shape: "
                f"static_output_shape has {sizes.count(DYNAMIC_INDEX)} dynamic dims while output_shape has "
                f"{len(self.output_shape)} values"
            )
        expected = expanded_type(source, result.get_shape(), self.reassociation)
        if not _same_layout(expected, result):
            raise VerifyException(f"expected expanded type to be {quoted(expected)} but found {quoted(result)}")
        for dimension, (size, extent) in enumerate(zip(sizes, result.get_shape(), strict=True)):
            if DYNAMIC_INDEX not in (size, extent) and size != extent:
                raise VerifyException(f"invalid output shape provided at pos {dimension}")


def expanded_type(source: MemRefType, shape: Sequence[int], reassociation: Groups) -> MemRefType:
    """`source`, whose layout is strided, with its dimensions split to `shape`."""
    form = strided_form(source)
    if form is None or isinstance(source.layout, NoneAttr):
        return MemRefType(source.element_type, shape, source.layout, source.memory_space)
    strides: list[int | None] = []
    for group, stride in zip(reassociation, form.strides, strict=True):
        inner: list[int | None] = []
        # From the innermost outwards, each stride times the extent inside it.
        for dimension in reversed([index.value.data for index in group]):
            inner.append(stride)
            extent = shape[dimension]
            stride = None if stride is None or extent == DYNAMIC_INDEX else stride * extent
        strides += reversed(inner)
    return MemRefType(source.element_type, shape, StridedLayoutAttr(strides, form.offset), source.memory_space)


@irdl_custom_directive
class Permutation(PartDirective):
    """A map without the keyword: `(d0, d1) -> (d1, d0)`."""

    map: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        names = parser.parse_comma_separated_list(PAREN, parser.parse_identifier)
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(PAREN, parser.parse_identifier)
        if any(name not in names for name in results):
            parser.raise_error("use of undeclared identifier", position)
        dimensions = tuple(AffineExpr.dimension(names.index(name)) for name in results)
        self.map.set(state, AffineMapAttr(AffineMap(len(names), 0, dimensions)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        order = cast(TransposeOp, op).order
        state.print_whitespace(printer)
        printer.print_string(f"({', '.join(f'd{i}' for i in range(len(order)))})")
        printer.print_string(f" -> ({', '.join(f'd{i}' for i in order)})")


@op_definition
class TransposeOp(IRDLOperation):
    """A buffer with its dimensions in another order."""

    name = "memref.transpose"
    source = operand_def(MemRefType)
    permutation = prop_def(AffineMapAttr)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    custom_directives = (Permutation, RankedMemRef)
    assembly_format = (
        "$source custom<Permutation>($permutation) attr-dict "
        "`:` custom<RankedMemRef>(type($source)) `to` custom<RankedMemRef>(type($result))"
    )

    @property
    def order(self) -> list[int]:
        """For each dimension of the result, that of the source."""
        return [cast(AffineDimExpr, expr).position for expr in self.permutation.data.results]

    def verify_(self) -> None:
        source, result, map = memref_type(self.source), self.result.type, self.permutation.data
        if not all(isinstance(e, AffineDimExpr) for e in map.results) or sorted(self.order) != [*range(map.num_dims)]:
            raise VerifyException("expected a permutation map")
        if map.num_dims != source.get_num_dims():
            raise VerifyException("expected a permutation map of same rank as the input")
        form = strided_form(source)
        if form is None:
            raise VerifyException("expected a strided source")
        # MLIR accepts every layout with the same strides.
        canonical = MemRefType(
            source.element_type,
            [source.get_shape()[i] for i in self.order],
            StridedLayoutAttr([form.strides[i] for i in self.order], form.offset),
            source.memory_space,
        )
        if (
            canonical.shape != result.shape
            or strided_form(canonical) != strided_form(result)
            or (canonical.element_type, canonical.memory_space) != (result.element_type, result.memory_space)
        ):
            raise VerifyException(
                f"result type {quoted(result)} is not equivalent to the canonical transposed input type "
                + quoted(canonical)
            )

    def result_names(self) -> Sequence[str | None]:
        return ("transpose",)


@op_definition
class ReshapeOp(IRDLOperation):
    """A contiguous buffer under a shape that another buffer holds."""

    name = "memref.reshape"
    source = operand_def(ANY_MEMREF)
    shape = operand_def(
        described(
            MemRefType.constr(SignlessIntegerConstraint | base(IndexType)),
            "1D memref of signless integer or index values",
            lambda type: type.get_num_dims() == 1,
        )
    )
    result = result_def(ANY_MEMREF)
    traits = traits_def(NoMemoryEffect())
    assembly_format = "$source `` `(` $shape `)` attr-dict `:` functional-type(operands, results)"

    def verify_(self) -> None:
        source, result = any_memref(self.source), any_memref(self.result)
        if source.element_type != result.element_type:
            raise VerifyException("element types of source and destination memref types should be the same")
        for what, type in (("source", source), ("result", result)):
            if is_ranked(type) and not is_contiguous(type):
                raise VerifyException(f"{what} memref type should have identity affine map")
        length = memref_type(self.shape).get_shape()[0]
        if is_ranked(result):
            # How many sizes there are must be known; an unranked result does not ask.
            if length == DYNAMIC_INDEX:
                raise VerifyException(
                    "cannot use shape operand with dynamic length to reshape to statically-ranked memref type"
                )
            if length != result.get_num_dims():
                raise VerifyException("length of shape operand differs from the result's memref rank")

    def result_names(self) -> Sequence[str | None]:
        return ("reshape",)
