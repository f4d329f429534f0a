"""Transfers of views become transfers of the buffers behind them, where offsets, sizes and strides can say the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap, AffineSymExpr
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects import affine, memref
from tilewright.dialects._strides import strided_form
from tilewright.dialects.air.accesses import Access
from tilewright.dialects.memref.types import is_ranked, kept_dimensions
from tilewright.rewrite.folding.constants import INDEX
from tilewright.rewrite.folding.strided_views import Mixed, known_int, mixed_lists

VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        "assume_alignment",
        "cast",
        "collapse_shape",
        "expand_shape",
        "memory_space_cast",
        "reinterpret_cast",
        "subview",
        "transpose",
        "view",
    )
)
"""What gives the memory of its first operand another shape."""


class Origin(NamedTuple):
    """Where a view begins in one dimension, and how far apart its elements are in the buffer (None: not known)."""

    offset: Mixed
    stride: int | None
    is_single: bool = False
    """Whether the view has one element in this dimension, so that a smaller shape may leave it out."""

    @property
    def is_zero(self) -> bool:
        return known_int(self.offset) == 0


Origins: TypeAlias = "list[Origin] | None"
Step: TypeAlias = "Callable[[Any, list[Origin], PatternRewriter], Origins]"
ZERO = Origin(0, None)


def compose_views(access: Access, rewriter: PatternRewriter) -> Access | None:
    """The same part of memory in terms of the buffer behind the views; None if there are none or it cannot be said."""
    chain = _chain(access.memref)
    if not chain:
        return None
    root, origins = _start(chain[0])
    for op in chain:
        step = _STEPS.get(op.name)
        if origins is not None:
            origins = _without_left_out(origins, op.operands[0])
        if origins is None or step is None:
            return None
        origins = step(op, origins, rewriter)
    sink = chain[-1].results[0].type
    if origins is None or not isinstance(sink, MemRefType):
        return None
    return _rebuilt(access, root, origins, cast(MemRefType, sink), rewriter)


def _chain(viewed: SSAValue) -> list[Operation]:
    """The views between a buffer and `viewed`, outermost last."""
    chain: list[Operation] = []
    maker = viewed.owner
    while isinstance(maker, Operation) and maker.name in VIEWS:
        chain.append(maker)
        maker = maker.operands[0].owner
    return chain[::-1]


def _start(first: Operation) -> tuple[SSAValue, Origins]:
    """The buffer behind the first view, and its origin."""
    root = first.operands[0]
    if not is_ranked(root.type):
        return root, []
    # a buffer whose layout is no strides (an affine map) cannot be counted in
    form = strided_form(root.type)
    return root, None if form is None else [Origin(0, stride) for stride in form.strides]


def _without_left_out(origins: list[Origin], view: SSAValue) -> Origins:
    """The origins without those of dimensions that a subview has left out; None if it begins inside of one of them."""
    maker = view.owner
    if not isinstance(maker, memref.SubviewOp):
        return origins
    type = cast(MemRefType, view.type)
    if len(origins) == type.get_num_dims():
        return origins
    # Several dimensions may have one element. Which of them are gone is told by the strides of what is left.
    source, result = strided_form(cast(MemRefType, maker.source.type)), strided_form(type)
    if source is None or result is None:
        return None
    kept = kept_dimensions(maker.static_sizes.get_values(), source.strides, type.get_shape(), result.strides)
    if kept is None or any(not origin.is_zero for number, origin in enumerate(origins) if number not in kept):
        return None
    return [origins[number] for number in kept]


def _reinterpret(op: memref.ReinterpretCastOp, origins: list[Origin], rewriter: PatternRewriter) -> Origins:
    """The one offset counts elements from the start of the buffer, so it belongs to the innermost dimension."""
    offsets, sizes, _ = mixed_lists(op)
    if not all(origin.is_zero for origin in origins):
        return None
    return [ZERO] * (len(sizes) - 1) + [Origin(offsets[0], 1)]


def _subview(op: memref.SubviewOp, origins: list[Origin], rewriter: PatternRewriter) -> Origins:
    offsets, sizes, steps = mixed_lists(op)
    if len(offsets) != len(origins) or any(known_int(step) != 1 for step in steps):
        return None
    return [
        Origin(add_offsets(rewriter, origin.offset, offset), origin.stride, known_int(size) == 1)
        for origin, offset, size in zip(origins, offsets, sizes, strict=True)
    ]


def _transpose(op: memref.TransposeOp, origins: list[Origin], rewriter: PatternRewriter) -> Origins:
    order = [cast(AffineDimExpr, result).position for result in op.permutation.data.results]
    return [origins[position] for position in order] if len(order) == len(origins) else None


def _expand(op: memref.ExpandShapeOp, origins: list[Origin], rewriter: PatternRewriter) -> Origins:
    """The elements of the innermost new dimension are those that were next to each other."""
    groups = _groups(op)
    if len(groups) != len(origins):
        return None
    return [new for group, origin in zip(groups, origins, strict=True) for new in [*[ZERO] * (len(group) - 1), origin]]


def _collapse(op: memref.CollapseShapeOp, origins: list[Origin], rewriter: PatternRewriter) -> Origins:
    groups, shape = _groups(op), cast(MemRefType, op.src.type).get_shape()
    if sum(map(len, groups)) != len(origins):
        return None
    collapsed = [_collapsed([origins[dim] for dim in group], [shape[dim] for dim in group]) for group in groups]
    found = [origin for origin in collapsed if origin is not None]
    return found if len(found) == len(groups) else None


def _collapsed(origins: Sequence[Origin], sizes: Sequence[int]) -> Origin | None:
    """One origin for dimensions that follow each other in memory."""
    stride = origins[-1].stride
    moved = [number for number, origin in enumerate(origins) if not origin.is_zero]
    if not moved:
        return Origin(0, stride)
    # several offsets would have to be added in units of the innermost one
    if len(moved) > 1 or DYNAMIC_INDEX in sizes[moved[0] + 1 :]:
        return None
    factor, offset = prod(sizes[moved[0] + 1 :]), origins[moved[0]].offset
    if factor == 1:
        return Origin(offset, stride)
    number = known_int(offset)
    return None if number is None else Origin(number * factor, stride)


def _groups(op: memref.ExpandShapeOp | memref.CollapseShapeOp) -> list[list[int]]:
    return [[dim.value.data for dim in group] for group in cast(Any, op.reassociation)]


_STEPS: dict[str, Step] = {
    "memref.cast": lambda op, origins, rewriter: origins,
    "memref.collapse_shape": _collapse,
    "memref.expand_shape": _expand,
    "memref.reinterpret_cast": _reinterpret,
    "memref.subview": _subview,
    "memref.transpose": _transpose,
}


def _rebuilt(
    access: Access, root: SSAValue, origins: list[Origin], sink: MemRefType, rewriter: PatternRewriter
) -> Access | None:
    """The access with the origin of the view added; None if its strides would move the origin elsewhere."""
    form, shape = strided_form(sink), sink.get_shape()
    sizes: list[Mixed] = list(access.sizes or shape)
    strides: list[Mixed | None] = list(access.strides) if access.strides or form is None else list(form.strides)
    if None in strides or (not access.sizes and DYNAMIC_INDEX in shape) or len(sizes) != len(strides):
        return None
    length = max(len(origins), len(access.offsets), len(sizes))
    padded = [ZERO] * (length - len(origins)) + origins
    own: list[Mixed] = [0] * (length - len(access.offsets)) + access.offsets
    sizes = [1] * (length - len(sizes)) + sizes
    # a dimension that is added has one element: its stride matters only to the offset
    outer = [prod(shape) if origin.is_zero else origin.stride for origin in padded[: length - len(strides)]]
    strides = [*outer, *strides]
    if not all(_agrees(origin, stride) for origin, stride in zip(padded, strides, strict=True)):
        return None
    offsets = [add_offsets(rewriter, origin.offset, offset) for origin, offset in zip(padded, own, strict=True)]
    return Access(root, offsets, sizes, cast("list[Mixed]", strides))


def _agrees(origin: Origin, stride: Mixed | None) -> bool:
    """Whether an offset in steps of `stride` gets to the origin."""
    if stride is None:
        return False
    return origin.is_zero or origin.stride is None or known_int(stride) in (None, origin.stride)


def add_offsets(rewriter: PatternRewriter, first: Mixed, second: Mixed) -> Mixed:
    """The sum of two offsets, an `affine.apply` if it is not known."""
    numbers = known_int(first), known_int(second)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] + numbers[1]
    if 0 in numbers:
        return second if numbers[0] == 0 else first
    symbols = [cast(SSAValue, value) for value, number in zip((first, second), numbers, strict=True) if number is None]
    terms = [
        AffineConstantExpr(number) if number is not None else AffineSymExpr(min(position, len(symbols) - 1))
        for position, number in enumerate(numbers)
    ]
    # as MLIR orders a sum
    constant_last = sorted(terms, key=lambda term: isinstance(term, AffineConstantExpr))
    map = AffineMap(0, len(symbols), (constant_last[0] + constant_last[1],))
    return rewriter.insert(
        affine.ApplyOp.create(operands=symbols, result_types=(INDEX,), properties={"map": AffineMapAttr(map)})
    ).results[0]
