"""`vector`: a few numbers per lane, and rows of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, BoolAttr, IntegerAttr, VectorType
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import vector
from tilewright.dialects.vector import shape
from tilewright.gpu.emulator.builder import Builder, Handler
from tilewright.gpu.emulator.lower_memory import PLAIN, extent, position
from tilewright.gpu.emulator.lower_numbers import COMBINED
from tilewright.gpu.emulator.values import Constant, MemRef, Operand, Unsupported, kind_of


def _pattern(buffer: MemRef, type: VectorType) -> np.ndarray:
    """Where the elements of a vector are, from its first one on: it lies along the last dimensions."""
    sizes = tuple(type.get_shape())
    strides = buffer.strides[len(buffer.strides) - len(sizes) :]
    if len(strides) < len(sizes) or not all(isinstance(stride, Constant) for stride in strides):
        raise Unsupported("how the rows of the buffer lie must be known")
    numbers = [cast(Constant, stride).value for stride in strides]
    grid = np.indices(sizes, dtype=np.int64)
    return sum((axis * stride for axis, stride in zip(grid, numbers, strict=True)), np.zeros(sizes, np.int64))


def _load_rows(b: Builder, result: SSAValue, base: SSAValue, indices: Sequence[SSAValue]) -> None:
    buffer, type = b.memref(base), cast(VectorType, result.type)
    place, made = position(b, buffer, [b[value] for value in indices]), b.register(kind_of(type))
    b.effect(
        "load",
        *(buffer.pointer, place),
        outs=[made],
        space=buffer.space,
        kind=buffer.kind,
        limit=extent(buffer),
        order=PLAIN,
        pattern=_pattern(buffer, type),
    )
    b[result] = made


def _store_rows(b: Builder, value: SSAValue, base: SSAValue, indices: Sequence[SSAValue]) -> None:
    buffer = b.memref(base)
    place = position(b, buffer, [b[value] for value in indices])
    b.effect(
        "store",
        *(b[value], buffer.pointer, place),
        space=buffer.space,
        kind=buffer.kind,
        limit=extent(buffer),
        order=PLAIN,
        pattern=_pattern(buffer, cast(VectorType, value.type)),
    )


def _load(b: Builder, op: Operation) -> None:
    assert isinstance(op, vector.LoadOp)
    _load_rows(b, op.result, op.base, op.indices)


def _store(b: Builder, op: Operation) -> None:
    assert isinstance(op, vector.StoreOp)
    _store_rows(b, op.vector, op.base, op.indices)


def _check_plain(op: Operation, mask: SSAValue | None) -> None:
    map = cast(AffineMapAttr, op.properties["permutation_map"]).data
    bounds = cast("ArrayAttr[BoolAttr]", op.properties["in_bounds"])
    if mask is not None or not map.is_minor_identity() or not all(bound.value.data for bound in bounds):
        raise Unsupported("only transfers of whole rows that are in bounds; lower it to loops first")


def _transfer_read(b: Builder, op: Operation) -> None:
    assert isinstance(op, vector.TransferReadOp)
    _check_plain(op, op.mask)
    _load_rows(b, op.result, op.source, op.indices)


def _transfer_write(b: Builder, op: Operation) -> None:
    assert isinstance(op, vector.TransferWriteOp)
    _check_plain(op, op.mask)
    _store_rows(b, op.vector, op.source, op.indices)


def _broadcast(b: Builder, op: Operation) -> None:
    b[op.results[0]] = b.emit("vbroadcast", kind_of(op.results[0].type), b[op.operands[0]])


def _static(position: Sequence[Operand]) -> tuple[int, ...] | None:
    found = tuple(part.value for part in position if isinstance(part, Constant))
    return found if len(found) == len(position) else None


def _extract(b: Builder, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    position = b.mixed(op.dynamic_position, op.static_position.get_values())
    kind, value, static = kind_of(op.result.type), b[op.vector], _static(position)
    if static is not None:
        b[op.result] = b.emit("vextract", kind, value, position=static)
    elif len(position) == 1 and not kind.shape:
        b[op.result] = b.emit("vpick", kind, value, position[0])
    else:
        raise Unsupported("which part it takes must be known")


def _insert(b: Builder, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    static = _static(b.mixed(op.dynamic_position, op.static_position.get_values()))
    if static is None:
        raise Unsupported("where it inserts must be known")
    b[op.result] = b.emit("vinsert", kind_of(op.result.type), b[op.source], b[op.dest], position=static)


def _shape_cast(b: Builder, op: Operation) -> None:
    b[op.results[0]] = b.emit("vreshape", kind_of(op.results[0].type), b[op.operands[0]])


def _integers(array: ArrayAttr[IntegerAttr]) -> list[int]:
    return [entry.value.data for entry in array]


def _extract_slice(b: Builder, op: Operation) -> None:
    assert isinstance(op, shape.ExtractStridedSliceOp)
    kind = kind_of(op.result.type)
    starts = _integers(op.offsets)
    ends = [start + size for start, size in zip(starts, kind.shape, strict=False)]
    b[op.result] = b.emit("vslice", kind, b[op.source], starts=tuple(starts), ends=tuple(ends))


def _from_elements(b: Builder, op: Operation) -> None:
    b[op.results[0]] = b.emit("vgather", kind_of(op.results[0].type), *b.operands(op))


def _to_elements(b: Builder, op: Operation) -> None:
    value = b[op.operands[0]]
    for result, place in zip(op.results, np.ndindex(*value.kind.shape), strict=True):
        b[result] = b.emit("vextract", kind_of(result.type), value, position=tuple(place))


def _reduction(b: Builder, op: Operation) -> None:
    assert isinstance(op, vector.ReductionOp)
    kind, combine = kind_of(op.dest.type), str(op.kind.data[0] if isinstance(op.kind.data, tuple) else op.kind.data)
    result = b.emit("vreduce", kind, b[op.vector], combine=combine)
    if op.acc is not None:
        result = b.emit(COMBINED[combine, kind.is_float], kind, result, b[op.acc])
    b[op.dest] = result


def _fma(b: Builder, op: Operation) -> None:
    b[op.results[0]] = b.emit("math", kind_of(op.results[0].type), *b.operands(op), function="fma")


HANDLERS: dict[str, Handler] = {
    "vector.load": _load,
    "vector.store": _store,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
    "vector.broadcast": _broadcast,
    "vector.splat": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shape_cast": _shape_cast,
    "vector.extract_strided_slice": _extract_slice,
    "vector.from_elements": _from_elements,
    "vector.to_elements": _to_elements,
    "vector.reduction": _reduction,
    "vector.fma": _fma,
}
