"""Folding and canonical forms of buffers and views of buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, UnrankedMemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects import memref
from tilewright.dialects._strides import strided_form
from tilewright.rewrite.canonicalization import PatternFunction
from tilewright.rewrite.control_flow import sizes_attr
from tilewright.rewrite.effects import children
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import IN_PLACE, Folded, constant_of, defining, index_attr, scalar_int
from tilewright.rewrite.folding.regions import replace_with_region
from tilewright.rewrite.folding.strided_views import (
    Mixed,
    MixedLists,
    View,
    dropped_dimensions,
    is_in_bounds,
    known_int,
    make_view,
    mixed,
    mixed_lists,
    static,
    strided_type,
    subview_type,
    with_constants,
    without_dimensions,
)


def _as_memref(type: Attribute) -> MemRefType | None:
    return cast(MemRefType, type) if isinstance(type, MemRefType) else None


def _cast_to(value: SSAValue, type: Attribute) -> Operation:
    return memref.CastOp.create(operands=(value,), result_types=(type,))


def _is_ranked(op: memref.CastOp) -> bool:
    # a cast to ranked from unranked is what gives the operand its rank
    return not isinstance(op.source.type, UnrankedMemRefType)


def skip_casts(
    op: Operation, *, but: SSAValue | None = None, may_skip: Callable[[memref.CastOp], bool] = _is_ranked
) -> bool:
    """Use what a cast casts instead of the cast, for every operand except `but`."""
    changed = False
    for index, operand in enumerate(op.operands):
        cast_op = defining(operand, memref.CastOp)
        if cast_op is not None and operand is not but and may_skip(cast_op):
            op.operands[index] = cast_op.source
            changed = True
    return changed


def _loses_no_information(op: memref.CastOp) -> bool:
    """Whether the source of a cast says at least as much of shape and layout as its result."""
    source, result = _as_memref(op.source.type), _as_memref(op.dest.type)
    if source is None or result is None:
        return False
    if source.element_type != result.element_type or source.get_num_dims() != result.get_num_dims():
        return False
    before, after = strided_form(source), strided_form(result)
    if before is None or after is None:
        return False
    pairs = [
        *zip(_sizes(source), _sizes(result), strict=True),
        (before.offset, after.offset),
        *zip(before.strides, after.strides, strict=True),
    ]
    return not any(a is None and b is not None for a, b in pairs)


def _sizes(type: MemRefType) -> list[int | None]:
    return [None if size == DYNAMIC_INDEX else size for size in type.get_shape()]


def _fold_access(op: Operation) -> Folded:
    return IN_PLACE if skip_casts(op) else None


def _fold_store(op: Operation) -> Folded:
    return IN_PLACE if skip_casts(op, but=op.operands[0]) else None


def _fold_cast(op: memref.CastOp) -> Folded:
    changed = skip_casts(op)
    if op.source.type == op.dest.type:
        return (op.source,)
    return IN_PLACE if changed else None


def _fold_copy(op: memref.CopyOp) -> Folded:
    return IN_PLACE if skip_casts(op, may_skip=_loses_no_information) else None


def _fold_memory_space_cast(op: memref.MemorySpaceCastOp) -> Folded:
    inner = defining(op.source, memref.MemorySpaceCastOp)
    if inner is not None:
        op.operands = (inner.source,)
    if op.source.type == op.dest.type:
        return (op.source,)
    return IN_PLACE if inner is not None else None


def _fold_rank(op: memref.RankOp) -> Folded:
    type = _as_memref(op.source.type)
    return None if type is None else (index_attr(type.get_num_dims()),)


def _fold_dim(op: memref.DimOp) -> Folded:
    index, type = scalar_int(op.index), _as_memref(op.source.type)
    if index is None or type is None or not 0 <= index < type.get_num_dims():
        return None
    shape = type.get_shape()
    if shape[index] != DYNAMIC_INDEX:
        return (index_attr(shape[index]),)
    position = shape[:index].count(DYNAMIC_INDEX)
    match op.source.owner:
        case memref.AllocOp() | memref.AllocaOp() as alloc:
            return (alloc.dynamic_sizes[position],)
        case memref.ViewOp() as view:
            return (view.sizes[position],)
        case memref.SubviewOp() as view:
            # its result may have fewer dimensions than it has sizes
            _, sizes, _ = mixed_lists(view)
            dropped = dropped_dimensions(cast(MemRefType, view.source.type), type, sizes) or set()
            return _dynamic([size for number, size in enumerate(sizes) if number not in dropped][index])
        case memref.ReinterpretCastOp() as view:
            return _dynamic(mixed_lists(view)[1][index])
        case _:
            return IN_PLACE if skip_casts(op) else None


def _dynamic(size: Mixed) -> Folded:
    return (size,) if isinstance(size, SSAValue) else None


def _all_known(values: Sequence[Mixed], number: int) -> bool:
    return all(known_int(value) == number for value in values)


def _fold_subview(op: memref.SubviewOp) -> Folded:
    source, result = cast(MemRefType, op.source.type), op.result.type
    if source != result:
        return None
    # a type that says all leaves no other view of the source than the whole
    layout = strided_form(result)
    if result.has_static_shape() and layout is not None and None not in (layout.offset, *layout.strides):
        return (op.source,)
    inner = defining(op.source, memref.SubviewOp)
    if inner is None:
        return None
    offsets, sizes, strides = mixed_lists(op)
    same = mixed_lists(inner)[1] == sizes
    return (op.source,) if same and _all_known(offsets, 0) and _all_known(strides, 1) else None


def _fold_reinterpret_cast(op: memref.ReinterpretCastOp) -> Folded:
    source = op.source.owner
    inner = source.source if isinstance(source, memref.ReinterpretCastOp | memref.CastOp) else None
    if isinstance(source, memref.SubviewOp) and _all_known(mixed_lists(source)[0], 0):
        inner = source.source
    if inner is not None:
        op.operands[0] = inner
        return IN_PLACE
    type = op.result.type
    static_offset = op.static_offsets.get_values()[0] == 0
    return (op.source,) if type.has_static_shape() and op.source.type == type and static_offset else None


def _fold_reshape(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> Folded:
    """Undoing a reshape gives what was reshaped."""
    if op.src.type == op.result.type:
        return (op.src,)
    inverse = memref.ExpandShapeOp if isinstance(op, memref.CollapseShapeOp) else memref.CollapseShapeOp
    inner = defining(op.src, inverse)
    if inner is None or inner.src.type != op.result.type:
        return None
    return (inner.src,) if inner.reassociation == op.reassociation else None


def fold_constant_sizes(op: memref.AllocOp | memref.AllocaOp, rewriter: PatternRewriter) -> None:
    """An allocation of a size that is known has a type that says so."""
    sizes = with_constants(op.dynamic_sizes)
    if not any(isinstance(size, int) for size in sizes):
        return
    dynamic = [size for size in sizes if isinstance(size, SSAValue)]
    properties = {**op.properties, "operandSegmentSizes": sizes_attr([len(dynamic), len(op.symbol_operands)])}
    types = [_with_sizes(op.memref.type, sizes)]
    new = type(op).create(operands=(*dynamic, *op.symbol_operands), result_types=types, properties=properties)
    # users expect the old type: the cast to it folds away where it can
    rewriter.replace(op, _cast_to(rewriter.insert(new).results[0], op.memref.type))


def _with_sizes(type: MemRefType, sizes: Sequence[Mixed]) -> MemRefType:
    """The type with these in the place of its dynamic sizes."""
    shape = static(mixed(type.get_shape(), sizes))
    return MemRefType(cast(Any, type.element_type), shape, type.layout, type.memory_space)


def drop_unread_allocation(op: memref.AllocOp | memref.AllocaOp, rewriter: PatternRewriter) -> None:
    """A buffer that is only written and freed need not exist."""
    users = [use.operation for use in op.memref.uses]
    for user in users:
        if isinstance(user, memref.StoreOp):
            # the buffer itself escapes into memory
            if user.value is op.memref:
                return
        elif not isinstance(user, memref.DeallocOp):
            return
    for user in dict.fromkeys(users):
        rewriter.erase(user)
    rewriter.erase(op)


def drop_empty_copy(op: memref.CopyOp, rewriter: PatternRewriter) -> None:
    if any((type := _as_memref(v.type)) is not None and 0 in type.get_shape() for v in op.operands):
        rewriter.erase(op)


def drop_self_copy(op: memref.CopyOp, rewriter: PatternRewriter) -> None:
    if op.source is op.destination:
        rewriter.erase(op)


def subview_with_constants(op: memref.SubviewOp, rewriter: PatternRewriter) -> None:
    """A view whose bounds are known has a type that says so."""
    known = _known_lists(op)
    if known is not None:
        _view_instead(op, op.source, known, rewriter)


def _known_lists(op: View) -> MixedLists | None:
    """Offsets, sizes and strides with numbers for those that are constants; None if there are none."""
    lists = offsets, sizes, strides = mixed_lists(op)
    known = with_constants(offsets), with_constants(sizes), with_constants(strides, allow_negative=True)
    return None if all(static(a) == static(b) for a, b in zip(lists, known, strict=True)) else known


def subview_of_cast(op: memref.SubviewOp, rewriter: PatternRewriter) -> None:
    """View what was cast, and cast the view."""
    cast_op = defining(op.source, memref.CastOp)
    if cast_op is None or not _loses_no_information(cast_op):
        return
    # subview_with_constants is to go first, as in MLIR
    if any(constant_of(operand) is not None for operand in op.operands):
        return
    _view_instead(op, cast_op.source, mixed_lists(op), rewriter)


def _view_instead(op: memref.SubviewOp, source: SSAValue, lists: MixedLists, rewriter: PatternRewriter) -> None:
    """Replace a view by one of `source`, with these offsets, sizes and strides, if they are in bounds."""
    buffer = cast(MemRefType, source.type)
    if not is_in_bounds(buffer.get_shape(), *lists):
        return
    dropped = dropped_dimensions(cast(MemRefType, op.source.type), op.result.type, mixed_lists(op)[1])
    type = subview_type(buffer, *lists)
    type = without_dimensions(type, dropped) if type is not None and dropped is not None else None
    if type is not None:
        view = rewriter.insert(make_view(memref.SubviewOp, type, source, *lists)).results[0]
        rewriter.replace(op, _cast_to(view, op.result.type))


def drop_whole_subview(op: memref.SubviewOp, rewriter: PatternRewriter) -> None:
    """A view of all of a buffer is the buffer."""
    source, result = cast(MemRefType, op.source.type), op.result.type
    offsets, sizes, strides = mixed_lists(op)
    if source.get_num_dims() != result.get_num_dims() or not _all_known(offsets, 0) or not _all_known(strides, 1):
        return
    if [known_int(size) for size in sizes] != list(source.get_shape()):
        return
    if source == result:
        rewriter.replace(op, (), (op.source,))
    else:
        rewriter.replace(op, _cast_to(op.source, result))


def reinterpret_with_constants(op: memref.ReinterpretCastOp, rewriter: PatternRewriter) -> None:
    known = _known_lists(op)
    if known is None:
        return
    offset, shape, steps = static(known[0])[0], static(known[1]), static(known[2])
    dynamic = [None if step == DYNAMIC_INDEX else step for step in steps]
    type = strided_type(op.result.type, shape, dynamic, None if offset == DYNAMIC_INDEX else offset)
    view = rewriter.insert(make_view(memref.ReinterpretCastOp, type, op.source, *known)).results[0]
    rewriter.replace(op, _cast_to(view, op.result.type))


def use_known_metadata(op: memref.ExtractStridedMetaDataOp, rewriter: PatternRewriter) -> None:
    """Offset, sizes and strides that the type of a buffer gives are constants."""
    type = cast(MemRefType, op.source.type)
    layout = strided_form(type)
    known = [layout.offset if layout is not None else None, *_sizes(type)]
    known += layout.strides if layout is not None else ()
    for result, value in zip(op.results[1:], known, strict=False):
        if value is not None and result.first_use is not None:
            rewriter.replace_all_uses_with(result, Emitter(rewriter).index(value))


def view_with_constants(op: memref.ViewOp, rewriter: PatternRewriter) -> None:
    sizes = with_constants(op.sizes, allow_negative=True)
    type = _with_sizes(op.result.type, sizes)
    if type == op.result.type:
        return
    operands = (op.source, op.byte_shift, *(size for size in sizes if isinstance(size, SSAValue)))
    view = rewriter.insert(memref.ViewOp.create(operands=operands, result_types=(type,))).results[0]
    rewriter.replace(op, _cast_to(view, op.result.type))


def view_of_cast(op: memref.ViewOp, rewriter: PatternRewriter) -> None:
    cast_op = defining(op.source, memref.CastOp)
    # MLIR's condition: a view needs all bytes of a buffer, one after the other
    if cast_op is not None and isinstance(cast_op.source.owner, memref.AllocOp):
        operands = (cast_op.source, *op.operands[1:])
        rewriter.replace(op, memref.ViewOp.create(operands=operands, result_types=(op.result.type,)))


def inline_scope(op: memref.AllocaScopeOp, rewriter: PatternRewriter) -> None:
    """A scope that frees nothing earlier than what surrounds it does not matter."""
    if _allocates_on_stack(op):
        parent, block = op.parent_op(), op.parent
        if parent is None or block is None or parent.name not in _ALLOCATION_SCOPES:
            return
        # only the terminator may follow, or what is allocated would be held longer than before
        if op.next_op is not block.last_op or block.next_block is not None or block.prev_block is not None:
            return
    replace_with_region(op, rewriter, op.scope)


_ALLOCATION_SCOPES = frozenset(
    {"aie.core", "affine.for", "affine.parallel", "func.func", "memref.alloca_scope"}
    | {"scf.for", "scf.forall", "scf.parallel"}
)
"""Stack allocations in these end with them."""


def _allocates_on_stack(op: Operation) -> bool:
    return any(
        isinstance(nested, memref.AllocaOp) or (nested.name not in _ALLOCATION_SCOPES and _allocates_on_stack(nested))
        for nested in children(op)
    )


FOLDERS: dict[str, Callable[[Any], Folded]] = {
    "memref.atomic_rmw": _fold_store,
    "memref.cast": _fold_cast,
    "memref.collapse_shape": _fold_reshape,
    "memref.copy": _fold_copy,
    "memref.dealloc": _fold_access,
    "memref.dim": _fold_dim,
    "memref.dma_start": _fold_access,
    "memref.dma_wait": _fold_access,
    "memref.expand_shape": _fold_reshape,
    "memref.load": _fold_access,
    "memref.memory_space_cast": _fold_memory_space_cast,
    "memref.prefetch": _fold_access,
    "memref.rank": _fold_rank,
    "memref.reinterpret_cast": _fold_reinterpret_cast,
    "memref.store": _fold_store,
    "memref.subview": _fold_subview,
}

PATTERNS: dict[str, Sequence[PatternFunction]] = {
    "memref.alloc": (fold_constant_sizes, drop_unread_allocation),
    "memref.alloca": (fold_constant_sizes, drop_unread_allocation),
    "memref.alloca_scope": (inline_scope,),
    "memref.copy": (drop_empty_copy, drop_self_copy),
    "memref.extract_strided_metadata": (use_known_metadata,),
    "memref.reinterpret_cast": (reinterpret_with_constants,),
    "memref.subview": (subview_with_constants, subview_of_cast, drop_whole_subview),
    "memref.view": (view_with_constants, view_of_cast),
}
