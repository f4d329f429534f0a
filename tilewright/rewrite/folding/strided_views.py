"""Offsets, sizes and strides that are partly numbers and partly values, and the memref types they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, MemRefType, StridedLayoutAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects._strides import strided_form
from tilewright.dialects.memref import ReinterpretCastOp, SubviewOp
from tilewright.rewrite.control_flow import sizes_attr
from tilewright.rewrite.folding.constants import scalar_int

Mixed: TypeAlias = "int | SSAValue"
View: TypeAlias = SubviewOp | ReinterpretCastOp
MixedLists: TypeAlias = "tuple[list[Mixed], list[Mixed], list[Mixed]]"
"""Offsets, sizes and strides of a view."""


def mixed(numbers: Sequence[int], dynamic: Sequence[Mixed]) -> list[Mixed]:
    """The numbers, with others or values in the gaps."""
    values = iter(dynamic)
    return [next(values) if number == DYNAMIC_INDEX else number for number in numbers]


def mixed_lists(op: View) -> MixedLists:
    return (
        mixed(op.static_offsets.get_values(), op.offsets),
        mixed(op.static_sizes.get_values(), op.sizes),
        mixed(op.static_strides.get_values(), op.strides),
    )


def known_int(value: Mixed) -> int | None:
    return value if isinstance(value, int) else scalar_int(value)


def with_constants(values: Sequence[Mixed], *, allow_negative: bool = False) -> list[Mixed]:
    """`values`, with numbers for those that are constants."""

    def known(value: Mixed) -> Mixed:
        number = None if isinstance(value, int) else scalar_int(value)
        # a negative size is an error that must stay one at run time
        return value if number is None or (number < 0 and not allow_negative) else number

    return [known(value) for value in values]


def static(values: Sequence[Mixed]) -> list[int]:
    return [value if isinstance(value, int) else DYNAMIC_INDEX for value in values]


def make_view(
    kind: type[SubviewOp | ReinterpretCastOp],
    type: Attribute,
    source: SSAValue,
    offsets: Sequence[Mixed],
    sizes: Sequence[Mixed],
    strides: Sequence[Mixed],
) -> Operation:
    lists = (offsets, sizes, strides)
    dynamic = [[value for value in values if isinstance(value, SSAValue)] for values in lists]
    names = ("static_offsets", "static_sizes", "static_strides")
    properties: dict[str, Attribute] = {
        name: DenseArrayBase.from_list(i64, static(values)) for name, values in zip(names, lists, strict=True)
    }
    properties["operandSegmentSizes"] = sizes_attr([1, *map(len, dynamic)])
    operands = (source, *chain.from_iterable(dynamic))
    return kind.create(operands=operands, result_types=[type], properties=properties)


def strided_type(
    like: MemRefType, shape: Sequence[int], strides: Sequence[int | None], offset: int | None
) -> MemRefType:
    return MemRefType(cast(Any, like.element_type), shape, StridedLayoutAttr(strides, offset), like.memory_space)


def subview_type(
    source: MemRefType, offsets: Sequence[Mixed], sizes: Sequence[Mixed], strides: Sequence[Mixed]
) -> MemRefType | None:
    """The type of a subview that drops no dimension."""
    layout = strided_form(source)
    if layout is None:
        return None
    offset = layout.offset
    for start, stride in zip(offsets, layout.strides, strict=True):
        step = _product(start if isinstance(start, int) else None, stride)
        offset = offset + step if offset is not None and step is not None else None
    steps = [
        _product(stride, by if isinstance(by, int) else None)
        for stride, by in zip(layout.strides, strides, strict=True)
    ]
    return strided_type(source, static(sizes), steps, offset)


def is_in_bounds(
    shape: Sequence[int], offsets: Sequence[Mixed], sizes: Sequence[Mixed], strides: Sequence[Mixed]
) -> bool:
    """Whether a view reaches outside of its source in no dimension where all is known."""
    for limit, offset, size, stride in zip(shape, offsets, sizes, strides, strict=True):
        if limit == DYNAMIC_INDEX or not isinstance(offset, int):
            continue
        if offset >= limit:
            return False
        if isinstance(size, int) and isinstance(stride, int) and offset + (size - 1) * stride >= limit:
            return False
    return True


def _product(a: int | None, b: int | None) -> int | None:
    # 0 even if the other one is not known
    if a == 0 or b == 0:
        return 0
    return a * b if a is not None and b is not None else None


def dropped_dimensions(source: MemRefType, result: MemRefType, sizes: Sequence[Mixed]) -> set[int] | None:
    """Which dimensions of `source`, of size one, a view of type `result` does without."""
    rank = source.get_num_dims()
    if rank == result.get_num_dims():
        return set()
    unit = {index for index, size in enumerate(sizes) if isinstance(size, int) and size == 1}
    if len(unit) + result.get_num_dims() == rank:
        return unit
    before, after = strided_form(source), strided_form(result)
    if before is None or after is None:
        return None
    # which of several dimensions of size one is gone shows in the strides that are left
    remaining, wanted = Counter(before.strides), Counter(after.strides)
    dropped: set[int] = set()
    for index in sorted(unit):
        stride = before.strides[index]
        if remaining[stride] > wanted[stride]:
            remaining[stride] -= 1
            dropped.add(index)
        elif remaining[stride] < wanted[stride]:
            return None
    return dropped if len(dropped) + result.get_num_dims() == rank else None


def without_dimensions(type: MemRefType, dropped: set[int]) -> MemRefType | None:
    layout = strided_form(type)
    if not dropped or layout is None:
        return type
    kept = [index for index in range(type.get_num_dims()) if index not in dropped]
    shape = type.get_shape()
    return strided_type(type, [shape[i] for i in kept], [layout.strides[i] for i in kept], layout.offset)
