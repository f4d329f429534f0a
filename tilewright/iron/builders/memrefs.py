"""Buffers of the program: elements, slices, allocations in a function, views, named data of the module."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from ml_dtypes import bfloat16
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute

from tilewright.dialects import memref as ops
from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.memref.views import subview_type
from tilewright.iron.builders.attributes import symbol_name
from tilewright.iron.builders.handles import VALUE_CLASSES, OpView, Value, ssa_of, value_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.remedies import worded
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.iron.builders.types import (
    as_int,
    as_list,
    convert_type,
    elements,
    is_buffer_type,
    is_integer,
    is_integer_type,
    is_list,
    is_number,
    memref,
    numpy_type,
)
from tilewright.support.tracebacks import user_facing


def load(
    mem: Any, indices: Sequence[Any], *, loc: LocationAttr | None = None, ip: InsertionPoint | None = None
) -> Value:
    """`memref.load`; indices may be Python numbers or integers of the program."""
    places = _indices(mem, indices)
    return value_of(build(ops.LoadOp, results=[element_type(mem)], memref=mem, indices=places, loc=loc, ip=ip).res)


def store(
    value: Any,
    mem: Any,
    indices: Sequence[Any],
    *,
    loc: LocationAttr | None = None,
    ip: InsertionPoint | None = None,
) -> None:
    """`memref.store`; a Python number becomes a constant of the buffer's element type."""
    wanted, places = element_type(mem), _indices(mem, indices)
    stored = ScalarValue(value, dtype=wanted) if is_number(value) else value
    # loop counters are indices, and no buffer holds those
    if isinstance(stored, ScalarValue) and isinstance(stored.type, IndexType) and is_integer_type(wanted):
        stored = stored.astype(wanted)
    if ssa_of(stored).type != wanted:
        kind = numpy_type(wanted)
        name = "..." if kind is None else kind.__name__ if kind is bfloat16 else f"np.{kind.__name__}"
        remedy = f"convert it first: `v.astype({name})`"
        refuse(f"cannot store {ssa_of(stored).type} in a buffer of {wanted}", (None, remedy))
    build(ops.StoreOp, value=stored, memref=mem, indices=places, loc=loc, ip=ip)


def memref_type(mem: Any) -> MemRefType[Any]:
    type = ssa_of(mem).type
    if not isinstance(type, MemRefType):
        refuse(f"expected a buffer, not a value of type {type}")
    return typing.cast("MemRefType[Any]", type)


def element_type(mem: Any) -> Attribute:
    return memref_type(mem).element_type


def _indices(mem: Any, indices: Sequence[Any]) -> list[ScalarValue]:
    shape, indices = memref_type(mem).get_shape(), as_list(indices, "indices")
    if len(indices) != len(shape):
        refuse(f"a buffer of {len(shape)} dimensions takes as many indices, not {len(indices)}")
    for index, size in zip(indices, shape, strict=True):
        # a size that is open is negative
        if is_integer(index) and size >= 0 and not 0 <= index < size:
            remedy = f"write {index + size}: indices count from the front" if -size <= index < 0 else "make it larger"
            refuse(f"index {index} is outside a dimension of {size}", (None, remedy))
    return [as_index(index) for index in indices]


