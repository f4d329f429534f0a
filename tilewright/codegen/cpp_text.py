"""C++ spellings of types and constants, and the operators with their precedence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    SymbolRefAttr,
    TensorType,
    TupleType,
)
from xdsl.ir import Attribute, Operation, TypeAttribute

from tilewright.dialects.emitc import operators
from tilewright.dialects.emitc.operators import Predicate
from tilewright.dialects.emitc.types import (
    ArrayType,
    LValueType,
    OpaqueAttr,
    OpaqueType,
    PointerType,
    PtrDiffT,
    SignedSizeT,
    SizeT,
)
from tilewright.ir.diagnostics import Where, fail
from tilewright.ir.shown import shown

INDENT = "  "

AnyTensor: TypeAlias = "TensorType[Any]"

_NAMED_TYPES: dict[type[Attribute], str] = {
    BFloat16Type: "__bf16",
    Float16Type: "_Float16",
    Float32Type: "float",
    Float64Type: "double",
    IndexType: "size_t",
    PtrDiffT: "ptrdiff_t",
    SignedSizeT: "ssize_t",
    SizeT: "size_t",
}

# How many digits identify a number, and what is written behind it.
_FLOAT_DIGITS: dict[type[Attribute], tuple[int, str]] = {
    BFloat16Type: (4, "bf16"),
    Float16Type: (5, "f16"),
    Float32Type: (9, "f"),
    Float64Type: (17, ""),
}

# Operators that stand between two operands; the higher the number the tighter they bind.
BINARY: dict[type[Operation], tuple[str, int]] = {
    operators.LogicalOrOp: ("||", 3),
    operators.LogicalAndOp: ("&&", 4),
    operators.BitwiseOrOp: ("|", 5),
    operators.BitwiseXorOp: ("^", 6),
    operators.BitwiseAndOp: ("&", 7),
    operators.BitwiseLeftShiftOp: ("<<", 11),
    operators.BitwiseRightShiftOp: (">>", 11),
    operators.AddOp: ("+", 12),
    operators.SubOp: ("-", 12),
    operators.MulOp: ("*", 13),
    operators.DivOp: ("/", 13),
    operators.RemOp: ("%", 13),
}
COMPARISONS = {
    Predicate.eq: ("==", 8),
    Predicate.ne: ("!=", 8),
    Predicate.lt: ("<", 9),
    Predicate.le: ("<=", 9),
    Predicate.gt: (">", 9),
    Predicate.ge: (">=", 9),
    Predicate.three_way: ("<=>", 10),
}
UNARY: dict[type[Operation], str] = {
    operators.BitwiseNotOp: "~",
    operators.LogicalNotOp: "!",
    operators.UnaryMinusOp: "-",
    operators.UnaryPlusOp: "+",
}
LOWEST, CONDITIONAL, PREFIX, POSTFIX, PRIMARY = 0, 2, 15, 16, 17


def binary_operator(op: Operation) -> tuple[str, int] | None:
    """Symbol and precedence of an operator between two operands."""
    return COMPARISONS[op.comparison] if isinstance(op, operators.CmpOp) else BINARY.get(type(op))


def type_text(type: Attribute, where: Where = None) -> str:
    """A type as C++ spells it."""
    match type:
        case IntegerType() if type.width.data == 1:
            return "bool"
        case IntegerType() if type.width.data in (8, 16, 32, 64):
            return f"{'u' if type.signedness.data is Signedness.UNSIGNED else ''}int{type.width.data}_t"
        case IntegerType():
            fail(where, f"cannot emit integer type '{shown(type)}'")
        case OpaqueType():
            return type.value.data
        case PointerType():
            return f"{type_text(type.pointee, where)}*"
        case LValueType():
            return type_text(type.value_type, where)
        case TensorType():
            tensor = cast(AnyTensor, type)
            if not tensor.has_static_shape():
                fail(where, "cannot emit tensor type with non static shape")
            sizes = "".join(f", {size}" for size in tensor.get_shape())
            return f"Tensor<{type_text(tensor.element_type, where)}{sizes}>"
        case TupleType():
            return tuple_text(type.types, where)
        case ArrayType():
            fail(where, f"cannot emit array type '{shown(type)}'")
        case _ if (name := _NAMED_TYPES.get(type.__class__)) is not None:
            return name
        case _:
            fail(where, f"cannot emit type '{shown(type)}'")


def tuple_text(types: Iterable[Attribute], where: Where = None) -> str:
    return f"std::tuple<{', '.join(type_text(type, where) for type in types)}>"


def result_text(types: Sequence[Attribute], where: Where = None) -> str:
    """The type that a function of these results returns."""
    if not types:
        return "void"
    return type_text(types[0], where) if len(types) == 1 else tuple_text(types, where)


def declaration_text(type: Attribute, name: str, where: Where = None) -> str:
    """`type name`, with the sizes behind the name of an array."""
    if isinstance(type, ArrayType):
        sizes = "".join(f"[{size}]" for size in type.sizes)
        return f"{type_text(type.element_type, where)} {name}{sizes}"
    return f"{type_text(type, where)} {name}"


def attribute_text(attribute: Attribute, where: Where = None) -> str:
    """A constant as C++ spells it."""
    match attribute:
        case OpaqueAttr():
            return attribute.value.data
        case IntegerAttr():
            return integer_text(attribute.value.data, cast(Attribute, attribute.type))
        case FloatAttr():
            return _float_text(attribute.value.data, cast(Attribute, attribute.type), where)
        case DenseIntOrFPElementsAttr():
            return _elements_text(attribute, where)
        case SymbolRefAttr():
            if len(attribute.nested_references) > 1:
                fail(where, "attribute has more than 1 nested reference")
            return attribute.root_reference.data
        case TypeAttribute():
            return type_text(attribute, where)
        case _:
            fail(where, f"cannot emit attribute: {shown(attribute)}")


def integer_text(value: int, type: Attribute) -> str:
    match type:
        case IntegerType() if type.width.data == 1:
            return "true" if value else "false"
        case IntegerType() if type.signedness.data is Signedness.UNSIGNED:
            return str(value % (1 << type.width.data))
        case _:
            return str(value)


def _float_text(value: float, type: Attribute, where: Where) -> str:
    if type.__class__ not in _FLOAT_DIGITS:
        fail(where, "expected floating point attribute to be f16, bf16, f32 or f64")
    digits, suffix = _FLOAT_DIGITS[type.__class__]
    if value != value:  # not a number
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    # As MLIR writes it: with a zero behind the last digit.
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    mantissa = "-0.0" if str(value) == "-0.0" else "0.0" if value == 0 else f"{mantissa}0"
    return f"{mantissa}e{exponent}{suffix}"


def _elements_text(attribute: DenseIntOrFPElementsAttr, where: Where) -> str:
    type: Attribute = cast(AnyTensor, attribute.type).get_element_type()
    values = attribute.get_values()
    if type.__class__ in _FLOAT_DIGITS:
        return "{" + ", ".join(_float_text(cast(float, value), type, where) for value in values) + "}"
    return "{" + ", ".join(integer_text(cast(int, value), type) for value in values) + "}"
