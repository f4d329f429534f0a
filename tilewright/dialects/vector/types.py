"""Types and attributes of the vector dialect, and what the operations demand of them."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    ArrayAttr,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.dialects.vector import CombiningKindFlag as CombiningKindFlag
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import RangeOf, base, irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tilewright.ir.constraints import described

ANY_VECTOR = described(base(VectorType), "vector of any type values")
FLOAT_VECTOR = described(VectorType.constr(AnyFloatConstr), "vector of floating-point values")
MASK = described(VectorType.constr(i1), "vector of 1-bit signless integer values")
# Gather and scatter take indices of any integer type; addresses take `index` only.
INDEX_VECTOR = described(
    base(VectorType),
    "vector of integer or index values",
    lambda type: isinstance(type.element_type, IntegerType | IndexType),
)
SHAPED = described(base(TensorType) | base(MemRefType), "shaped of any type values")
# Older operations keep numbers in arrays of attributes, newer ones in dense arrays.
I64_ARRAY = described(ArrayAttr.constr(RangeOf(IntegerAttr.constr(i64))), "64-bit integer array attribute")


class _InAngleBrackets(Data[Any]):
    """An enumeration written as `<word>`, whether its name stands before it or not."""

    enum_type: ClassVar[type[StrEnum]]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        with parser.in_angle_brackets():
            return cls.parse_word(parser)

    @classmethod
    def parse_word(cls, parser: AttrParser) -> Any:
        return parser.parse_str_enum(cls.enum_type)


class PrintPunctuation(StrEnum):
    """What `vector.print` writes behind a value."""

    NO_PUNCTUATION = "no_punctuation"
    NEWLINE = "newline"
    COMMA = "comma"
    OPEN = "open"
    CLOSE = "close"


@irdl_attr_definition
class PunctuationAttr(_InAngleBrackets, EnumAttribute[PrintPunctuation]):
    name = "vector.punctuation"


class IteratorType(StrEnum):
    """What a dimension of a contraction is for."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"


@irdl_attr_definition
class IteratorTypeAttr(_InAngleBrackets, EnumAttribute[IteratorType]):
    name = "vector.iterator_type"


@irdl_attr_definition
class CombiningKindAttr(_InAngleBrackets, EnumAttribute[CombiningKindFlag]):
    """How elements are combined by reductions and contractions."""

    name = "vector.kind"

    @classmethod
    def parse_word(cls, parser: AttrParser) -> CombiningKindFlag:
        # In xDSL's order, which is MLIR's: the error lists them.
        kinds = [kind.value for kind in CombiningKindFlag]
        kind = parser.parse_optional_keyword_in(kinds)
        if kind is None:
            parser.raise_error(f"expected ::mlir::vector::CombiningKind to be one of: {', '.join(kinds)}")
        return CombiningKindFlag(kind)


def vector_type(value: SSAValue) -> VectorType:
    """The type of a value that is known to be a vector."""
    return cast(VectorType, value.type)


def element_type(type: Attribute) -> Attribute:
    """The element type of a vector, and any other type itself."""
    return cast(VectorType, type).element_type if isinstance(type, VectorType) else type


def shape_of(type: Any) -> tuple[int, ...]:
    """The shape of a vector; that of a scalar is empty."""
    return type.get_shape() if isinstance(type, VectorType) else ()


def bitwidth(type: Attribute) -> int | None:
    return type.bitwidth if isinstance(type, FixedBitwidthType) else None
