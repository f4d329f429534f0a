"""Operations on the elements of a buffer."""
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import ClassVar, Self, cast

from xdsl.dialects import affine as xdsl_affine
from xdsl.dialects.builtin import (
    AffineMapAttr,
    BoolAttr,
    IndexType,
    MemRefType,
    VectorType,
)
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    MemoryReadEffect,
    MemoryWriteEffect,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._derived import derived_op_definition
from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import INDEX, parse_types, print_types
from tilewright.dialects._type_directives import AnyVector, RankedMemRef, TypeOfBuffer, parse_type_of
from tilewright.dialects.affine.subscripts import (
    MAP,
    AffineSubscripts,
    parse_subscripts,
    print_subscripts,
    verify_subscripts,
)
from tilewright.dialects.memref.access import CacheHint
from tilewright.dialects.memref.types import LOCALITY, memref_type


class _Access(IRDLOperation):
    """What reads and writes at affine subscripts have in common."""

    HAS_VALUE: ClassVar = False
    """Whether the operands begin with a value to be written."""
    HAS_VECTOR: ClassVar = False
    """Whether a vector's type stands behind the memref's."""

    def verify_(self) -> None:
        operands = list(self.operands)
        value = operands.pop(0) if self.HAS_VALUE else self.results[0]
        type = memref_type(operands.pop(0))
        if self.HAS_VECTOR:
            if cast(VectorType, value.type).element_type != type.element_type:
                raise VerifyException("requires memref and vector types of the same elemental type")
        elif value.type != type.element_type:
            what = "value to store must have the same type as memref element type"
            raise VerifyException(what if self.HAS_VALUE else "result type must match element type of memref")
        verify_subscripts(cast(AffineMapAttr, self.properties["map"]), type, operands)


@derived_op_definition
class LoadOp(_Access, xdsl_affine.LoadOp):
    """Read one element of a buffer."""

    memref = operand_def(MemRefType)
    result = result_def()
    traits = traits_def(MemoryReadEffect())
    custom_directives = (AffineSubscripts, TypeOfBuffer)
    assembly_format = (
        "$memref `` custom<AffineSubscripts>($indices, $map) attr-dict "
        "`:` custom<TypeOfBuffer>(type($memref), type($result))"
    )


@derived_op_definition
class StoreOp(_Access, xdsl_affine.StoreOp):
    """Write one element of a buffer."""

    HAS_VALUE: ClassVar = True
    value = operand_def()
    memref = operand_def(MemRefType)
    traits = traits_def(MemoryWriteEffect())
    custom_directives = (AffineSubscripts, TypeOfBuffer)
    assembly_format = (
        "$value `,` $memref `` custom<AffineSubscripts>($indices, $map) attr-dict "
        "`:` custom<TypeOfBuffer>(type($memref), type($value))"
    )


@derived_op_definition
class VectorLoadOp(_Access, xdsl_affine.VectorLoadOp):
    """Read neighbouring elements of a buffer into a vector."""

    HAS_VECTOR: ClassVar = True
    memref = operand_def(MemRefType)
    result = result_def(VectorType)
    traits = traits_def(MemoryReadEffect())
    custom_directives = (AffineSubscripts, RankedMemRef, AnyVector)
    assembly_format = (
        "$memref `` custom<AffineSubscripts>($indices, $map) attr-dict "
        "`:` custom<RankedMemRef>(type($memref)) `,` custom<AnyVector>(type($result))"
    )


@derived_op_definition
class VectorStoreOp(_Access, xdsl_affine.VectorStoreOp):
    """Write a vector into neighbouring elements of a buffer."""

    HAS_VALUE: ClassVar = True
    HAS_VECTOR: ClassVar = True
    value = operand_def(VectorType)
    memref = operand_def(MemRefType)
    traits = traits_def(MemoryWriteEffect())
    custom_directives = (AffineSubscripts, RankedMemRef, AnyVector)
    assembly_format = (
        "$value `,` $memref `` custom<AffineSubscripts>($indices, $map) attr-dict "
        "`:` custom<RankedMemRef>(type($memref)) `,` custom<AnyVector>(type($value))"
    )


