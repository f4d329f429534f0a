"""Other ways to get a buffer: allocations in a function, views of a buffer, named data of the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)

from tilewright.dialects import memref as ops
from tilewright.dialects.memref.views import subview_type
from tilewright.iron.builders.attributes import symbol_name
from tilewright.iron.builders.checks import as_int, as_list
from tilewright.iron.builders.elements import elements
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.memrefs import MemRefValue, memref_type
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.python_values import is_list
from tilewright.iron.builders.types import convert_type, is_buffer_type, memref


def _allocation(op_class: Any) -> Any:
    def make(*shape: Any, element_type: Any = None, loc: Any = None, ip: Any = None) -> MemRefValue:
        parts = [*shape]
        if element_type is None:
            element_type = parts.pop() if parts else refuse("a buffer has a type of elements")
        sizes = parts[0] if len(parts) == 1 and is_list(parts[0]) else parts
        op = build(op_class, results=[memref(sizes, element_type)], loc=loc, ip=ip)
        return MemRefValue(op.results[0])

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
    type = convert_type(result)
    op = build(ops.CollapseShapeOp, results=[type], src=src, reassociation=groups, loc=loc, ip=ip)
    return MemRefValue(op.results[0])


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
    tensor = TensorType(kind.element_type, kind.get_shape())
    contents = UnitAttr() if array is None else elements(array, tensor)
    op = build(
        ops.GlobalOp,
        sym_name=sym_name,
        type=kind,
        initial_value=contents,
        constant=UnitAttr() if constant else None,
        sym_visibility=sym_visibility,
        loc=loc,
        ip=ip,
    )
    return OpView(op)


def get_global(result: Any, name: Any, *, loc: Any = None, ip: Any = None) -> MemRefValue:
    """`memref.get_global`: the buffer that `global_` named."""
    named = SymbolRefAttr(symbol_name(name) or refuse("expected the name of data"))
    return MemRefValue(build(ops.GetGlobalOp, results=[convert_type(result)], name=named, loc=loc, ip=ip).results[0])
