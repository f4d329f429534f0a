"""Vectors: a few neighbouring elements that one lane loads, computes and stores at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, VectorType, i64

from tilewright.air.arrays import Array
from tilewright.air.dtypes import element_of, f32
from tilewright.dialects import arith
from tilewright.dialects.vector import compute, memory, shape
from tilewright.iron.builders import arithmetic
from tilewright.iron.builders.handles import VALUE_CLASSES, Value, ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, constant
from tilewright.iron.builders.types import is_float_type, is_integer, is_list, is_number
from tilewright.support.tracebacks import user_facing


def _operators(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def direct(self: Vector, other: Any) -> Vector:
        return Vector(arithmetic.binary(name, self.ssa, self.like(other).ssa))

    def reflected(self: Vector, other: Any) -> Vector:
        return Vector(arithmetic.binary(name, self.like(other).ssa, self.ssa))

    return direct, reflected


@user_facing
class Vector(Value):
    """Neighbouring elements, in registers of one lane; operators work element by element."""

    @property
    def vector_type(self) -> VectorType[Any]:
        return cast("VectorType[Any]", self.type)

    @property
    def width(self) -> int:
        return self.vector_type.get_shape()[0]

    def like(self, other: Any) -> Vector:
        """A vector, `other`, as it is, a number as a vector of copies."""
        if isinstance(other, Vector):
            if other.type != self.type:
                refuse(f"vectors have different types, {self.type} and {other.type}")
            return other
        return broadcast(other, self.width, self.vector_type.element_type)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("truediv")
    __and__, __rand__ = _operators("and")
    __or__, __ror__ = _operators("or")
    __xor__, __rxor__ = _operators("xor")

    def __getitem__(self, number: Any) -> ScalarValue:
        if not is_integer(number) or not 0 <= number < self.width:
            refuse(f"a vector of {self.width} has no element {number!r}", (None, "elements have known numbers"))
        place = DenseArrayBase.from_list(i64, [int(number)])
        element = self.vector_type.element_type
        fields: dict[str, Any] = {"vector": self, "static_position": place, "dynamic_position": []}
        return ScalarValue(build(shape.ExtractOp, results=[element], **fields).result)

    def __len__(self) -> int:
        return self.width

    def fma(self, factor: Any, addend: Any) -> Vector:
        """`self * factor + addend`, rounded once."""
        parts = self, self.like(factor), self.like(addend)
        return Vector(build(compute.FMAOp, results=[self.type], lhs=parts[0], rhs=parts[1], acc=parts[2]).res)

    def astype(self, dtype: Any) -> Vector:
        """Floating-point numbers of another type, `dtype`, rounded to it."""
        source, target = self.vector_type.element_type, element_of(dtype)
        if source == target:
            return self
        if not (is_float_type(source) and is_float_type(target)):
            refuse(f"vectors of {source} cannot become vectors of {target}: convert their elements")
        if source.bitwidth == target.bitwidth:  # f16 and bf16: each holds what the other does not
            return self.astype(f32).astype(dtype)
        op_class = arith.TruncFOp if target.bitwidth < source.bitwidth else arith.ExtFOp
        type = VectorType(cast(Any, target), [self.width])
        return Vector(build(op_class, results=[type], input=self).results[0])

    def bitcast(self, dtype: Any) -> Vector:
        """The same bits as elements of another type, `dtype`."""
        element = element_of(dtype)
        source = self.vector_type.element_type
        bits = self.width * source.bitwidth
        if bits % cast(Any, element).bitwidth:
            refuse(f"{bits} bits are no whole number of {element}")
        type = VectorType(cast(Any, element), [bits // cast(Any, element).bitwidth])
        return Vector(build(shape.BitcastOp, results=[type], source=self).results[0])

    def sum(self) -> ScalarValue:
        """The sum of the elements."""
        total = self[0]
        for number in range(1, self.width):
            total = total + self[number]
        return total


VALUE_CLASSES[VectorType] = Vector  # so that loops can carry them


def broadcast(value: Any, width: int, dtype: Any = None) -> Vector:
    """A vector of `width` copies of a number, `value`, which is of `dtype` if it is one of Python."""
    if is_number(value):
        value = constant(value, None if dtype is None else element_of(dtype))
    number = ssa_of(value, "an element")
    type = VectorType(cast(Any, number.type), [width])
    return Vector(build(shape.BroadcastOp, results=[type], source=number).vector)


def vector(elements: Sequence[Any]) -> Vector:
    """A vector of `elements`, numbers of one type."""
    if not is_list(elements) or not elements:
        refuse(f"a vector is made of a list of numbers, not {elements!r}")
    parts = [ssa_of(part, "an element") for part in elements]
    type = VectorType(cast(Any, parts[0].type), [len(parts)])
    return Vector(build(shape.FromElementsOp, results=[type], elements=parts).dest)


def vload(array: Any, index: Any, width: int, alignment: int | None = None) -> Vector:
    """`width` elements of an `array` from an `index` on, along the last dimension.

    With an `alignment` in bytes they are loaded at once.
    """
    keys, type = _place(array, index, width)
    fields: dict[str, Any] = {"alignment": _aligned(array, width, alignment)}
    return Vector(build(memory.LoadOp, results=[type], base=array, indices=keys, **fields).result)


def vstore(value: Any, array: Any, index: Any, alignment: int | None = None) -> None:
    """Store a vector, `value`, in an `array` from an `index` on; `alignment` is as for `vload`."""
    if not isinstance(value, Vector):
        refuse(f"expected a vector, not {value!r}", (None, "`air.broadcast(x, 4)` makes one of a number"))
    keys, type = _place(array, index, value.width)
    if type != value.type:
        refuse(f"cannot store {value.type} in an array of {array.dtype}")
    fields: dict[str, Any] = {"alignment": _aligned(array, value.width, alignment)}
    build(memory.StoreOp, vector=value, base=array, indices=keys, **fields)


def _place(array: Any, index: Any, width: int) -> tuple[list[Any], VectorType[Any]]:
    if not isinstance(array, Array):
        refuse(f"vectors are parts of arrays, not of {array!r}")
    if not is_integer(width) or width < 1:
        refuse(f"a vector has a known width, not {width!r}")
    keys = list(index) if is_list(index) else [index]
    if len(keys) != array.ndim:
        refuse(f"an array of {array.ndim} dimensions takes as many indices, not {len(keys)}")
    element = cast("MemRefType[Any]", ssa_of(array).type).element_type
    return array.indices(keys), VectorType(element, [width])


def _aligned(array: Array, width: int, alignment: int | None) -> IntegerAttr[Any] | None:
    if alignment is None:
        return None
    if not is_integer(alignment) or alignment < 1 or alignment & (alignment - 1):
        refuse(f"an alignment is a power of two in bytes, not {alignment!r}")
    return IntegerAttr(int(alignment), i64)
