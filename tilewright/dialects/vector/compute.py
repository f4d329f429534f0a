"""Arithmetic on whole vectors, masks, and printing."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects import vector as xdsl_vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerType,
    StringAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    RangeOf,
    VarConstraint,
    base,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import (
    TypedOperandsOp,
    parse_bare_operands,
    parse_optional_arrow_types,
    print_attributes,
    split_attributes,
)
from tilewright.dialects._type_directives import parse_type_of
from tilewright.dialects.vector.types import (
    ANY_VECTOR,
    FLOAT_VECTOR,
    MASK,
    CombiningKindAttr,
    CombiningKindFlag,
    IteratorType,
    IteratorTypeAttr,
    PrintPunctuation,
    PunctuationAttr,
    element_type,
    shape_of,
    vector_type,
)
from tilewright.ir.constraints import described
from tilewright.ir.shown import quoted

ADD = CombiningKindAttr(CombiningKindFlag.ADD)
KIND = described(base(CombiningKindAttr), "Kind of combining function for contractions and reductions")

# Sums and products are of both; these say by their names what they are of.
_INTEGER_KINDS = {"minui", "minsi", "maxui", "maxsi", "and", "or", "xor"}
_FLOAT_KINDS = {"minnumf", "maxnumf", "minimumf", "maximumf"}


def combines(kind: CombiningKindAttr, type: Attribute) -> bool:
    """Whether elements of a type can be combined in this way."""
    if kind.data in _FLOAT_KINDS:
        return isinstance(type, AnyFloat)
    if kind.data in _INTEGER_KINDS:
        return isinstance(type, IntegerType | IndexType)
    return isinstance(type, AnyFloat | IntegerType | IndexType)


@derived_op_definition
class FMAOp(xdsl_vector.FMAOp):
    """Multiply and add, with a single rounding."""

    T: ClassVar = VarConstraint("T", FLOAT_VECTOR)
    lhs = operand_def(T)
    rhs = operand_def(T)
    acc = operand_def(T)
    res = result_def(T)


@derived_op_definition
class ReductionOp(xdsl_vector.ReductionOp):
    """All elements of a vector combined into one."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    vector = operand_def(ANY_VECTOR)
    acc = opt_operand_def(T)
    dest = result_def(T)
    kind = prop_def(KIND)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        type = vector_type(self.vector)
        if type.element_type != self.dest.type:
            raise VerifyException("failed to verify that source operand and result have same element type")
        # Rank 0 passes: a vector of one element.
        if type.get_num_dims() > 1:
            raise VerifyException(f"unsupported reduction rank: {type.get_num_dims()}")
        # The doubled quotes are MLIR's.
        if not combines(self.kind, self.dest.type):
            raise VerifyException(f"unsupported reduction type '{quoted(self.dest.type)}' for kind '{self.kind.data}'")


@op_definition
class MultiDimReductionOp(IRDLOperation):
    """Some dimensions of a vector combined into one."""

    name = "vector.multi_reduction"
    T: ClassVar = VarConstraint("T", AnyAttr())
    source = operand_def(ANY_VECTOR)
    acc = operand_def(T)
    kind = prop_def(KIND)
    reduction_dims = prop_def(DenseArrayBase.constr(i64))
    dest = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$kind `,` $source `,` $acc $reduction_dims attr-dict `:` type($source) `to` type($dest)"

    def verify_(self) -> None:
        source, dest = vector_type(self.source), self.dest.type
        # All dimensions may be reduced: then the result is a scalar.
        reduced = set(self.reduction_dims.get_values())
        kept = tuple(size for dimension, size in enumerate(source.get_shape()) if dimension not in reduced)
        if kept != shape_of(dest) or source.element_type != element_type(dest):
            raise VerifyException(f"destination type {quoted(dest)} is incompatible with source type {quoted(source)}")


