"""Modules, insertion points, blocks, types and attributes, by the names of MLIR's bindings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.ir import Attribute as IrAttribute
from xdsl.ir import TypeAttribute
from xdsl.ir.affine import AffineExpr
from xdsl.ir.affine import AffineMap as IrAffineMap

from tilewright.ir.diagnostics import DiagnosedError as MLIRError
from tilewright.iron.builders.handles import AttributeView, OpView, Value
from tilewright.iron.builders.location import Location
from tilewright.iron.builders.module import Context, Module
from tilewright.iron.builders.operations import BlockFactory as Block
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.builders.types import convert_type, memref


class _Named(type):
    """A class whose instances are those of another one: attributes of the IR, also behind a view."""

    KIND: type[IrAttribute]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance.attribute if isinstance(instance, AttributeView) else instance, cls.KIND)


class Attribute(metaclass=_Named):
    """Any attribute."""

    KIND = IrAttribute

    @staticmethod
    def parse(asm: str, context: Any = None) -> IrAttribute:
        """The attribute or type that a text describes."""
        from tilewright.ir.context import make_context
        from tilewright.ir.parser import parse_attribute

        return parse_attribute(make_context(), asm)


class Type(Attribute):
    """Any type."""

    KIND = TypeAttribute


class IndexType(Type):
    KIND = builtin.IndexType

    @staticmethod
    def get(context: Any = None) -> builtin.IndexType:
        return builtin.IndexType()


class IntegerType(Type):
    KIND = builtin.IntegerType

    @staticmethod
    def get_signless(width: int, context: Any = None) -> builtin.IntegerType:
        return builtin.IntegerType(width)

    @staticmethod
    def get_signed(width: int, context: Any = None) -> builtin.IntegerType:
        return builtin.IntegerType(width, builtin.Signedness.SIGNED)

    @staticmethod
    def get_unsigned(width: int, context: Any = None) -> builtin.IntegerType:
        return builtin.IntegerType(width, builtin.Signedness.UNSIGNED)


class _Float(Type):
    @classmethod
    def get(cls, context: Any = None) -> IrAttribute:
        return cls.KIND()


class BF16Type(_Float):
    KIND = builtin.BFloat16Type


class F16Type(_Float):
    KIND = builtin.Float16Type


class F32Type(_Float):
    KIND = builtin.Float32Type


class F64Type(_Float):
    KIND = builtin.Float64Type


class MemRefType(Type):
    KIND = builtin.MemRefType

    @staticmethod
    def get(
        shape: Sequence[int], element_type: Any, layout: Any = None, memory_space: Any = None, loc: Any = None
    ) -> IrAttribute:
        made = memref([*shape], element_type, memory_space)
        return made if layout is None else builtin.MemRefType(made.element_type, made.shape, layout, made.memory_space)


class VectorType(Type):
    KIND = builtin.VectorType

    @staticmethod
    def get(shape: Sequence[int], element_type: Any, *, loc: Any = None) -> IrAttribute:
        return builtin.VectorType(convert_type(element_type), [*shape])


class RankedTensorType(Type):
    KIND = builtin.TensorType

    @staticmethod
    def get(shape: Sequence[int], element_type: Any, encoding: Any = None, loc: Any = None) -> IrAttribute:
        return builtin.TensorType(convert_type(element_type), [*shape])


class IntegerAttr(Attribute):
    KIND = builtin.IntegerAttr

    @staticmethod
    def get(type: Any, value: int) -> IrAttribute:
        return builtin.IntegerAttr(value, cast("builtin.IntegerType | builtin.IndexType", convert_type(type)))


class FloatAttr(Attribute):
    KIND = builtin.FloatAttr

    @staticmethod
    def get(type: Any, value: float, loc: Any = None) -> IrAttribute:
        return builtin.FloatAttr(value, cast("builtin.AnyFloat", convert_type(type)))


class BoolAttr(Attribute):
    KIND = builtin.IntegerAttr

    @staticmethod
    def get(value: bool, context: Any = None) -> IrAttribute:
        return builtin.BoolAttr.from_bool(value)


class StringAttr(Attribute):
    KIND = builtin.StringAttr

    @staticmethod
    def get(value: str, context: Any = None) -> IrAttribute:
        return builtin.StringAttr(value)


class FlatSymbolRefAttr(Attribute):
    KIND = builtin.SymbolRefAttr

    @staticmethod
    def get(value: str, context: Any = None) -> IrAttribute:
        return builtin.SymbolRefAttr(value)


class UnitAttr(Attribute):
    KIND = builtin.UnitAttr

    @staticmethod
    def get(context: Any = None) -> IrAttribute:
        return builtin.UnitAttr()


class ArrayAttr(Attribute):
    KIND = builtin.ArrayAttr

    @staticmethod
    def get(attributes: Sequence[IrAttribute], context: Any = None) -> IrAttribute:
        return builtin.ArrayAttr([*attributes])


class TypeAttr(Attribute):
    KIND = TypeAttribute

    @staticmethod
    def get(value: Any, context: Any = None) -> IrAttribute:
        return convert_type(value)


class AffineMapAttr(Attribute):
    KIND = builtin.AffineMapAttr

    @staticmethod
    def get(affine_map: IrAttribute) -> IrAttribute:
        return affine_map


class AffineMap(Attribute):
    """Maps of indices to indices. What `get` gives is the map as an attribute."""

    KIND = builtin.AffineMapAttr

    @staticmethod
    def get(dim_count: int, symbol_count: int, exprs: Sequence[AffineExpr], context: Any = None) -> IrAttribute:
        return builtin.AffineMapAttr(IrAffineMap(dim_count, symbol_count, tuple(exprs)))

    @staticmethod
    def get_identity(n_dims: int, context: Any = None) -> IrAttribute:
        return builtin.AffineMapAttr(IrAffineMap.identity(n_dims))

    @staticmethod
    def get_constant(value: int, context: Any = None) -> IrAttribute:
        return builtin.AffineMapAttr(IrAffineMap(0, 0, (AffineExpr.constant(value),)))

    @staticmethod
    def get_permutation(permutation: Sequence[int], context: Any = None) -> IrAttribute:
        dimensions = tuple(AffineExpr.dimension(number) for number in permutation)
        return builtin.AffineMapAttr(IrAffineMap(len(permutation), 0, dimensions))


class AffineDimExpr:
    """A dimension of a map."""

    @staticmethod
    def get(position: int, context: Any = None) -> AffineExpr:
        return AffineExpr.dimension(position)


class AffineSymbolExpr:
    """A symbol of a map."""

    @staticmethod
    def get(position: int, context: Any = None) -> AffineExpr:
        return AffineExpr.symbol(position)


class AffineConstantExpr:
    """A number in a map."""

    @staticmethod
    def get(value: int, context: Any = None) -> AffineExpr:
        return AffineExpr.constant(value)


__all__ = [
    "AffineConstantExpr",
    "AffineDimExpr",
    "AffineExpr",
    "AffineMap",
    "AffineMapAttr",
    "AffineSymbolExpr",
    "ArrayAttr",
    "Attribute",
    "BF16Type",
    "Block",
    "BoolAttr",
    "Context",
    "F16Type",
    "F32Type",
    "F64Type",
    "FlatSymbolRefAttr",
    "FloatAttr",
    "IndexType",
    "InsertionPoint",
    "IntegerAttr",
    "IntegerType",
    "Location",
    "MLIRError",
    "MemRefType",
    "Module",
    "OpView",
    "RankedTensorType",
    "StringAttr",
    "Type",
    "TypeAttr",
    "UnitAttr",
    "Value",
    "VectorType",
]
