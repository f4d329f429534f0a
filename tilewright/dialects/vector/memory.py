"""Vectors to and from memory."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects import vector as xdsl_vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    IndexType,
    MemRefType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    RangeOf,
    base,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import (
    INDEX,
    SQUARE,
    parse_operands,
    print_attributes,
    print_operands,
    resolve_all,
    segments,
    split_attributes,
)
from tilewright.dialects.memref.types import ALIGNMENT, FALSE, memref_type
from tilewright.dialects.vector.types import (
    ANY_VECTOR,
    INDEX_VECTOR,
    MASK,
    SHAPED,
    bitwidth,
    vector_type,
)
from tilewright.ir.constraints import described
from tilewright.ir.shown import shown


def _verify_indices(base: SSAValue, indices: int) -> None:
    rank = cast("MemRefType | TensorType", base.type).get_num_dims()
    if indices != rank:
        raise VerifyException(f"requires {rank} indices")


@derived_op_definition
class LoadOp(xdsl_vector.LoadOp):
    """Read neighbouring elements of a buffer."""

    base = operand_def(MemRefType)
    result = result_def(ANY_VECTOR)
    nontemporal = opt_prop_def(BoolAttr, default_value=FALSE)
    alignment = opt_prop_def(ALIGNMENT)
    traits = traits_def(MemoryReadEffect())

    def verify_(self) -> None:
        memory, vector = memref_type(self.base), self.result.type
        if memory.element_type not in (vector.element_type, vector):
            raise VerifyException("base and result element types should match")
        _verify_indices(self.base, len(self.indices))


@derived_op_definition
class StoreOp(xdsl_vector.StoreOp):
    """Write neighbouring elements of a buffer."""

    vector = operand_def(ANY_VECTOR)
    base = operand_def(MemRefType)
    nontemporal = opt_prop_def(BoolAttr, default_value=FALSE)
    alignment = opt_prop_def(ALIGNMENT)
    traits = traits_def(MemoryWriteEffect())

    def verify_(self) -> None:
        memory, vector = memref_type(self.base), vector_type(self.vector)
        if memory.element_type not in (vector.element_type, vector):
            raise VerifyException("base and valueToStore element type should match")
        _verify_indices(self.base, len(self.indices))


# Operands are base, indices, mask and what masked elements become; only the indices vary in number.
class _MaskedRead(IRDLOperation):
    """Reads where a mask is set, and takes the other elements from a vector."""

    def verify_(self) -> None:
        base, *middle, mask, pass_through = self.operands
        vector = cast(VectorType, self.results[0].type)
        if memref_type(base).element_type != vector.element_type:
            raise VerifyException("base and result element type should match")
        _verify_indices(base, len(middle))
        if vector_type(mask).shape != vector.shape:
            raise VerifyException("expected result shape to match mask shape")
        if pass_through.type != vector:
            raise VerifyException("expected pass_thru of same type as result type")


class _MaskedWrite(IRDLOperation):
    """Writes where a mask is set."""

    def verify_(self) -> None:
        base, *middle, mask, value = self.operands
        vector = vector_type(value)
        if memref_type(base).element_type != vector.element_type:
            raise VerifyException("base and valueToStore element type should match")
        _verify_indices(base, len(middle))
        if vector_type(mask).shape != vector.shape:
            raise VerifyException("expected valueToStore shape to match mask shape")


_READ_FORMAT = (
    "$base `[` $indices `]` `,` $mask `,` $pass_thru attr-dict `:` "
    "type($base) `,` type($mask) `,` type($pass_thru) `into` type($result)"
)
_WRITE_FORMAT = (
    "$base `[` $indices `]` `,` $mask `,` $value_to_store attr-dict `:` "
    "type($base) `,` type($mask) `,` type($value_to_store)"
)


@derived_op_definition
class MaskedLoadOp(_MaskedRead, xdsl_vector.MaskedLoadOp):
    """Read the elements of a buffer for which a mask is set."""

    mask = operand_def(MASK)
    pass_thru = operand_def(ANY_VECTOR)
    result = result_def(ANY_VECTOR)
    alignment = opt_prop_def(ALIGNMENT)
    traits = traits_def(MemoryReadEffect())
    assembly_format = _READ_FORMAT


@derived_op_definition
class MaskedStoreOp(_MaskedWrite, xdsl_vector.MaskedStoreOp):
    """Write the elements of a vector for which a mask is set."""

    mask = operand_def(MASK)
    value_to_store = operand_def(ANY_VECTOR)
    alignment = opt_prop_def(ALIGNMENT)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = _WRITE_FORMAT


@op_definition
class ExpandLoadOp(_MaskedRead):
    """Read consecutive elements into the places where a mask is set."""

    name = "vector.expandload"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    mask = operand_def(MASK)
    pass_thru = operand_def(ANY_VECTOR)
    result = result_def(ANY_VECTOR)
    alignment = opt_prop_def(ALIGNMENT)
    traits = traits_def(MemoryReadEffect())
    assembly_format = _READ_FORMAT


@op_definition
class CompressStoreOp(_MaskedWrite):
    """Write the elements for which a mask is set one after the other."""

    name = "vector.compressstore"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    mask = operand_def(MASK)
    value_to_store = operand_def(ANY_VECTOR)
    alignment = opt_prop_def(ALIGNMENT)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = _WRITE_FORMAT


@op_definition
class GatherOp(IRDLOperation):
    """Read elements from the places that a vector of indices gives."""

    name = "vector.gather"
    base = operand_def(SHAPED)
    offsets = var_operand_def(IndexType)
    indices = operand_def(INDEX_VECTOR)
    mask = operand_def(MASK)
    pass_thru = operand_def(ANY_VECTOR)
    result = result_def(ANY_VECTOR)
    alignment = opt_prop_def(ALIGNMENT)
    traits = traits_def(MemoryReadEffect())
    assembly_format = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru attr-dict `:` "
        "type($base) `,` type($indices) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )

    def verify_(self) -> None:
        memory, vector = cast("MemRefType | TensorType", self.base.type), self.result.type
        if memory.element_type != vector.element_type:
            raise VerifyException("base and result element type should match")
        _verify_indices(self.base, len(self.offsets))
        if vector.shape != vector_type(self.indices).shape:
            raise VerifyException("expected result dim to match indices dim")
        if vector.shape != vector_type(self.mask).shape:
            raise VerifyException("expected result dim to match mask dim")
        if self.pass_thru.type != vector:
            raise VerifyException("expected pass_thru of same type as result type")


@op_definition
class ScatterOp(IRDLOperation):
    """Write elements to the places that a vector of indices gives."""

    name = "vector.scatter"
    base = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(INDEX_VECTOR)
    mask = operand_def(MASK)
    value_to_store = operand_def(ANY_VECTOR)
    alignment = opt_prop_def(ALIGNMENT)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $value_to_store attr-dict `:` "
        "type($base) `,` type($indices) `,` type($mask) `,` type($value_to_store)"
    )

    def verify_(self) -> None:
        memory, vector = memref_type(self.base), vector_type(self.value_to_store)
        if memory.element_type != vector.element_type:
            raise VerifyException("base and valueToStore element type should match")
        _verify_indices(self.base, len(self.offsets))
        if vector.shape != vector_type(self.indices).shape:
            raise VerifyException("expected valueToStore dim to match indices dim")
        if vector.shape != vector_type(self.mask).shape:
            raise VerifyException("expected valueToStore dim to match mask dim")


IN_BOUNDS = described(ArrayAttr.constr(RangeOf(base(BoolAttr))), "1-bit boolean array attribute")


class _Transfer(IRDLOperation):
    """Transfers between a vector and a part of a buffer or tensor, with any order of dimensions."""

    @classmethod
    def parse_tail(
        cls, parser: Parser, mask: UnresolvedOperand | None, shaped_first: bool
    ) -> tuple[TensorType | MemRefType, VectorType, list[SSAValue], dict[str, Attribute], dict[str, Attribute]]:
        """`{attributes} : types`, with the defaults of the attributes and the mask that they imply."""
        # MLIR reads properties from the dictionary, though it prints only those that differ from defaults.
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        position = parser.pos
        first = parser.parse_type()
        parser.parse_punctuation(",")
        second = parser.parse_type()
        # Types stand in the order of the data's way: from the first to the second.
        shaped, vector = (first, second) if shaped_first else (second, first)
        if not isinstance(shaped, MemRefType | TensorType):
            parser.raise_error("requires memref or ranked tensor type", position)
        if not isinstance(vector, VectorType):
            parser.raise_error("requires vector type", position)
        shaped, vector = cast("MemRefType | TensorType", shaped), cast(VectorType, vector)
        # The default takes the innermost dimensions in order.
        map = properties.get("permutation_map")
        if map is None:
            map = AffineMapAttr(xdsl_vector.VectorTransferOperation.get_transfer_minor_identity_map(shaped, vector))
        if not isinstance(map, AffineMapAttr):
            parser.raise_error("expected an affine map as 'permutation_map'", position)
        properties["permutation_map"] = map
        # The safe assumption: no dimension is known to stay in bounds.
        properties.setdefault("in_bounds", ArrayAttr([FALSE] * len(map.data.results)))
        masks: list[SSAValue] = []
        if mask is not None:
            # Elements that are vectors themselves are transferred whole.
            if isinstance(shaped.element_type, VectorType):
                parser.raise_error("does not support masks with vector element type", mask.span)
            if vector.get_num_dims() != len(map.data.results):
                parser.raise_error(
                    "expected the same rank for the vector and the results of the permutation map", position
                )
            masks = [parser.resolve_operand(mask, mask_type(vector, map.data))]
        return shaped, vector, masks, properties, attributes

    def print_tail(self, printer: Printer, types: tuple[Attribute, Attribute]) -> None:
        map = cast(AffineMapAttr, self.properties["permutation_map"])
        in_bounds = cast("ArrayAttr[BoolAttr]", self.properties["in_bounds"])
        # What follows from the types.
        elided: list[str] = []
        if map.data.is_minor_identity():
            elided.append("permutation_map")
        if not any(bound.value.data for bound in in_bounds):
            elided.append("in_bounds")
        print_attributes(printer, self, elided)
        printer.print_string(" : ")
        printer.print_attribute(types[0])
        printer.print_string(", ")
        printer.print_attribute(types[1])

    def verify_transfer(self, source: SSAValue, vector: VectorType, mask: SSAValue | None) -> None:
        shaped = cast("MemRefType | TensorType", source.type)
        map = cast(AffineMapAttr, self.properties["permutation_map"]).data
        in_bounds = cast("ArrayAttr[BoolAttr]", self.properties["in_bounds"])
        if not isinstance(shaped.element_type, VectorType):
            inner = bitwidth(shaped.element_type)
            outer = bitwidth(vector.element_type)
            # A vector of rank 0 has one element.
            minor = vector.get_shape()[-1] if vector.get_num_dims() else 1
            # `index` has no width to compare.
            if inner and outer and (minor * outer) % inner:
                raise VerifyException(
                    "requires the bitwidth of the minor 1-D vector to be an integral multiple of the bitwidth of the "
                    "source element type"
                )
            if len(map.results) != vector.get_num_dims():
                raise VerifyException("requires a permutation_map with result dims of the same rank as the vector type")
        if map.num_symbols:
            raise VerifyException("requires permutation_map without symbols")
        if map.num_dims != shaped.get_num_dims():
            raise VerifyException("requires a permutation_map with input dims of the same rank as the source type")
        _verify_permutation(map)
        if mask is not None and mask.type != mask_type(vector, map):
            raise VerifyException(
                f"inferred mask type ({shown(mask_type(vector, map))}) and mask operand type ({shown(mask.type)}) "
                "don't match"
            )
        if len(in_bounds) != len(map.results):
            raise VerifyException(
                "expects the in_bounds attr of same rank as permutation_map results: "
                f"{shown(AffineMapAttr(map))} vs inBounds of size: {len(in_bounds)}"
            )


def mask_type(vector: VectorType, map: AffineMap) -> VectorType:
    """The type of the mask of a transfer: a bit for each dimension that is not broadcast, in the order of memory."""
    return xdsl_vector.VectorTransferOperation.infer_transfer_op_mask_type(vector, map)


def _verify_permutation(map: AffineMap) -> None:
    seen: set[int] = set()
    for result in map.results:
        # A dimension that is broadcast; it has no bit in the mask.
        if isinstance(result, AffineConstantExpr) and result.value == 0:
            continue
        if not isinstance(result, AffineDimExpr):
            raise VerifyException(
                "requires a projected permutation_map (at most one dim or the zero constant can appear in each result)"
            )
        if result.position in seen:
            raise VerifyException(
                "requires a permutation_map that is a permutation (found one dim used more than once)"
            )
        seen.add(result.position)


@derived_op_definition
class TransferReadOp(_Transfer, xdsl_vector.TransferReadOp):
    """Read a part of a buffer or tensor into a vector."""

    source = operand_def(SHAPED)
    mask = opt_operand_def(MASK)
    in_bounds = prop_def(IN_BOUNDS)
    result = result_def(ANY_VECTOR)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        indices = parse_operands(parser, SQUARE)
        parser.parse_punctuation(",")
        padding = parser.parse_unresolved_operand()
        mask = parser.parse_unresolved_operand() if parser.parse_optional_punctuation(",") is not None else None
        shaped, vector, masks, properties, attributes = cls.parse_tail(parser, mask, shaped_first=True)
        # The mask is optional, so it is known by its segment.
        properties["operandSegmentSizes"] = segments(1, len(indices), 1, len(masks))
        return cls.create(
            operands=[
                parser.resolve_operand(source, shaped),
                *resolve_all(parser, indices, INDEX),
                parser.resolve_operand(padding, shaped.element_type),
                *masks,
            ],
            result_types=[vector],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        print_operands(printer, self.indices)
        printer.print_string(", ")
        printer.print_ssa_value(self.padding)
        if self.mask is not None:
            printer.print_string(", ")
            printer.print_ssa_value(self.mask)
        self.print_tail(printer, (self.source.type, self.result.type))

    def verify_(self) -> None:
        _verify_indices(self.source, len(self.indices))
        self.verify_transfer(self.source, self.result.type, self.mask)
        element = cast("MemRefType | TensorType", self.source.type).element_type
        if self.padding.type != element:
            raise VerifyException("requires formal padding and source of the same elemental type")


@derived_op_definition
class TransferWriteOp(_Transfer, xdsl_vector.TransferWriteOp):
    """Write a vector into a part of a buffer or tensor."""

    vector = operand_def(ANY_VECTOR)
    source = operand_def(SHAPED)
    mask = opt_operand_def(MASK)
    in_bounds = prop_def(IN_BOUNDS)
    result = opt_result_def(base(TensorType))
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        source = parser.parse_unresolved_operand()
        indices = parse_operands(parser, SQUARE)
        mask = parser.parse_unresolved_operand() if parser.parse_optional_punctuation(",") is not None else None
        shaped, vector, masks, properties, attributes = cls.parse_tail(parser, mask, shaped_first=False)
        properties["operandSegmentSizes"] = segments(1, 1, len(indices), len(masks))
        return cls.create(
            operands=[
                parser.resolve_operand(value, vector),
                parser.resolve_operand(source, shaped),
                *resolve_all(parser, indices, INDEX),
                *masks,
            ],
            # A tensor is a value: writing to it makes a new one.
            result_types=[shaped] if isinstance(shaped, TensorType) else [],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.vector)
        printer.print_string(", ")
        printer.print_ssa_value(self.source)
        print_operands(printer, self.indices)
        if self.mask is not None:
            printer.print_string(", ")
            printer.print_ssa_value(self.mask)
        self.print_tail(printer, (self.vector.type, self.source.type))

    def verify_(self) -> None:
        _verify_indices(self.source, len(self.indices))
        # Several elements would go to one place.
        if any(isinstance(result, AffineConstantExpr) for result in self.permutation_map.data.results):
            raise VerifyException("should not have broadcast dimensions")
        self.verify_transfer(self.source, vector_type(self.vector), self.mask)


@op_definition
class TypeCastOp(IRDLOperation):
    """A buffer of scalars, seen as a single vector."""

    name = "vector.type_cast"
    memref = operand_def(MemRefType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$memref attr-dict `:` type($memref) `to` type($result)"