@op_definition
class OuterProductOp(IRDLOperation):
    """Each element of one vector times the other vector."""

    name = "vector.outerproduct"
    lhs = operand_def(ANY_VECTOR)
    rhs = operand_def()
    acc = opt_operand_def(ANY_VECTOR)
    kind = prop_def(KIND, default_value=ADD)
    result = result_def(ANY_VECTOR)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        operands = parse_bare_operands(parser)
        if len(operands) < 2:
            parser.raise_error("expected at least 2 operands", position)
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        left = parse_type_of(parser, VectorType)
        parser.parse_punctuation(",")
        right = parser.parse_type()
        # The right operand may be a scalar: then this is a scaled vector.
        scalable = cast(VectorType, right).scalable_dims.data if isinstance(right, VectorType) else ()
        result = VectorType(
            left.element_type,
            (*left.get_shape(), *shape_of(right)),
            ArrayAttr([*left.scalable_dims.data, *scalable]),
        )
        # The accumulator is optional and has the type of the result.
        types: list[Attribute] = [left, right, result]
        return cls.create(
            operands=parser.resolve_operands(operands, types[: len(operands)], position),
            result_types=[result],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)
        printer.print_string(", ")
        printer.print_attribute(self.rhs.type)

    def verify_(self) -> None:
        left, right, result = vector_type(self.lhs), self.rhs.type, self.result.type
        if left.get_num_dims() != 1:
            raise VerifyException("expected 1-d vector for operand #1")
        if len(shape_of(right)) > 1:
            raise VerifyException("expected 1-d vector for operand #2")
        if result.get_shape() != (*left.get_shape(), *shape_of(right)):
            raise VerifyException(f"expected {1 + len(shape_of(right))}-d vector result")
        if self.acc is not None and self.acc.type != result:
            raise VerifyException("expected operand #3 of same type as result type")
        if not combines(self.kind, result.element_type):
            raise VerifyException("unsupported outerproduct type")


INDEXING_MAPS = described(ArrayAttr.constr(RangeOf(base(AffineMapAttr))), "AffineMap array attribute")
ITERATOR_TYPES = described(ArrayAttr.constr(RangeOf(base(IteratorTypeAttr))), "Iterator type should be an enum.")


