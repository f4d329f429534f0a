"""`memref`: the same memory under another type, or a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import memref
from tilewright.dialects.memref.reshape import TransposeOp
from tilewright.dialects.memref.types import kept_dimensions
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder, memref_of_parts, strided
from tilewright.gpu.emulator.lower_memory import position
from tilewright.gpu.emulator.program import Constant, MemRefParts, Operand, Unsupported, index, kind_of


def _subview(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, memref.SubviewOp)
    source, type = b.memref(op.source), op.result.type
    offsets = b.mixed(op.offsets, op.static_offsets.get_values())
    sizes = b.mixed(op.sizes, op.static_sizes.get_values())
    steps = b.mixed(op.strides, op.static_strides.get_values())
    strides = [b.place(index(0), pair) for pair in zip(steps, source.strides, strict=True)]
    # the type of the result may leave dimensions of one element out
    kept = _kept(list(op.static_sizes.get_values()), strides, type)
    b[op.result] = MemRefParts(
        *(source.kind, source.space, source.pointer, position(b, source, offsets)),
        *(tuple(sizes[d] for d in kept), tuple(strides[d] for d in kept)),
    )


def _kept(sizes: Sequence[int], strides: Sequence[Operand], result: MemRefType) -> list[int]:
    known = [stride.value if isinstance(stride, Constant) else None for stride in strides]
    found = kept_dimensions(sizes, known, result.get_shape(), strided(result).strides)
    if found is None:
        raise Unsupported(f"{result} is no part of the source")
    return found


def _reinterpret_cast(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, memref.ReinterpretCastOp)
    source = b.memref(op.source)
    (offset,) = b.mixed(op.offsets, op.static_offsets.get_values())
    sizes = b.mixed(op.sizes, op.static_sizes.get_values())
    strides = b.mixed(op.strides, op.static_strides.get_values())
    b[op.result] = MemRefParts(source.kind, source.space, source.pointer, offset, tuple(sizes), tuple(strides))


def _groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[list[int]]:
    return [[number.value.data for number in group] for group in op.reassociation]


def _collapse_shape(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, memref.CollapseShapeOp)
    source, sizes, strides = b.memref(op.src), list[Operand](), list[Operand]()
    for group in _groups(op):
        sizes.append(reduce(b.times, [source.sizes[d] for d in group]))
        # dimensions of one element may have any stride
        inner = next((d for d in reversed(group) if source.sizes[d] != index(1)), group[0])
        strides.append(source.strides[inner])
    b[op.result] = MemRefParts(source.kind, source.space, source.pointer, source.offset, tuple(sizes), tuple(strides))


def _expand_shape(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, memref.ExpandShapeOp)
    source = b.memref(op.src)
    sizes = b.mixed(op.output_shape, op.static_output_shape.get_values())
    strides: list[Operand] = [index(1)] * len(sizes)
    for group, stride in zip(_groups(op), source.strides, strict=True):
        for dimension in reversed(group):
            strides[dimension] = stride
            stride = b.place(index(0), (stride, sizes[dimension]))
    b[op.result] = MemRefParts(source.kind, source.space, source.pointer, source.offset, tuple(sizes), tuple(strides))


def _same(b: ProgramBuilder, op: Operation) -> None:
    """The same memory under another type; what either type knows is known."""
    source = b.memref(op.operands[0])
    for result in op.results:
        type = cast(MemRefType, result.type)
        form = strided(type)
        known = [None, form.offset, *type.get_shape(), *form.strides]
        parts = [
            part if number is None or number == DYNAMIC_INDEX else index(number)
            for part, number in zip(source.parts, known, strict=True)
        ]
        made = memref_of_parts(type, parts)
        b[result] = MemRefParts(made.kind, source.space, *(made.pointer, made.offset, made.sizes, made.strides))


def _view(b: ProgramBuilder, op: Operation) -> None:
    """Other elements in the same bytes."""
    assert isinstance(op, memref.ViewOp)
    source, type = b.memref(op.source), op.result.type
    # the source is a buffer of bytes, so its offset counts bytes
    pointer = b.plus(source.pointer, b.plus(source.offset, b[op.byte_shift]))
    sizes = b.mixed(op.sizes, type.get_shape())
    strides, step = list[Operand](), cast(Operand, index(1))
    for size in reversed(sizes):
        strides.insert(0, step)
        step = b.place(index(0), (step, size))
    kind = kind_of(type.element_type)
    b[op.result] = MemRefParts(kind, source.space, pointer, index(0), tuple(sizes), tuple(strides))


def _transpose(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, TransposeOp)
    source = b.memref(op.source)
    sizes, strides = (tuple(values[d] for d in op.order) for values in (source.sizes, source.strides))
    b[op.result] = MemRefParts(source.kind, source.space, source.pointer, source.offset, sizes, strides)


def _metadata(b: ProgramBuilder, op: Operation) -> None:
    assert isinstance(op, memref.ExtractStridedMetaDataOp)
    source = b.memref(op.source)
    b[op.base_buffer] = MemRefParts(source.kind, source.space, source.pointer, index(0), (), ())
    targets: list[SSAValue] = [op.offset, *op.sizes, *op.strides]
    for target, value in zip(targets, [source.offset, *source.sizes, *source.strides], strict=True):
        b[target] = value


HANDLERS: dict[str, Handler] = {
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reinterpret_cast,
    "memref.collapse_shape": _collapse_shape,
    "memref.expand_shape": _expand_shape,
    "memref.cast": _same,
    "memref.memory_space_cast": _same,
    "memref.assume_alignment": _same,
    "memref.view": _view,
    "memref.transpose": _transpose,
    "memref.extract_strided_metadata": _metadata,
}
