"""The types of the memref dialect, and what the operations demand of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard, TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BoolAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    UnrankedMemRefType,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    RangeOf,
    base,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._strides import strided_form
from tilewright.ir.constraints import described

T = TypeVar("T")
Groups: TypeAlias = ArrayAttr[ArrayAttr[IntegerAttr]]

ANY_MEMREF = described(base(MemRefType) | base(UnrankedMemRefType), "ranked or unranked memref of any type values")
BYTES = described(
    MemRefType.constr(i8), "1D memref of 8-bit signless integer values", lambda type: type.get_num_dims() == 1
)


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


ALIGNMENT = described(
    IntegerAttr.constr(i64),
    "64-bit signless integer attribute whose value is positive and whose value is a power of two > 0",
    lambda attribute: is_power_of_two(attribute.value.data),
)
POSITIVE_I32 = described(
    IntegerAttr.constr(i32),
    "32-bit signless integer attribute whose value is positive",
    lambda attribute: attribute.value.data > 0,
)
LOCALITY = described(
    IntegerAttr.constr(i32),
    "32-bit signless integer attribute whose minimum value is 0 whose maximum value is 3",
    lambda attribute: 0 <= attribute.value.data <= 3,
)
LINE = described(MemRefType.constr(), "1D memref of any type values", lambda type: type.get_num_dims() == 1)
# Whether a layout is strided is computed: affine maps may say it too.
STRIDED = described(
    MemRefType.constr(), "strided memref of any type values", lambda type: strided_form(type) is not None
)
GROUPS = described(
    ArrayAttr.constr(RangeOf(ArrayAttr.constr(RangeOf(IntegerAttr.constr(i64))))),
    "Array of 64-bit integer array attributes",
)
FALSE = BoolAttr.from_bool(False)


AnyMemRef: TypeAlias = MemRefType | UnrankedMemRefType


def is_ranked(type: Attribute) -> TypeGuard[MemRefType]:
    return isinstance(type, MemRefType)


def is_unranked(type: Attribute) -> TypeGuard[UnrankedMemRefType]:
    return isinstance(type, UnrankedMemRefType)


def any_memref(value: SSAValue) -> AnyMemRef:
    """The type of a value that is known to be a memref."""
    return cast(AnyMemRef, value.type)


def memref_type(value: SSAValue) -> MemRefType:
    """The type of a value that is known to be a ranked memref."""
    return cast(MemRefType, value.type)


def verify_dynamic_size_count(found: int, type: MemRefType) -> None:
    expected = type.get_shape().count(DYNAMIC_INDEX)
    if found != expected:
        raise VerifyException(f"incorrect number of dynamic sizes, has {found}, expected {expected}")


def static_sizes(sizes: Sequence[int]) -> list[int | None]:
    """Sizes with None for dynamic ones."""
    return [None if size == DYNAMIC_INDEX else size for size in sizes]


def is_contiguous(type: MemRefType) -> bool:
    """Whether a layout is the default one, however it is written."""
    if isinstance(type.layout, NoneAttr):
        return True
    # Dynamic sizes make strides unknown, so nothing could be told.
    plain = strided_form(MemRefType(type.element_type, type.shape))
    form = strided_form(type)
    return form is not None and None not in form.strides and form == plain


def kept_dimensions(
    sizes: Sequence[int], strides: Sequence[int | None], shape: Sequence[int], wanted: Sequence[int | None]
) -> list[int] | None:
    """Their numbers, if what is left out has one element and the rest has this shape and these strides.

    Strides that are None are not known, and agree with all others.
    """

    def match(dimension: int, number: int) -> list[int] | None:
        if dimension == len(sizes):
            return [] if number == len(shape) else None
        # Kept if it can be: only where that leads nowhere a dimension of one element is left out.
        if number < len(shape) and sizes[dimension] == shape[number] and _agree(strides[dimension], wanted[number]):
            rest = match(dimension + 1, number + 1)
            if rest is not None:
                return [dimension, *rest]
        return match(dimension + 1, number) if sizes[dimension] == 1 else None

    return match(0, 0)


def _agree(stride: int | None, wanted: int | None) -> bool:
    return stride is None or wanted is None or stride == wanted
