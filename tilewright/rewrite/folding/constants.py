"""Constants: attributes as numbers, numbers as attributes, results computed from constant operands.

Integers are handled as bit patterns: a Python int in `[0, 2**width)`, where `index` is 64 bits wide. `signed` reads one
as two's complement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects import ub
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.traits import ConstantLike

from tilewright.dialects._syntax import INDEX
from tilewright.rewrite.effects import facts_of
from tilewright.rewrite.folding.floats import FloatType, round_to
from tilewright.rewrite.integers import mask, signed

INDEX_WIDTH = 64

I1 = i1
Number: TypeAlias = int | float
TRUE, FALSE = IntegerAttr(1, I1), IntegerAttr(0, I1)


def constant_of(value: SSAValue) -> Attribute | None:
    """The attribute that `value` is known to be, where a constant operation defines it."""
    if value.__class__ is not OpResult:  # an argument
        return None
    op = cast(OpResult, value).op
    if not facts_of(op).constant:
        return None
    # most constants keep it there; xDSL's way to ask is much slower
    known = op.properties.get("value")
    return known if known is not None else ConstantLike.get_constant_value(value)


def as_integer(attribute: Attribute | None) -> IntegerAttr | None:
    # asked first, here and below: most values are no constants, and asking None for its class takes long
    return cast(IntegerAttr, attribute) if attribute is not None and isinstance(attribute, IntegerAttr) else None


def as_float(attribute: Attribute | None) -> FloatAttr | None:
    return cast(FloatAttr, attribute) if attribute is not None and isinstance(attribute, FloatAttr) else None


def as_scalar(attribute: Attribute | None) -> IntegerAttr | FloatAttr | None:
    integer = as_integer(attribute)
    return integer if integer is not None else as_float(attribute)


def as_dense(attribute: Attribute | None) -> DenseIntOrFPElementsAttr | None:
    if attribute is None or not isinstance(attribute, DenseIntOrFPElementsAttr):
        return None
    return cast(DenseIntOrFPElementsAttr, attribute)


def as_integer_type(type: Attribute) -> IntegerType | None:
    return cast(IntegerType, type) if isinstance(type, IntegerType) else None


_SHAPED = (VectorType, TensorType)


def element_type(type: Attribute) -> Attribute:
    return cast(Any, type).element_type if is_shaped(type) else type


def is_shaped(type: Attribute) -> bool:
    return type.__class__ not in _SCALARS and isinstance(type, _SHAPED)


_SCALARS = {IntegerType, IndexType}
"""The types of most values: looking for their class is much faster than asking for their base classes."""


def width_of(type: Attribute) -> int | None:
    """The width in bits of an integer, index or float type, or of the elements of a shaped type."""
    element = element_type(type)
    if element.__class__ is IndexType:
        return INDEX_WIDTH
    if (integer := as_integer_type(element)) is not None:
        return integer.width.data
    return element.bitwidth if isinstance(element, FloatType) else None


def int_width(type: Attribute) -> int | None:
    """`width_of`, for integers and index alone."""
    return width_of(type) if element_type(type).__class__ in _SCALARS else None


def _splat(attribute: Attribute | None) -> Any:
    """The element that a dense attribute repeats, bit by bit; None if it does not."""
    dense = as_dense(attribute)
    count = len(dense) if dense is not None else 0
    if dense is None or not count:
        return None
    data = dense.data.data
    # compared as bytes: NaN repeats too, and -0.0 is not 0.0
    repeats = data == data[: len(data) // count] * count
    return next(iter(dense.iter_values())) if repeats else None


def int_bits(attribute: Attribute | None) -> int | None:
    """The bits of an integer attribute, or of each element of a splat of integers."""
    if attribute is None:
        return None
    integer = as_integer(attribute)
    number = integer.value.data if integer is not None else _splat(attribute)
    width = int_width(cast(Any, attribute).type) if number is not None else None
    return cast(int, number) & mask(width) if width is not None else None


def float_value(attribute: Attribute | None) -> float | None:
    """The number in a float attribute, or in each element of a splat of floats."""
    if (real := as_float(attribute)) is not None:
        return real.value.data
    number = _splat(attribute)
    return number if isinstance(number, float) else None


def constant_bits(value: SSAValue) -> int | None:
    return int_bits(constant_of(value))


def constant_int(value: SSAValue) -> int | None:
    """The integer that `value` is known to be, read as signed."""
    bits = int_bits(constant_of(value))
    width = width_of(value.type)
    return None if bits is None or width is None else signed(bits, width)


def scalar_int(value: SSAValue) -> int | None:
    """`constant_int`, but of a scalar alone."""
    return constant_int(value) if isinstance(constant_of(value), IntegerAttr) else None


def is_zero(attribute: Attribute | None) -> bool:
    return int_bits(attribute) == 0


def is_one(attribute: Attribute | None) -> bool:
    return int_bits(attribute) == 1


def is_all_ones(attribute: Attribute | None) -> bool:
    bits = int_bits(attribute)
    if bits is None:
        return False
    width = width_of(cast(Any, attribute).type)
    return width is not None and bits == mask(width)


def int_attr(bits: int, type: Attribute) -> Attribute:
    """The attribute of `type`, scalar or splat, whose bits (those that fit) are `bits`."""
    element = element_type(type)
    width = cast(int, width_of(element))
    bits &= mask(width)
    integer = as_integer_type(element)
    # xDSL holds numbers of signless types with their sign, those of ui32 without
    unsigned = integer is not None and integer.signedness.data is Signedness.UNSIGNED
    number = bits if unsigned else signed(bits, width)
    if is_shaped(type):
        return splat_attr(number, type)
    return scalar_attr(number, cast(IntegerType | IndexType, type))


@lru_cache(maxsize=1 << 13)
def scalar_attr(number: int, type: IntegerType | IndexType) -> Attribute:
    """Few differ, and xDSL takes long to make one."""
    return IntegerAttr(number, type)


def float_attr(value: float, type: Attribute) -> Attribute:
    """The attribute of `type`, scalar or splat, nearest to `value`."""
    element = cast(FloatType, element_type(type))
    value = round_to(value, element)
    return splat_attr(value, type) if is_shaped(type) else FloatAttr(value, cast(Any, element))


def number_attr(value: int | float, type: Attribute) -> Attribute:
    if isinstance(element_type(type), FloatType):
        return float_attr(float(value), type)
    return int_attr(int(value), type)


def zero_attr(type: Attribute) -> Attribute:
    return number_attr(0, type)


def bool_attr(value: bool, type: Attribute = I1) -> Attribute:
    if type is I1:
        return TRUE if value else FALSE
    return int_attr(int(value), type)


def index_attr(value: int) -> IntegerAttr[IndexType]:
    return IntegerAttr(value, INDEX)


def splat_attr(value: int | float, type: Attribute) -> Attribute:
    return DenseIntOrFPElementsAttr.from_list(cast(Any, type), [cast(Any, value)])


def elements_of(attribute: Attribute | None) -> list[Any] | None:
    """The numbers in a dense attribute: one if it is a splat, else all."""
    splat = _splat(attribute)
    if splat is not None:
        return [splat]
    dense = as_dense(attribute)
    return list(dense.iter_values()) if dense is not None else None


def fold_elements(
    attributes: Sequence[Attribute | None], result: Attribute, compute: Callable[[Sequence[Any]], Number | None]
) -> Attribute | None:
    """Apply `compute` to constants, element by element where they are dense. It gives the element of type `result`, or
    None where there is none, and then nothing is folded. Integers go in and out as bits.
    """
    lists: list[list[Any]] = []
    for attribute in attributes:
        scalar = as_scalar(attribute)
        numbers: list[Any] | None = [scalar.value.data] if scalar is not None else elements_of(attribute)
        if numbers is None:
            return None
        # bits, so that -1 and 255 of i8 are one number
        width = int_width(cast(Any, attribute).type)
        lists.append(numbers if width is None else [number & mask(width) for number in numbers])
    length = max(map(len, lists))
    lists = [numbers * length if len(numbers) == 1 else numbers for numbers in lists]
    # the shape is dynamic, or the constants disagree with it
    if length > 1 and length != prod(cast(Any, result).get_shape()):
        return None
    folded = [compute(numbers) for numbers in zip(*lists, strict=True)]
    if any(number is None for number in folded):
        return None
    elements = cast(list[Number], folded)
    return dense_attr(elements, result) if is_shaped(result) else number_attr(elements[0], result)


def dense_attr(numbers: Sequence[int | float], type: Attribute) -> Attribute:
    """A dense attribute of all its elements, or of one that they all equal. Integers are given as bits."""
    element = element_type(type)
    if isinstance(element, FloatType):
        values: list[Any] = [round_to(float(number), element) for number in numbers]
    else:
        width = cast(int, width_of(element))
        values = [signed(int(number) & mask(width), width) for number in numbers]
    return DenseIntOrFPElementsAttr.from_list(cast(Any, type), values)


Folded: TypeAlias = "Sequence[SSAValue | Attribute] | None"
"""What an operation folds to: a replacement for each result, none if it was changed in place; None if it stays."""
IN_PLACE: Folded = ()
Rule: TypeAlias = "Callable[[Any, Attribute | None], Folded]"
"""What an operation folds to, given it and the constant on its right."""


def is_poison(attribute: Attribute | None) -> bool:
    return attribute is not None and isinstance(attribute, ub.PoisonAttr)


def folder_with(rules: Sequence[Rule], otherwise: Callable[[Operation], Folded]) -> Callable[[Operation], Folded]:
    """A folder of `lhs op rhs` that tries `rules`, in order, before anything else."""

    def folder(op: Operation) -> Folded:
        rhs = constant_of(op.operands[1])
        for rule in rules:
            folded = rule(op, rhs)
            if folded is not None:
                return folded
        return otherwise(op)

    return folder


def fold_unary(op: Operation, compute: Callable[[Any], Number | None]) -> Folded:
    """Compute the result of `op`, an integer as bits, from its constant operand."""
    return _fold_constants(op, lambda numbers: compute(numbers[0]))


def fold_binary(op: Operation, compute: Callable[[Any, Any], Number | None]) -> Folded:
    """Compute the result of `op`, an integer as bits, from its constant operands."""
    return _fold_constants(op, lambda numbers: compute(numbers[0], numbers[1]))


def _fold_constants(op: Operation, compute: Callable[[Sequence[Any]], Number | None]) -> Folded:
    attributes = [constant_of(operand) for operand in op.operands]
    # poison in, poison out, whatever the other operands are
    for attribute in attributes:
        if is_poison(attribute):
            return (cast(Attribute, attribute),)
    if any(attribute is None for attribute in attributes):
        return None
    folded = fold_elements(attributes, op.results[0].type, compute)
    return None if folded is None else (folded,)


OpT = TypeVar("OpT", bound=Operation)


def defining(value: SSAValue, cls: type[OpT]) -> OpT | None:
    """The operation that defines `value`, if it is a `cls`."""
    op = cast(OpResult, value).op if value.__class__ is OpResult else None
    return op if op is not None and isinstance(op, cls) else None