@op_definition
class ContractionOp(IRDLOperation):
    """Products of two vectors, summed over some dimensions."""

    name = "vector.contract"
    lhs = operand_def(ANY_VECTOR)
    rhs = operand_def(ANY_VECTOR)
    acc = operand_def()
    indexing_maps = prop_def(INDEXING_MAPS)
    iterator_types = prop_def(ITERATOR_TYPES)
    kind = prop_def(KIND, default_value=ADD)
    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        # Text has strings where memory has enum attributes; both are read.
        names = properties.get("iterator_types")
        if not isinstance(names, ArrayAttr):
            parser.raise_error("expected 'iterator_types' array attribute", position)
        iterators: list[IteratorTypeAttr] = []
        for name in cast("ArrayAttr[Attribute]", names):
            text = name.data if isinstance(name, StringAttr | IteratorTypeAttr) else str(name)
            if text not in tuple(IteratorType):
                parser.raise_error(f"unexpected iterator_type ({text})", position)
            iterators.append(IteratorTypeAttr(IteratorType(text)))
        properties["iterator_types"] = ArrayAttr(iterators)
        operands = parse_bare_operands(parser)
        if len(operands) != 3:
            parser.raise_error("expected 3 operands", position)
        # Attributes of other dialects stand behind the operands, in a second dictionary.
        attributes |= parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        left = parse_type_of(parser, VectorType)
        parser.parse_punctuation(",")
        right = parse_type_of(parser, VectorType)
        parser.parse_keyword("into")
        result = parser.parse_type()
        return cls.create(
            operands=parser.resolve_operands(operands, (left, right, result), position),
            result_types=[result],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        # MLIR prints strings here, and an enum attribute in the generic form.
        names = ArrayAttr(StringAttr(iterator.data) for iterator in self.iterator_types)
        traits: dict[str, Attribute] = {
            "indexing_maps": self.indexing_maps,
            "iterator_types": names,
            "kind": self.kind,
        }
        printer.print_string(" ")
        printer.print_attr_dict(traits)
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_attributes(printer, self, tuple(traits))
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)
        printer.print_string(", ")
        printer.print_attribute(self.rhs.type)
        printer.print_string(" into ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if self.acc.type != self.result.type:
            raise VerifyException("failed to verify that acc type matches result type")
        maps = [map.data for map in self.indexing_maps]
        iterators = [iterator.data for iterator in self.iterator_types]
        if len(maps) != 3:
            raise VerifyException("expected an indexing map for each vector operand")
        for number, (map, operand) in enumerate(zip(maps, self.operands, strict=True)):
            if map.num_symbols:
                raise VerifyException(f"expected indexing map {number} to have no symbols")
            if map.num_dims != len(iterators):
                raise VerifyException(f"expected indexing map {number} to have {len(iterators)} number of inputs")
            # A scalar accumulator has a map without results.
            if len(map.results) != len(shape_of(operand.type)):
                raise VerifyException(
                    f"expected indexing map {number} to have {len(shape_of(operand.type))} number of outputs"
                )
            if not map.is_projected_permutation():
                raise VerifyException(f"expected indexing map {number} to be a projected permutation of its inputs")
        self._verify_dimensions(maps, iterators)
        if not combines(self.kind, element_type(self.result.type)):
            raise VerifyException("unsupported contraction type")

    @property
    def dimensions(self) -> list[list[int]]:
        """The dimensions of the iteration space that each operand has, in its order."""
        maps = [map.data.results for map in self.indexing_maps]
        return [[cast(AffineDimExpr, result).position for result in results] for results in maps]

    @property
    def sizes(self) -> dict[int, int]:
        """Of the iteration space, by dimension."""
        shapes = [shape_of(operand.type) for operand in self.operands]
        return {
            dimension: size
            for dimensions, shape in zip(self.dimensions, shapes, strict=True)
            for dimension, size in zip(dimensions, shape, strict=True)
        }

    def _verify_dimensions(self, maps: Sequence[Any], iterators: Sequence[IteratorType]) -> None:
        # Of each dimension of the iteration space, as each operand sees it.
        sizes = [
            {
                cast(AffineDimExpr, result).position: size
                for result, size in zip(map.results, shape_of(op.type), strict=True)
            }
            for map, op in zip(maps, self.operands, strict=True)
        ]
        left, right, result = sizes
        contracting = [d for d, kind in enumerate(iterators) if kind is IteratorType.REDUCTION]
        # Without one it would be an outer product, which has an operation of its own.
        if not any(d in left and d in right for d in contracting):
            raise VerifyException("expected at least one contracting dimension pair")
        for dimension in contracting:
            if left.get(dimension) != right.get(dimension):
                raise VerifyException("invalid contracting dimension map")
        for dimension in set(left) & set(right) & set(result):
            if left[dimension] != right[dimension]:
                raise VerifyException("invalid batch dimension map")
        for dimension, size in result.items():
            if size != left.get(dimension, right.get(dimension)):
                raise VerifyException("invalid accumulator/result vector shape")


@op_definition
class ConstantMaskOp(IRDLOperation):
    """A mask whose first elements are set."""

    name = "vector.constant_mask"
    mask_dim_sizes = prop_def(DenseArrayBase.constr(i64))
    result = result_def(MASK)
    traits = traits_def(Pure())
    assembly_format = "$mask_dim_sizes attr-dict `:` type($result)"

    def verify_(self) -> None:
        sizes, shape = self.mask_dim_sizes.get_values(), self.result.type.get_shape()
        if shape and len(sizes) != len(shape):
            raise VerifyException("must specify array attr of size equal vector result rank")
        if any(not 0 <= size <= limit for size, limit in zip(sizes, shape, strict=False)):
            raise VerifyException("array attr of size out of bounds of vector result dimension size")
        # One empty dimension makes the mask empty: MLIR wants that written in one way only.
        if any(sizes) and not all(sizes):
            raise VerifyException(
                "expected all mask dim sizes to be zeros, as a result of conjunction with zero mask dim"
            )


@derived_op_definition
class CreateMaskOp(xdsl_vector.CreateMaskOp):
    """A mask of which so many first elements are set."""

    mask_vector = result_def(MASK)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        # A mask of rank 0 takes one operand too.
        if len(self.operands) != max(1, len(shape_of(self.mask_vector.type))):
            raise VerifyException("must specify an operand for each result vector dimension")


@op_definition
class YieldOp(TypedOperandsOp):
    """The results of the operation inside a `vector.mask`."""

    name = "vector.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())


@op_definition
class MaskOp(IRDLOperation):
    """An operation that acts only where a mask is set."""

    name = "vector.mask"
    mask = operand_def(MASK)
    passthru = opt_operand_def()
    res = var_result_def()
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        mask = parser.parse_unresolved_operand()
        other = parser.parse_unresolved_operand() if parser.parse_optional_punctuation(",") is not None else None
        # The terminator is never written.
        body = _yielding(parser.parse_region())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operands: list[SSAValue] = [parser.resolve_operand(mask, parse_type_of(parser, VectorType))]
        types = parse_optional_arrow_types(parser)
        if other is not None:
            operands.append(parser.resolve_operand(other, types[0]))
        return cls.create(operands=operands, result_types=types, regions=[body], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(" { ")
        if self.masked is not None:
            printer.print_string(self.masked.name)
            # On one line and without results: those of the mask are the same.
            self.masked.print(printer)
        printer.print_string(" }")
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.mask.type)
        if self.results:
            printer.print_string(" -> ")
            printer.print_list(self.result_types, printer.print_attribute)

    @property
    def masked(self) -> Operation | None:
        """The operation inside, if there is one."""
        # A mask may be empty: then there is its terminator only.
        first = self.body.block.first_op
        return None if isinstance(first, YieldOp) else first

    def verify_regions(self) -> None:
        end = self.body.block.last_op
        if not isinstance(end, YieldOp):
            raise VerifyException("expects a terminator within the mask region")
        if tuple(end.operand_types) != tuple(self.result_types):
            raise VerifyException("expects result type to match maskable operation result type")
        # The operation and its terminator.
        if len(self.body.block.ops) > 2:
            raise VerifyException("expects only one operation to mask")


def _yielding(body: Region) -> Region:
    """The body of a mask with a terminator that hands on what its operation gives."""
    block = body.block if body.blocks else None
    if block is not None and not isinstance(block.last_op, YieldOp):
        block.add_op(YieldOp.create(operands=block.last_op.results if block.last_op else ()))
    return body


@op_definition
class StepOp(IRDLOperation):
    """The vector 0, 1, 2, ..."""

    name = "vector.step"
    result = result_def(
        described(
            VectorType.constr(IndexType()), "vector of index values of ranks 1", lambda type: type.get_num_dims() == 1
        )
    )
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"


@op_definition
class VectorScaleOp(IRDLOperation):
    """By how much scalable vectors are longer than they are written."""

    name = "vector.vscale"
    res = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict"

    def result_names(self) -> Sequence[str | None]:
        return ("vscale",)


NEWLINE = PunctuationAttr(PrintPunctuation.NEWLINE)


@derived_op_definition
class PrintOp(xdsl_vector.PrintOp):
    """Write a value, a text or a punctuation mark to the standard output."""

    source = opt_operand_def()
    punctuation = prop_def(PunctuationAttr, default_value=NEWLINE)
    # In MLIR the order of the two words is free; it prints them in this one.
    string_literal = opt_prop_def(StringAttr, prop_name="stringLiteral")
    assembly_format = "($source^ `:` type($source))? (`str` $stringLiteral^)? (`punctuation` $punctuation^)? attr-dict"
