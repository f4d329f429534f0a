"""`memref`: the same memory under another type, or a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import memref
from tilewright.dialects.memref.reshape import TransposeOp
from tilewright.dialects.memref.types import is_ranked, kept_dimensions
from tilewright.ir.diagnostics import fail_op
from tilewright.native.access import (
    ExactNumbers,
    count_elements,
    plus,
    position,
    times,
)
from tilewright.native.lowering import Handler, Lowering
from tilewright.native.values import (
    I8,
    MemRef,
    Untranslatable,
    constant_sizes,
    index,
    known_or,
    number_of,
    strides_of,
)


def mixed(lowering: Lowering, values: Sequence[SSAValue], static: Sequence[int]) -> list[ir.Value]:
    """Numbers of which some are written and the others values."""
    dynamic = iter(values)
    return [lowering[next(dynamic)] if number == DYNAMIC_INDEX else index(number) for number in static]


def _subview(lowering: Lowering, op: memref.SubviewOp) -> None:
    source, result = lowering.memref(op.source), op.result.type
    offsets = mixed(lowering, op.offsets, op.static_offsets.get_values())
    sizes = mixed(lowering, op.sizes, op.static_sizes.get_values())
    steps = mixed(lowering, op.strides, op.static_strides.get_values())
    exact = ExactNumbers(lowering)
    strides = [exact.times(step, stride) for step, stride in zip(steps, source.strides, strict=True)]
    exact.check(op)
    kept = _kept_dimensions(op.static_sizes.get_values(), [number_of(stride) for stride in strides], result)
    offset = position(lowering, op, source, offsets)
    lowering[op.result] = MemRef(
        source.base, source.limit, offset, tuple(sizes[d] for d in kept), tuple(strides[d] for d in kept)
    )


def _kept_dimensions(sizes: Sequence[int], strides: Sequence[int | None], result: MemRefType) -> list[int]:
    found = kept_dimensions(sizes, strides, result.get_shape(), strides_of(result))
    if found is None:
        raise Untranslatable(f"{result} is no part of the source")
    return found


def _reinterpret_cast(lowering: Lowering, op: memref.ReinterpretCastOp) -> None:
    source = lowering.memref(op.source)
    (offset,) = mixed(lowering, op.offsets, op.static_offsets.get_values())
    sizes = mixed(lowering, op.sizes, op.static_sizes.get_values())
    strides = mixed(lowering, op.strides, op.static_strides.get_values())
    lowering[op.result] = MemRef(source.base, source.limit, offset, tuple(sizes), tuple(strides))


def _groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[list[int]]:
    return [[number.value.data for number in group] for group in op.reassociation]


def _collapse_shape(lowering: Lowering, op: memref.CollapseShapeOp) -> None:
    builder, source = lowering.builder, lowering.memref(op.src)
    sizes, strides = list[ir.Value](), list[ir.Value]()
    for group in _groups(op):
        sizes.append(count_elements(builder, [source.sizes[d] for d in group]))
        inner = next((d for d in reversed(group) if number_of(source.sizes[d]) != 1), group[0])
        strides.append(source.strides[inner])
    lowering[op.result] = MemRef(source.base, source.limit, source.offset, tuple(sizes), tuple(strides))


def _expand_shape(lowering: Lowering, op: memref.ExpandShapeOp) -> None:
    builder, source = lowering.builder, lowering.memref(op.src)
    sizes = mixed(lowering, op.output_shape, op.static_output_shape.get_values())
    strides: list[ir.Value] = [index(1)] * len(sizes)
    for group, stride in zip(_groups(op), source.strides, strict=True):
        for dimension in reversed(group):
            strides[dimension] = stride
            stride = times(builder, stride, sizes[dimension])
    lowering[op.result] = MemRef(source.base, source.limit, source.offset, tuple(sizes), tuple(strides))


def _same(lowering: Lowering, op: Operation) -> None:
    """The same memory under another type; what either type knows is known."""
    source = lowering.memref(op.operands[0])
    for result in op.results:
        if not is_ranked(result.type):
            fail_op(op, "has no native translation: its result has no rank")
        sizes = known_or(constant_sizes(result.type), source.sizes)
        strides = known_or(strides_of(result.type), source.strides)
        lowering[result] = MemRef(source.base, source.limit, source.offset, sizes, strides)


def _distinct(lowering: Lowering, op: Operation) -> None:
    for operand, result in zip(op.operands, op.results, strict=True):
        lowering[result] = lowering.memref(operand)


def _view(lowering: Lowering, op: memref.ViewOp) -> None:
    builder, source, type = lowering.builder, lowering.memref(op.source), op.result.type
    shift = plus(builder, source.offset, lowering[op.byte_shift])
    fits = builder.icmp_unsigned("<=", shift, source.limit)
    lowering.trap_unless(op, fits, "begins at byte {} of a buffer that has {}", shift, source.limit)
    base = builder.gep(source.base, [shift], source_etype=I8)
    limit = builder.sub(source.limit, shift)
    sizes = mixed(lowering, op.sizes, type.get_shape())
    lowering[op.result] = MemRef(base, limit, index(0), tuple(sizes), row_major(builder, sizes))


def row_major(builder: ir.IRBuilder, sizes: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
    strides, step = list[ir.Value](), cast(ir.Value, index(1))
    for size in reversed(sizes):
        strides.insert(0, step)
        step = times(builder, step, size)
    return tuple(strides)


def _transpose(lowering: Lowering, op: TransposeOp) -> None:
    source = lowering.memref(op.source)
    sizes, strides = (tuple(values[d] for d in op.order) for values in (source.sizes, source.strides))
    lowering[op.result] = MemRef(source.base, source.limit, source.offset, sizes, strides)


def _metadata(lowering: Lowering, op: memref.ExtractStridedMetaDataOp) -> None:
    source = lowering.memref(op.source)
    lowering[op.base_buffer] = MemRef(source.base, source.limit, index(0), (), ())
    values = [source.offset, *source.sizes, *source.strides]
    lowering.values.update(zip([op.offset, *op.sizes, *op.strides], values, strict=True))


HANDLERS: dict[str, Handler] = {
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reinterpret_cast,
    "memref.collapse_shape": _collapse_shape,
    "memref.expand_shape": _expand_shape,
    "memref.cast": _same,
    "memref.memory_space_cast": _same,
    "memref.assume_alignment": _same,
    "memref.distinct_objects": _distinct,
    "memref.view": _view,
    "memref.transpose": _transpose,
    "memref.extract_strided_metadata": _metadata,
}
