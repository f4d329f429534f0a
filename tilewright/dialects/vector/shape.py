"""Vectors taken apart, put together and rearranged."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar, cast

from xdsl.dialects import vector as xdsl_vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._mixed_indices import MixedIndices, verify_mixed
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import Integers
from tilewright.dialects._type_directives import AnyVector, TellingType, parse_type_of
from tilewright.dialects.vector.types import (
    ANY_VECTOR,
    I64_ARRAY,
    bitwidth,
    element_type,
    shape_of,
    vector_type,
)
from tilewright.ir.print_operations import PartDirective
from tilewright.ir.shown import quoted

POISON = -1
"""A position or mask entry whose element does not matter."""


@derived_op_definition
class BroadcastOp(xdsl_vector.BroadcastOp):
    """A vector made of copies of a scalar or of a smaller vector."""

    vector = result_def(ANY_VECTOR)

    def verify_(self) -> None:
        source, target = self.source.type, self.vector.type
        if element_type(source) != target.element_type:
            raise VerifyException("failed to verify that source operand and result have same element type")
        given, wanted = shape_of(source), target.get_shape()
        if len(given) > len(wanted):
            raise VerifyException("source rank higher than destination rank")
        # Aligned at the innermost dimension; ones are stretched.
        for have, want in zip(given, wanted[len(wanted) - len(given) :], strict=True):
            if have not in (1, want):
                raise VerifyException(f"dimension mismatch ({have} vs. {want})")


def _verify_position(position: Integers, type: VectorType, whose: str, poison: str) -> None:
    if len(position) > type.get_num_dims():
        raise VerifyException(f"expected position attribute of rank no greater than {whose}vector rank")
    for number, (index, size) in enumerate(zip(position.get_values(), type.get_shape(), strict=False), 1):
        # Poison makes the result poison, and is no error.
        if index != DYNAMIC_INDEX and index != POISON and not 0 <= index < size:
            raise VerifyException(
                f"expected position attribute #{number} to be a non-negative integer smaller than the corresponding "
                f"{whose}vector dimension{poison}"
            )


@derived_op_definition
class ExtractOp(xdsl_vector.ExtractOp):
    """An element or a sub-vector."""

    vector = operand_def(ANY_VECTOR)
    result = result_def()
    custom_directives = (MixedIndices, AnyVector)
    assembly_format = (
        "$vector `` custom<MixedIndices>($dynamic_position, $static_position) attr-dict "
        "`:` type($result) `from` custom<AnyVector>(type($vector))"
    )

    def verify_(self) -> None:
        type = vector_type(self.vector)
        verify_mixed(self.dynamic_position, self.static_position, "position")
        _verify_position(self.static_position, type, "", " or poison (-1)")
        expected = sub_vector(type, len(self.static_position))
        # MLIR lets an element come out as a vector of rank 0.
        if expected != self.result.type and VectorType(type.element_type, ()) != self.result.type:
            raise VerifyException(
                f"inferred type(s) {quoted(expected)} are incompatible with return type(s) of operation "
                f"{quoted(self.result.type)}"
            )


def sub_vector(type: VectorType, depth: int) -> Attribute:
    """What is left of a vector type after so many leading dimensions: a smaller vector, or an element."""
    # A vector of rank 0 has no dimensions to leave out, and gives its element.
    if 0 < depth == type.get_num_dims() or type.get_num_dims() == 0:
        return type.element_type
    return VectorType(type.element_type, ArrayAttr(type.shape.data[depth:]), ArrayAttr(type.scalable_dims.data[depth:]))


class SameVector(TellingType):
    """The type of a vector, which is that of the result, too."""

    @classmethod
    def read(cls, parser: Parser) -> tuple[Attribute, Sequence[Attribute]]:
        type = parse_type_of(parser, VectorType)
        return type, (type,)


@derived_op_definition
class InsertOp(xdsl_vector.InsertOp):
    """A vector with an element or a sub-vector replaced."""

    source = operand_def()
    dest = operand_def(ANY_VECTOR)
    result = result_def(ANY_VECTOR)
    custom_directives = (MixedIndices, SameVector)
    assembly_format = (
        "$source `,` $dest custom<MixedIndices>($dynamic_position, $static_position) attr-dict "
        "`:` type($source) `into` custom<SameVector>(type($dest), type($result))"
    )

    def verify_(self) -> None:
        type, depth = vector_type(self.dest), len(self.static_position)
        if self.result.type != type:
            raise VerifyException("failed to verify that all of {dest, result} have same type")
        if depth > type.get_num_dims():
            raise VerifyException("expected position attribute of rank no greater than dest vector rank")
        # A scalar replaces one element, a vector as many dimensions as it has.
        rank = len(shape_of(self.source.type))
        if isinstance(self.source.type, VectorType):
            if rank + depth != type.get_num_dims():
                raise VerifyException("expected position attribute rank + source rank to match dest vector rank")
        elif depth != type.get_num_dims():
            raise VerifyException("expected position attribute rank to match the dest vector rank")
        verify_mixed(self.dynamic_position, self.static_position, "position")
        _verify_position(self.static_position, type, "dest ", "")


@op_definition
class ShapeCastOp(IRDLOperation):
    """The same elements in another shape."""

    name = "vector.shape_cast"
    source = operand_def(ANY_VECTOR)
    result = result_def(ANY_VECTOR)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def verify_(self) -> None:
        source, result = vector_type(self.source), self.result.type
        if source.element_type != result.element_type:
            raise VerifyException("has different source and result element types")
        if prod(source.get_shape()) != prod(result.get_shape()):
            raise VerifyException(
                f"has different number of elements at source ({prod(source.get_shape())}) and result "
                f"({prod(result.get_shape())})"
            )
        # A scalable size is a multiple of a number that is not known: only how many there are can be compared.
        if sum(source.get_scalable_dims()) != sum(result.get_scalable_dims()):
            raise VerifyException(
                f"has different number of scalable dims at source ({sum(source.get_scalable_dims())}) and result "
                f"({sum(result.get_scalable_dims())})"
            )


@derived_op_definition
class BitcastOp(xdsl_vector.BitcastOp):
    """The same bits as elements of another width."""

    source = operand_def(ANY_VECTOR)
    result = result_def(ANY_VECTOR)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        source, result = vector_type(self.source), self.result.type
        if source.get_num_dims() != result.get_num_dims():
            raise VerifyException("failed to verify that all of {source, result} have same rank")
        for dimension, (have, want) in enumerate(zip(source.get_shape()[:-1], result.get_shape()[:-1], strict=True)):
            if have != want:
                raise VerifyException(f"dimension size mismatch at: {dimension}")
        if _minor_bits(source) != _minor_bits(result):
            raise VerifyException("source/result bitwidth of the minor 1-D vectors must be equal")


def _minor_bits(type: VectorType) -> tuple[int | None, int]:
    """Bits in the innermost row; where the element has no width, None and the number of elements."""
    width, length = bitwidth(type.element_type), type.get_shape()[-1] if type.get_num_dims() else 1
    # `index` elements: as many of them is as much as can be said.
    return (None, length) if width is None else (width * length, 0)


def _integers(array: ArrayAttr[IntegerAttr]) -> list[int]:
    return [entry.value.data for entry in array]


def _verify_confined(values: Sequence[int], limits: Sequence[int], what: str, low: int = 0) -> None:
    # Fewer values than dimensions: the innermost ones are taken whole.
    for dimension, (value, limit) in enumerate(zip(values, limits, strict=False)):
        if not low <= value < limit:
            raise VerifyException(f"expected {what} dimension {dimension} to be confined to [{low}, {limit})")


@op_definition
class ExtractStridedSliceOp(IRDLOperation):
    """A part of a vector of the same rank."""

    name = "vector.extract_strided_slice"
    source = operand_def(ANY_VECTOR)
    offsets = prop_def(I64_ARRAY)
    sizes = prop_def(I64_ARRAY)
    strides = prop_def(I64_ARRAY)
    result = result_def(ANY_VECTOR)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def verify_(self) -> None:
        type = vector_type(self.source)
        offsets, sizes, strides = _integers(self.offsets), _integers(self.sizes), _integers(self.strides)
        if not len(offsets) == len(sizes) == len(strides):
            raise VerifyException("expected offsets, sizes and strides attributes of same size")
        for name, values in (("offsets", offsets), ("sizes", sizes), ("strides", strides)):
            if len(values) > type.get_num_dims():
                raise VerifyException(f"expected {name} attribute of rank no greater than vector rank")
        shape = type.get_shape()
        _verify_confined(offsets, shape, "offsets")
        _verify_confined(sizes, [size + 1 for size in shape], "sizes", 1)
        if any(stride != 1 for stride in strides):
            raise VerifyException("expected strides to be confined to [1, 2)")
        ends = [offset + size for offset, size in zip(offsets, sizes, strict=True)]
        _verify_confined(ends, [size + 1 for size in shape], "sum(offsets, sizes)", 1)
        expected = VectorType(
            type.element_type,
            ArrayAttr([*(IntAttr(size) for size in sizes), *type.shape.data[len(sizes) :]]),
            type.scalable_dims,
        )
        if self.result.type != expected:
            raise VerifyException(f"expected result type to be {quoted(expected)}")


@op_definition
class InsertStridedSliceOp(IRDLOperation):
    """A vector with a part of it replaced."""

    name = "vector.insert_strided_slice"
    T: ClassVar = VarConstraint("T", ANY_VECTOR)
    value_to_store = operand_def(ANY_VECTOR)
    dest = operand_def(T)
    offsets = prop_def(I64_ARRAY)
    strides = prop_def(I64_ARRAY)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$value_to_store `,` $dest attr-dict `:` type($value_to_store) `into` type($dest)"

    def verify_(self) -> None:
        source, dest = vector_type(self.value_to_store), vector_type(self.dest)
        offsets, strides = _integers(self.offsets), _integers(self.strides)
        if len(offsets) != dest.get_num_dims():
            raise VerifyException("expected offsets of same size as destination vector rank")
        if len(strides) != source.get_num_dims():
            raise VerifyException("expected strides of same size as source vector rank")
        if source.get_num_dims() > dest.get_num_dims():
            raise VerifyException("expected source rank to be no greater than destination rank")
        _verify_confined(offsets, dest.get_shape(), "offsets")
        if any(stride != 1 for stride in strides):
            raise VerifyException("expected strides to be confined to [1, 2)")
        # Outer dimensions that the source does not have count as empty.
        padded = (0,) * (dest.get_num_dims() - source.get_num_dims()) + source.get_shape()
        ends = [offset + size for offset, size in zip(offsets, padded, strict=True)]
        _verify_confined(ends, [size + 1 for size in dest.get_shape()], "sum(offsets, source vector shape)", 1)


@irdl_custom_directive
class ShuffledVectors(PartDirective):
    """The types of both vectors, which tell that of as many rows as are listed."""

    first: TypeDirective
    second: TypeDirective
    result: TypeDirective
    rows: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        first = parse_type_of(parser, VectorType)
        parser.parse_punctuation(",")
        self.first.set(state, (first,))
        self.second.set(state, (parse_type_of(parser, VectorType),))
        rows = cast(Integers, state.properties[self.rows.name])
        self.result.set(state, (shuffled_type(first, len(rows)),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_list(op.operand_types, printer.print_attribute)


@derived_op_definition
class ShuffleOp(xdsl_vector.ShuffleOp):
    """Rows of two vectors in a given order."""

    v1 = operand_def(ANY_VECTOR)
    v2 = operand_def(ANY_VECTOR)
    mask = prop_def(DenseArrayBase.constr(i64))
    result = result_def(ANY_VECTOR)
    traits = traits_def(Pure())
    custom_directives = (ShuffledVectors,)
    assembly_format = (
        "$v1 `,` $v2 $mask attr-dict `:` custom<ShuffledVectors>(type($v1), type($v2), type($result), ref($mask))"
    )

    def verify_(self) -> None:
        first, second, result = vector_type(self.v1), vector_type(self.v2), self.result.type
        if not first.get_num_dims() == second.get_num_dims() == result.get_num_dims() and first.get_num_dims():
            raise VerifyException("rank mismatch")
        for dimension in range(1, first.get_num_dims()):
            if first.get_shape()[dimension] != second.get_shape()[dimension]:
                raise VerifyException("dimension mismatch")
        mask = self.mask.get_values()
        if not mask:
            raise VerifyException("invalid mask length")
        # Both operands one after the other; of rank 0 each is one row.
        rows = sum(type.get_shape()[0] if type.get_num_dims() else 1 for type in (first, second))
        for number, row in enumerate(mask, 1):
            if row != POISON and not 0 <= row < rows:
                raise VerifyException(f"mask index #{number} out of range")


def shuffled_type(type: VectorType, rows: int) -> VectorType:
    """The type of so many rows of a vector."""
    return VectorType(
        type.element_type,
        ArrayAttr([IntAttr(rows), *type.shape.data[1:]]),
        # The number of rows is that of the mask, so it is fixed.
        ArrayAttr([BoolAttr.from_bool(False), *type.scalable_dims.data[1:]]),
    )


@op_definition
class TransposeOp(IRDLOperation):
    """A vector with its dimensions in another order."""

    name = "vector.transpose"
    vector = operand_def(ANY_VECTOR)
    permutation = prop_def(DenseArrayBase.constr(i64))
    result = result_def(ANY_VECTOR)
    traits = traits_def(Pure())
    assembly_format = "$vector `,` $permutation attr-dict `:` type($vector) `to` type($result)"

    def verify_(self) -> None:
        source, result, order = vector_type(self.vector), self.result.type, self.permutation.get_values()
        if source.get_num_dims() != result.get_num_dims():
            raise VerifyException(f"vector result rank mismatch: {result.get_num_dims()}")
        if len(order) != source.get_num_dims():
            raise VerifyException(f"transposition length mismatch: {len(order)}")
        # In the order of the errors that MLIR gives for one permutation.
        seen: set[int] = set()
        for dimension, position in enumerate(order):
            if not 0 <= position < source.get_num_dims():
                raise VerifyException(f"transposition index out of range: {position}")
            if position in seen:
                raise VerifyException(f"duplicate position index: {position}")
            seen.add(position)
            if result.get_shape()[dimension] != source.get_shape()[position]:
                raise VerifyException(f"dimension size mismatch at: {position}")


class VectorOfElements(TellingType):
    """The type of a vector, which tells those of its elements in row-major order."""

    @classmethod
    def read(cls, parser: Parser) -> tuple[Attribute, Sequence[Attribute]]:
        type = parse_type_of(parser, VectorType)
        return type, [type.element_type] * prod(type.get_shape())


@irdl_custom_directive
class CountedElements(PartDirective):
    """The same for elements that are written, without types: their number is compared with the shape."""

    vector: TypeDirective
    elements: TypeDirective
    operands: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        position = parser.pos
        type, types = VectorOfElements.read(parser)
        count = len(state.operands[self.operands.index] or ())
        if count != len(types):
            parser.raise_error(
                f"number of operands and types do not match: got {count} operands and {len(types)} types", position
            )
        self.vector.set(state, (type,))
        self.elements.set(state, types)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.vector.print(printer, state, op)


@op_definition
class FromElementsOp(IRDLOperation):
    """A vector made of scalars."""

    name = "vector.from_elements"
    elements = var_operand_def()
    dest = result_def(ANY_VECTOR)
    traits = traits_def(Pure())
    custom_directives = (CountedElements,)
    assembly_format = "$elements attr-dict `:` custom<CountedElements>(type($dest), type($elements), ref($elements))"

    def verify_(self) -> None:
        if list(self.operand_types) != [self.dest.type.element_type] * prod(self.dest.type.get_shape()):
            raise VerifyException("failed to verify that shaped type 'dest' matches 'elements' element count and types")


@op_definition
class ToElementsOp(IRDLOperation):
    """All the scalars of a vector."""

    name = "vector.to_elements"
    source = operand_def(ANY_VECTOR)
    elements = var_result_def()
    traits = traits_def(Pure())
    custom_directives = (VectorOfElements,)
    assembly_format = "$source attr-dict `:` custom<VectorOfElements>(type($source), type($elements))"

    def verify_(self) -> None:
        type = vector_type(self.source)
        if list(self.result_types) != [type.element_type] * prod(type.get_shape()):
            raise VerifyException(
                "failed to verify that shaped type 'source' matches 'elements' element count and types"
            )


@op_definition
class InterleaveOp(IRDLOperation):
    """The elements of two vectors by turns."""

    name = "vector.interleave"
    T: ClassVar = VarConstraint("T", ANY_VECTOR)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(ANY_VECTOR)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def verify_(self) -> None:
        if self.result.type != _resized(vector_type(self.lhs), 2, 1):
            raise VerifyException("failed to verify that type of 'result' is double the width of the inputs")


@op_definition
class DeinterleaveOp(IRDLOperation):
    """The elements at even places and those at odd ones."""

    name = "vector.deinterleave"
    T: ClassVar = VarConstraint("T", ANY_VECTOR)
    source = operand_def(ANY_VECTOR)
    res1 = result_def(T)
    res2 = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($res1)"

    def verify_(self) -> None:
        source = vector_type(self.source)
        # Before the result types, which could not be right.
        if source.get_shape()[-1] % 2:
            raise VerifyException(
                "failed to verify that the trailing dimension of the source vector has an even number of elements"
            )
        if self.res1.type != _resized(source, 1, 2):
            raise VerifyException("failed to verify that type of results is half the width of the input")

    def result_names(self) -> Sequence[str | None]:
        return ("res1", "res2")


def _resized(type: VectorType, multiply: int, divide: int) -> VectorType:
    """A vector type with the innermost dimension made longer or shorter."""
    # Interleaving is along the innermost dimension.
    *outer, last = type.get_shape()
    return VectorType(type.element_type, (*outer, last * multiply // divide), type.scalable_dims)


class _Scalable(IRDLOperation):
    """Operations on a fixed-length part of a scalable vector, at a constant position."""

    pos = prop_def(IntegerAttr.constr(i64))

    @property
    def position(self) -> int:
        return self.pos.value.data


@op_definition
class ScalableExtractOp(_Scalable):
    """A fixed-length part of a scalable vector."""

    name = "vector.scalable.extract"
    source = operand_def(ANY_VECTOR)
    res = result_def(ANY_VECTOR)
    traits = traits_def(Pure())
    assembly_format = "$source `[` $pos `]` attr-dict `:` type($res) `from` type($source)"


@op_definition
class ScalableInsertOp(_Scalable):
    """A scalable vector with a fixed-length part replaced."""

    name = "vector.scalable.insert"
    T: ClassVar = VarConstraint("T", ANY_VECTOR)
    value_to_store = operand_def(ANY_VECTOR)
    dest = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$value_to_store `,` $dest `[` $pos `]` attr-dict `:` type($value_to_store) `into` type($dest)"
