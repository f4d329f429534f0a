"""Canonical forms of locks, channels and descriptors."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.device import LockAction
from tilewright.dialects._syntax import segments
from tilewright.dialects.aie.buffers import ExternalBufferOp
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.aie.dma import DmaStartOp, reachable_blocks
from tilewright.dialects.aie.dma_bd import DmaBdOp, is_contiguous, known_dimensions, split_optional_mixed
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.aie.lookup import constant_value, parent_tile_element


class DropEmptyAcquire(RewritePattern):
    """A semaphore is never below 0: waiting for at least 0 of it and taking 0 does nothing."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UseLockOp, rewriter: PatternRewriter) -> None:
        if op.lock_action is LockAction.AcquireGreaterEqual and op.constant == 0:
            rewriter.erase(op)


class RepeatedChainToOne(RewritePattern):
    """A cyclic chain of descriptors that repeats a shorter one becomes that shorter one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaStartOp, rewriter: PatternRewriter) -> None:
        chain = reachable_blocks(op.dest)
        last = chain[-1].last_op
        if last is None or isinstance(last, EndOp):
            return
        pattern = _unique_prefix(chain)
        if len(pattern) == len(chain):
            return
        if any(not _same_descriptor(block, pattern[n % len(pattern)]) for n, block in enumerate(chain)):
            return
        # the blocks left over are unreachable then: the driver drops them
        turn = pattern[-1].last_op
        assert turn is not None
        turn.successors = last.successors
        rewriter.notify_op_modified(turn)
        rewriter.has_done_action = True


def _unique_prefix(chain: list[Block]) -> list[Block]:
    """The blocks up to the first that repeats an earlier one."""
    prefix: list[Block] = []
    for block in chain:
        if any(_same_descriptor(block, other) for other in prefix):
            break
        prefix.append(block)
    return prefix


def _same_descriptor(block: Block, other: Block) -> bool:
    # without their terminators, which lead on to different blocks
    ops, others = ([*b.ops][:-1] for b in (block, other))
    return len(ops) == len(others) and all(_same_op(a, b) for a, b in zip(ops, others, strict=True))


def _same_op(op: Operation, other: Operation) -> bool:
    return (
        type(op) is type(other)
        and op.operands == other.operands
        and op.result_types == other.result_types
        and op.properties == other.properties
        and op.attributes == other.attributes
        and not op.regions
    )


class ConstantToStatic(RewritePattern):
    """What a descriptor takes from a constant becomes part of the descriptor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaBdOp, rewriter: PatternRewriter) -> None:
        if not op.has_values:
            return
        offset, length = _fold_count(op.offset), _fold_count(op.len)
        if not any(isinstance(entry, int) for entry in (offset, length, *map(_fold, (*op.sizes, *op.strides)))):
            return
        _set_number(op, "static_offset", offset)
        _set_number(op, "static_len", length)
        _rebuild(
            op,
            rewriter,
            offset if isinstance(offset, SSAValue) else None,
            length if isinstance(length, SSAValue) else None,
            [_fold(size) for size in op.mixed_sizes],
            [_fold(stride) for stride in op.mixed_strides],
        )


class ContiguousToLinear(RewritePattern):
    """Consecutive elements need no dimensions on a shim tile, whose descriptors have the widest length field.

    A length other than the product of the sizes makes the outermost dimension an iteration: that one is kept.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaBdOp, rewriter: PatternRewriter) -> None:
        if op.static_sizes is None:
            return
        sizes, strides = op.mixed_sizes, op.mixed_strides
        if not sizes or len(sizes) != len(strides):
            return
        dimensions = known_dimensions(sizes, strides)
        if dimensions is None or not is_contiguous(dimensions) or len(dimensions) == 1 or not _is_for_shim(op):
            return
        # without a length it is that of the buffer, which must be known then
        if not op.has_len and element_count(op.buffer.type) is None:
            return
        elements = prod(size for size, _ in dimensions)
        # one that is known only when the sequence is generated may be any
        if op.has_len and op.constant_len != elements:
            return
        _set_number(op, "static_len", elements)
        _rebuild(op, rewriter, op.offset, None, [], [])


def _is_for_shim(op: DmaBdOp) -> bool:
    # host memory: only the DMA of a shim tile reaches it
    if isinstance(op.buffer.owner, ExternalBufferOp):
        return True
    element = parent_tile_element(op)
    tile = element.tile_like if element is not None else None
    return tile is not None and tile.is_shim


def _fold(entry: SSAValue | int | None) -> SSAValue | int | None:
    if not isinstance(entry, SSAValue):
        return entry
    number = constant_value(entry)
    return entry if number is None else number


def _fold_count(value: SSAValue | None) -> SSAValue | int | None:
    """A number that its 32 bits cannot hold stays a value, for its lowering to refuse."""
    number = _fold(value)
    return number if number is None or isinstance(number, SSAValue) or -(1 << 31) <= number < 1 << 32 else value


def _set_number(op: DmaBdOp, name: str, value: SSAValue | int | None) -> None:
    if isinstance(value, int):
        op.properties[name] = IntegerAttr(value, i32, truncate_bits=True)


def _rebuild(
    op: DmaBdOp,
    rewriter: PatternRewriter,
    offset: SSAValue | None,
    length: SSAValue | None,
    sizes: list[SSAValue | int | None],
    strides: list[SSAValue | int | None],
) -> None:
    """Give a descriptor new operands and the lists that go with them."""
    dynamic: list[list[SSAValue]] = []
    for name, entries in (("static_sizes", sizes), ("static_strides", strides)):
        values, numbers = split_optional_mixed([entry for entry in entries if entry is not None])
        dynamic.append(values)
        op.properties.pop(name, None)
        if numbers is not None:
            op.properties[name] = numbers
    scalars = [value for value in (offset, length) if value is not None]
    counts = (int(offset is not None), int(length is not None), *map(len, dynamic))
    op.operands = [op.buffer, *scalars, *dynamic[0], *dynamic[1]]
    op.properties["operandSegmentSizes"] = segments(1, *counts)
    rewriter.notify_op_modified(op)
    rewriter.has_done_action = True


PATTERNS: dict[str, tuple[RewritePattern, ...]] = {
    "aie.dma_bd": (ConstantToStatic(), ContiguousToLinear()),
    "aie.dma_start": (RepeatedChainToOne(),),
    "aie.use_lock": (DropEmptyAcquire(),),
}