@op_definition
class PrefetchOp(IRDLOperation):
    """A hint that an element will be used soon."""

    name = "affine.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    map = prop_def(MAP)
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(LOCALITY, prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")
    custom_directives = (AffineSubscripts, CacheHint, RankedMemRef)
    assembly_format = (
        "$memref `` custom<AffineSubscripts>($indices, $map) "
        "`,` custom<CacheHint>($isWrite, $localityHint, $isDataCache) attr-dict `:` custom<RankedMemRef>(type($memref))"
    )

    def verify_(self) -> None:
        verify_subscripts(self.map, memref_type(self.memref), self.indices)


@op_definition
class DmaStartOp(IRDLOperation):
    """Start a copy between memories; the tag tells when it is done."""

    name = "affine.dma_start"
    all_operands = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    MAPS: ClassVar = ("src_map", "dst_map", "tag_map")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffers: list[UnresolvedOperand] = []
        places: list[tuple[AffineMapAttr, list[SSAValue]]] = []
        for number in range(3):
            if number:
                parser.parse_punctuation(",")
            buffers.append(parser.parse_unresolved_operand())
            places.append(parse_subscripts(parser))
        rest: list[SSAValue] = []
        while parser.parse_optional_punctuation(",") is not None:
            rest.append(parser.parse_operand(INDEX))
        if len(rest) not in (1, 3):
            parser.raise_error("expected two stride related operands")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parse_types(parser)
        if len(types) != 3:
            parser.raise_error("expected three types", position)
        operands: list[SSAValue] = []
        for buffer, type, (_, indices) in zip(buffers, types, places, strict=True):
            operands += [parser.resolve_operand(buffer, type), *indices]
        # Attributes and not properties: MLIR never gave this operation a declared form.
        maps = {name: map for name, (map, _) in zip(cls.MAPS, places, strict=True)}
        return cls.create(operands=[*operands, *rest], attributes=attributes | maps)

    def _map(self, name: str) -> AffineMap:
        attribute = self.attributes.get(name)
        if not isinstance(attribute, AffineMapAttr):
            raise VerifyException(f"requires attribute '{name}'")
        return attribute.data

    @property
    def parts(self) -> tuple[list[list[SSAValue]], list[SSAValue]]:
        """Source, destination and tag, each with the operands of its map, and what follows them."""
        rest = list(self.operands)
        parts: list[list[SSAValue]] = []
        for name in self.MAPS:
            map = self._map(name)
            # The buffer and what its map is applied to.
            length = 1 + map.num_dims + map.num_symbols
            parts.append(rest[:length])
            del rest[:length]
        return parts, rest

    def print(self, printer: Printer) -> None:
        parts, rest = self.parts
        printer.print_string(" ")
        for number, (name, (buffer, *indices)) in enumerate(zip(self.MAPS, parts, strict=True)):
            if number:
                printer.print_string(", ")
            printer.print_ssa_value(buffer)
            print_subscripts(printer, AffineMapAttr(self._map(name)), indices)
        for operand in rest:
            printer.print_string(", ")
            printer.print_ssa_value(operand)
        # Without the maps, which the subscripts say.
        printer.print_op_attributes({k: v for k, v in self.attributes.items() if k not in self.MAPS})
        printer.print_string(" : ")
        print_types(printer, [part[0].type for part in parts])

    def verify_(self) -> None:
        parts, rest = self.parts
        for what, part in zip(("source", "destination", "tag"), parts, strict=True):
            if not part or not isinstance(part[0].type, MemRefType):
                raise VerifyException(f"expected DMA {what} to be of memref type")
            if any(index.type != INDEX for index in part[1:]):
                raise VerifyException(f"{what} index to dma_start must have 'index' type")
        if len(rest) not in (1, 3):
            raise VerifyException("incorrect number of operands")


@op_definition
class DmaWaitOp(IRDLOperation):
    """Wait for the copy that a tag stands for."""

    name = "affine.dma_wait"
    all_operands = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        tag = parser.parse_unresolved_operand()
        map, indices = parse_subscripts(parser)
        parser.parse_punctuation(",")
        count = parser.parse_operand(INDEX)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(tag, parse_type_of(parser, MemRefType))
        return cls.create(operands=[value, *indices, count], attributes=attributes | {"tag_map": map})

    def print(self, printer: Printer) -> None:
        tag, *indices, count = self.operands
        printer.print_string(" ")
        printer.print_ssa_value(tag)
        print_subscripts(printer, cast(AffineMapAttr, self.attributes["tag_map"]), indices)
        printer.print_string(", ")
        printer.print_ssa_value(count)
        printer.print_op_attributes({k: v for k, v in self.attributes.items() if k != "tag_map"})
        printer.print_string(" : ")
        printer.print_attribute(tag.type)

    def verify_(self) -> None:
        if not isinstance(self.attributes.get("tag_map"), AffineMapAttr):
            raise VerifyException("requires attribute 'tag_map'")
        if len(self.operands) < 2 or not isinstance(self.operands[0].type, MemRefType):
            raise VerifyException("expected DMA tag to be of memref type")
