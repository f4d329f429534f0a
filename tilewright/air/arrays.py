"""Arrays of a program and their parts: `a[i, j]` is an element, `a[i : i + 64, 0:32]` a part to load, store or move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.air.dtypes import DType, stored_type, value_type
from tilewright.dialects import arith
from tilewright.dialects import memref as ops
from tilewright.iron.builders.arithmetic import constant_of, convert, signless, with_sign
from tilewright.iron.builders.handles import Value, ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.memrefs import MemRefValue
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.iron.builders.types import is_float_type, is_integer, is_number, numpy_type
from tilewright.support.tracebacks import user_facing

Size = Any
"""A whole number of Python, or one of the program."""


def buffer_type(shape: Sequence[Size], dtype: DType, space: Attribute | None = None) -> MemRefType[Any]:
    """The type of an array; sizes that are numbers of the program are open."""
    sizes = [int(size) if is_integer(size) else DYNAMIC_INDEX for size in shape]
    return MemRefType(stored_type(dtype), sizes, NoneAttr(), NoneAttr() if space is None else space)


class Unloaded:
    """What is in memory, and no number or tile yet."""

    def refuse_use(self, *_: Any, **__: Any) -> NoReturn:
        refuse(f"{self!r} is in memory", (None, "load it to compute with it: `air.load(a[i : i + 64])`, or `a[i]`"))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = refuse_use
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __abs__ = refuse_use
    __lt__ = __le__ = __gt__ = __ge__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = refuse_use
    __array__ = __array_ufunc__ = refuse_use  # NumPy asks for these before Python gets to the operators above
    sum = max = min = mean = argmax = argmin = astype = refuse_use


@user_facing
class Array(Unloaded, MemRefValue):
    """An array in memory of a device, a block or a lane, row-major.

    `ssa` is the value of the program, `dtype` the type of its elements, `shape` its sizes.
    """

    def __init__(self, ssa: SSAValue, dtype: DType, shape: Sequence[Size]):
        super().__init__(ssa)
        self._dtype, self._shape = dtype, tuple(shape)

    @property
    def shape(self) -> tuple[Size, ...]:
        """Its sizes: numbers of Python where they are known, else numbers of the program."""
        return self._shape

    @property
    def dtype(self) -> DType:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> Size:
        """How many elements it has."""
        return product_of(self._shape)

    @property
    def strides(self) -> list[Size]:
        """Elements from one to the next in each dimension."""
        return [product_of(self._shape[dimension + 1 :]) for dimension in range(self.ndim)]

    def __len__(self) -> int:
        if not self._shape or not is_integer(self._shape[0]):
            refuse("the length of this array is open", (None, "`a.shape[0]` is a number of the program"))
        return self._shape[0]

    def __getitem__(self, key: Any) -> Any:
        keys = self._keys(key)
        if any(map(_is_tile, keys)):
            from tilewright.air.scattered import Scattered  # it imports this module

            return Scattered.of(self, keys)
        if any(isinstance(part, slice) for part in keys):
            return Region.of(self, keys)
        return self.element(keys)

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = self._keys(key)
        if any(isinstance(part, slice) or _is_tile(part) for part in keys):
            from tilewright.air.tile_transfers import store_tile  # it imports this module

            store_tile(value, self[tuple(keys)])
        else:
            self.set_element(keys, value)

    def element(self, keys: Sequence[Any]) -> ScalarValue:
        """The element at these indices, `keys`."""
        type = ssa_of(self).type
        found = build(ops.LoadOp, results=[cast(Any, type).element_type], memref=self, indices=self.indices(keys)).res
        return ScalarValue(with_sign(found, value_type(self._dtype)))

    def set_element(self, keys: Sequence[Any], value: Any) -> None:
        """Store a number, `value`, at `keys`; one of Python becomes one of the array's type."""
        build(ops.StoreOp, value=signless(stored_number(value, self._dtype)), memref=self, indices=self.indices(keys))

    def indices(self, keys: Sequence[Any]) -> list[SSAValue]:
        return [as_index(key).ssa for key in keys]

    def _keys(self, key: Any) -> list[Any]:
        """An index or a slice for each dimension."""
        keys = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
        # `in` would compare values of the program with it
        dots = [number for number, part in enumerate(keys) if part is Ellipsis]
        if dots:
            keys[dots[0] : dots[0] + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
        keys += [slice(None)] * (self.ndim - len(keys))
        if len(keys) != self.ndim:
            refuse(f"an array of {self.ndim} dimensions takes as many indices, not {len(keys)}")
        for part, size in zip(keys, self._shape, strict=True):
            if not isinstance(part, slice) and not _is_tile(part):
                _check_index(part, size)
        return keys

    def __repr__(self) -> str:
        return f"<Array {self._dtype} {' x '.join('?' if not is_integer(n) else str(n) for n in self._shape)}>"


def product_of(sizes: Sequence[Size]) -> Size:
    """The product of sizes; a number of Python if all are."""
    known = prod(int(size) for size in sizes if is_integer(size))
    total: Any = None
    for size in sizes:
        if not is_integer(size):
            total = size if total is None else total * size
    return known if total is None else total if known == 1 else total * known


def stored_number(value: Any, dtype: DType) -> SSAValue:
    """A number as an element of a type; numbers of other types are to be converted by the program."""
    wanted = value_type(dtype)
    if is_number(value):
        return ScalarValue(float(value) if is_float_type(wanted) else value, dtype=wanted).ssa
    if not isinstance(value, ScalarValue):
        refuse(f"expected a number, not {value!r}")
    if value.type == wanted:
        return value.ssa
    # an index has no size of its own
    if value.type.name == "index":
        return convert(value.ssa, wanted)
    kind = numpy_type(value.type)
    refuse(
        f"cannot store a number of type {value.type if kind is None else kind.__name__} in an array of {dtype}",
        (None, f"convert it first: `v.astype(air.{short_name(dtype)})`"),
    )


def short_name(dtype: DType) -> str:
    """The name that a dtype has in `air`."""
    text = dtype.name.replace("bfloat", "bf").replace("float", "f")
    return text.replace("uint", "ui") if text.startswith("u") else text.replace("int", "i")


def _is_tile(given: Any) -> bool:
    if isinstance(given, slice | int | Value):
        return False
    from tilewright.air.tiles import Elementwise  # it imports this module

    return isinstance(given, Elementwise)


def _check_index(given: Any, size: Size) -> None:
    if not is_integer(given) and not isinstance(given, Value):
        refuse(f"an index is a whole number, not {given!r}")
    if is_integer(given) and given < 0:
        refuse(f"index {given} counts from the end", (None, "indices count from the front: `a[n - 1]`"))
    if is_integer(given) and is_integer(size) and given >= size:
        refuse(f"index {given} is outside of a dimension of {size}")


@dataclass(frozen=True, repr=False)
class Region(Unloaded):
    """A part of an `array`: where it begins (`offsets`) and how much of each dimension it has (`sizes`).

    `is_point` says of each dimension whether it was given an index, so that the part has no such dimension.
    """

    array: Array
    offsets: tuple[Size, ...]
    sizes: tuple[Size, ...]
    is_point: tuple[bool, ...]

    @classmethod
    def of(cls, array: Array, keys: Sequence[Any]) -> Region:
        places = [_extent(key, size) for key, size in zip(keys, array.shape, strict=True)]
        points = tuple(not isinstance(key, slice) for key in keys)
        return cls(array, tuple(start for start, _ in places), tuple(size for _, size in places), points)

    @classmethod
    def whole(cls, array: Array) -> Region:
        return cls.of(array, [slice(None)] * array.ndim)

    @property
    def shape(self) -> tuple[Size, ...]:
        return tuple(size for size, point in zip(self.sizes, self.is_point, strict=True) if not point)

    @property
    def dtype(self) -> DType:
        return self.array.dtype

    def __getitem__(self, key: Any) -> NoReturn:
        self.refuse_use()

    def __repr__(self) -> str:
        return f"<part {' x '.join('?' if not is_integer(n) else str(n) for n in self.shape)} of {self.array!r}>"

    def known_shape(self) -> tuple[int, ...]:
        """The sizes of a tile, which are known."""
        for size in self.shape:
            if not is_integer(size):
                refuse_open_size()
        return self.shape

    def of_rank(self, dimensions: int) -> Region:
        """The part without leading dimensions of one element, as long as it has more than `dimensions`."""
        points, surplus = list(self.is_point), len(self.shape) - dimensions
        for number, size in enumerate(self.sizes):
            if surplus <= 0 or not is_integer(size) or size != 1:
                break
            surplus -= not points[number]
            points[number] = True
        return replace(self, is_point=tuple(points))

    def keys(self, indices: Sequence[Size]) -> list[Size]:
        """The indices into the array of an element of the part."""
        rest = iter(indices)
        return [
            start if point else _plus(start, next(rest))
            for start, point in zip(self.offsets, self.is_point, strict=True)
        ]


def refuse_open_size() -> NoReturn:
    refuse(
        "a tile has a known size, and this part of an array has an open one",
        (None, "write `a[i : i + 64]`: what is outside of the array reads as 0 and is not stored"),
    )


def region_of(given: Any, what: str) -> Region:
    """A part of an array, or all of one."""
    if isinstance(given, Region):
        return given
    if isinstance(given, Array):
        return Region.whole(given)
    refuse(f"{what} takes an array or a part of one, such as `a[i : i + 64]`, not {given!r}")


def _plus(left: Size, right: Size) -> Size:
    if is_integer(left) and is_integer(right):
        return left + right
    if is_integer(left):
        return right if left == 0 else right + left
    return left if is_integer(right) and right == 0 else left + right


def _extent(key: Any, size: Size) -> tuple[Size, Size]:
    """Where a slice begins, and how long it is."""
    if not isinstance(key, slice):
        return key, 1
    part = cast("slice[Any, Any, Any]", key)
    if part.step not in (None, 1):
        refuse("a part of an array has all elements between its bounds", (None, "leave the step out"))
    start = 0 if part.start is None else part.start
    stop = size if part.stop is None else part.stop
    for bound in (start, stop):
        _check_index(bound, None)
    if is_integer(start) and is_integer(stop):
        length: Size = stop - start
    else:
        found = difference(as_index(stop).ssa, as_index(start).ssa)
        length = (stop if is_integer(start) and start == 0 else stop - start) if found is None else found
    if is_integer(length) and length <= 0:
        refuse(f"this part of an array has {length} elements")
    return start, length


Form = dict[Any, int]
"""A sum: how often each value is in it, and under None the number that is added."""


def difference(left: SSAValue, right: SSAValue) -> int | None:
    """`left - right`, if that is a known number whatever the values are that both are computed from."""
    total = _form(left)
    for key, factor in _form(right).items():
        total[key] = total.get(key, 0) - factor
    known = total.pop(None, 0)
    return None if any(total.values()) else known


def _form(value: SSAValue) -> Form:
    known = constant_of(value)
    if known is not None:
        return {None: int(known)}
    owner = value.owner
    if isinstance(owner, arith.AddiOp | arith.SubiOp):
        total, sign = _form(owner.operands[0]), 1 if isinstance(owner, arith.AddiOp) else -1
        for key, factor in _form(owner.operands[1]).items():
            total[key] = total.get(key, 0) + sign * factor
        return total
    if isinstance(owner, arith.MuliOp):
        for factor, other in (owner.operands, reversed(owner.operands)):
            number = constant_of(factor)
            if number is not None:
                return {key: count * int(number) for key, count in _form(other).items()}
    return {_same(value): 1}


_EQUAL = arith.MuliOp, arith.FloorDivSIOp, arith.DivUIOp, arith.RemUIOp, arith.RemSIOp, arith.AndIOp, arith.IndexCastOp


def _same(value: SSAValue) -> Any:
    """What is equal for values that are computed alike."""
    owner = value.owner
    if isinstance(owner, Operation) and isinstance(owner, _EQUAL):
        return (owner.name, *(frozenset(_form(operand).items()) for operand in owner.operands))
    return value
