"""Tracing a memref through casts, views and subviews to the argument of the runtime sequence that it is part of."""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import BlockArgument, SSAValue

from tilewright.dialects import memref
from tilewright.dialects._strides import strided_form
from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.aie.lookup import constant_value


class ArgumentPart(NamedTuple):
    """A contiguous part of an argument."""

    argument: BlockArgument
    offset_bytes: int


def trace_to_argument(value: SSAValue) -> ArgumentPart | None:
    """Follow casts, views and contiguous subviews back to the argument that they are part of."""
    offset = 0
    while not isinstance(value, BlockArgument):
        match value.owner:
            case memref.CastOp() as op:
                step = 0
            case memref.ReinterpretCastOp() as op:
                # As mlir-aie: a reinterpretation of a strided buffer is not followed, whatever layout it gives.
                step = 0 if _is_dense(cast(MemRefType, op.source.type)) else None
            case memref.SubviewOp() as op:
                step = _subview_offset(op)
            case memref.ViewOp() as op:
                step = None if op.sizes else constant_value(op.byte_shift)
            case _:
                return None
        if step is None:
            return None
        offset += step  # in bytes: a view may change the type of the elements
        value = op.source
    return ArgumentPart(value, offset)


def _is_dense(type: MemRefType) -> bool:
    match type.layout:
        case NoneAttr():
            return True
        case StridedLayoutAttr() as layout:
            return all(stride == 1 for stride in layout.get_strides())
        case _:
            return True


def _subview_offset(op: memref.SubviewOp) -> int | None:
    """How far into its source a subview begins, in bytes; none unless it is known and the subview is row-major."""
    source, result = cast(MemRefType, op.source.type), op.result.type
    lists = [values.get_values() for values in (op.static_offsets, op.static_sizes, op.static_strides)]
    if any(DYNAMIC_INDEX in values for values in lists) or any(stride != 1 for stride in lists[2]):
        return None
    # offsets of layouts count from the start of the allocation
    before, after = strided_form(source), strided_form(result)
    if before is None or after is None or before.offset is None or after.offset is None:
        return None
    expected = 1  # stride of a row-major dimension, from the innermost out; one of size 1 takes no step
    for position, (size, stride) in enumerate(reversed(list(zip(result.get_shape(), after.strides, strict=True)))):
        if stride != expected and (position == 0 or size > 1):
            return None
        expected *= size
    return (after.offset - before.offset) * element_bytes(source)