@user_facing
class Indexable:
    """Item access of a buffer."""

    @property
    def memref_type(self) -> MemRefType[Any]:
        return memref_type(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.memref_type.get_shape()

    @property
    def dtype(self) -> Attribute:
        """The type of its elements."""
        return self.memref_type.element_type

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def n_elements(self) -> int:
        return int(np.prod(self.shape))

    def has_rank(self) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        keys = _keys(key)
        if all((isinstance(part, slice) and part == slice(None)) or part is Ellipsis for part in keys):
            return self
        return _subview(self, keys) if any(isinstance(part, slice) for part in keys) else load(self, keys)

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = _keys(key)
        if any(isinstance(part, slice) or part is Ellipsis for part in keys):
            refuse("only single elements can be assigned to", (None, "assign in a `range_` loop, or call a kernel"))
        store(value, self, keys)

    def __iter__(self) -> Any:
        refuse(
            "a buffer's elements are not known while the program is being built", (None, worded("loop with `{loop}`"))
        )

    def __len__(self) -> int:
        if not self.shape or self.shape[0] < 0:
            refuse("the size of this buffer is not known while the program is being built")
        return self.shape[0]

    def __bool__(self) -> bool:
        return True  # Python would ask for the length, which may not be known

    def _as_a_whole(self, *_: Any, **__: Any) -> NoReturn:
        refuse(
            "a buffer is no number: arithmetic is done element by element",
            (None, "write `for i in range_(n): target[i] = source[i] + 1`, or call a kernel"),
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _as_a_whole
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __neg__ = __abs__ = _as_a_whole
    __array__ = __array_ufunc__ = _as_a_whole  # NumPy asks for these before Python gets to the operators above


def _keys(key: Any) -> tuple[Any, ...]:
    return typing.cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)


def _subview(mem: Any, keys: Sequence[Any]) -> Value:
    """`memref.subview` of Python slices; a plain number takes one element of its dimension."""
    shape = memref_type(mem).get_shape()
    if len(keys) > len(shape):
        refuse(f"a buffer of {len(shape)} dimensions takes as many indices, not {len(keys)}")
    whole = [slice(None)] * (len(shape) - len(keys))
    offsets, sizes, strides = list[int](), list[int](), list[int]()
    for part, size in zip((*keys, *whole), shape, strict=True):
        start, stop, step = _bounds(part, size)
        offsets.append(start)
        sizes.append(len(range(start, stop, step)))
        strides.append(step)
    return subview(mem, offsets, sizes, strides)


def _bounds(part: Any, size: int) -> tuple[int, int, int]:
    if isinstance(part, slice):
        return typing.cast("slice[Any, Any, Any]", part).indices(size)
    if not is_integer(part):
        refuse("slices of a buffer have constant bounds")
    return int(part), int(part) + 1, 1


class MemRefValue(Indexable, Value):
    """A buffer: `mem[i, j]` loads, `mem[i, j] = x` stores."""


VALUE_CLASSES[MemRefType] = MemRefValue  # how `value_of` knows


def _allocation(op_class: Any) -> Any:
    def make(*shape: Any, element_type: Any = None, loc: Any = None, ip: Any = None) -> MemRefValue:
        parts = [*shape]
        if element_type is None:
            element_type = parts.pop() if parts else refuse("a buffer has a type of elements")
        sizes = parts[0] if len(parts) == 1 and is_list(parts[0]) else parts
        return MemRefValue(build(op_class, results=[memref(sizes, element_type)], loc=loc, ip=ip).results[0])

    make.__doc__ = f"`{op_class.name}`: sizes, as numbers or a tuple, and then the type of the elements."
    return make


alloc = _allocation(ops.AllocOp)
alloca = _allocation(ops.AllocaOp)


def cast(dest: Any, source: Any, *, loc: Any = None, ip: Any = None) -> MemRefValue:
    """`memref.cast`: the same buffer as another, compatible type."""
    return MemRefValue(build(ops.CastOp, results=[convert_type(dest)], source=source, loc=loc, ip=ip).results[0])


def collapse_shape(
    result: Any, src: Any, reassociation: Sequence[Sequence[int]], *, loc: Any = None, ip: Any = None
) -> MemRefValue:
    """`memref.collapse_shape`: neighbouring dimensions of a buffer as one."""
    what = "the dimensions to merge"
    numbers = [[as_int(index, what) for index in as_list(group, what)] for group in as_list(reassociation, what)]
    groups = ArrayAttr([ArrayAttr([IntegerAttr(index, i64) for index in group]) for group in numbers])
    kind = convert_type(result)
    return MemRefValue(build(ops.CollapseShapeOp, results=[kind], src=src, reassociation=groups, loc=loc, ip=ip).result)


def subview(
    source: Any,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    *,
    loc: Any = None,
    ip: Any = None,
) -> MemRefValue:
    """`memref.subview` at constant offsets."""
    given = {"offsets": offsets, "sizes": sizes, "strides": strides}
    lists = {name: [as_int(number, name) for number in as_list(values, name)] for name, values in given.items()}
    static: dict[str, Any] = {
        f"static_{name}": DenseArrayBase.from_list(i64, numbers) for name, numbers in lists.items()
    }
    if any(len(numbers) != len(memref_type(source).get_shape()) for numbers in lists.values()):
        refuse("a part of a buffer has an offset, a size and a stride in each dimension")
    kind = subview_type(memref_type(source), *lists.values())
    if kind is None:
        refuse("this buffer's layout has no strides, so it has no parts")
    return MemRefValue(build(ops.SubviewOp, results=[kind], source=source, loc=loc, ip=ip, **static).results[0])


def view(
    source: Any,
    shape: Sequence[int],
    dtype: Any = None,
    shift: Any = 0,
    memory_space: Any = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> MemRefValue:
    """`memref.view`: bytes of a buffer as an array of elements, from the element numbered `shift` on.

    Args:
        source: a flat buffer of `i8`
        shape: that of the array
        dtype: the type of its elements; `i8` unless given
        shift: how many such elements stand before it; may be a number of the program
        memory_space: that of the source unless given
    """
    given = memref_type(source)
    if given.get_num_dims() != 1 or given.element_type != IntegerType(8):
        refuse(f"a view is of bytes, a flat buffer of i8, not of {given}")
    element = given.element_type if dtype is None else convert_type(dtype)
    sizes = [as_int(size, "a size of the view") for size in as_list(shape, "the shape of a view")]
    space = given.memory_space if memory_space is None else memory_space
    kind = MemRefType(element, sizes, memory_space=space)
    first = as_index(shift * element_bytes(kind))
    return MemRefValue(
        build(ops.ViewOp, results=[kind], source=source, byte_shift=first, sizes=[], loc=loc, ip=ip).result
    )


def global_(
    initial_value: Any = None,
    *,
    sym_name: str,
    type: Any = None,
    constant: bool = False,
    sym_visibility: str | None = "private",
    loc: Any = None,
    ip: Any = None,
) -> OpView:
    """`memref.global`: data with a name, from an array or only by its type."""
    array = None if initial_value is None else np.asarray(initial_value)
    if type is not None:
        kind = convert_type(type)
    elif array is not None:
        kind = memref(array.shape, array.dtype.type)
    else:
        refuse("data has a type or an initial value")
    if not is_buffer_type(kind):
        refuse(f"data is a buffer, not {kind}")
    # a unit stands for data that is there, but not known
    contents = UnitAttr() if array is None else elements(array, TensorType(kind.element_type, kind.get_shape()))
    return OpView(
        build(
            ops.GlobalOp,
            sym_name=sym_name,
            type=kind,
            initial_value=contents,
            constant=UnitAttr() if constant else None,
            sym_visibility=sym_visibility,
            loc=loc,
            ip=ip,
        )
    )


def get_global(result: Any, name: Any, *, loc: Any = None, ip: Any = None) -> MemRefValue:
    """`memref.get_global`: the buffer that `global_` named."""
    named = SymbolRefAttr(symbol_name(name) or refuse("expected the name of data"))
    return MemRefValue(build(ops.GetGlobalOp, results=[convert_type(result)], name=named, loc=loc, ip=ip).results[0])
