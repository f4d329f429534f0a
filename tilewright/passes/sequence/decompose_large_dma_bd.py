"""Splits transfers that are too large for one descriptor into several, in the same order of elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from tilewright.dialects import scf
from tilewright.dialects._syntax import segments
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.dma import NextBdOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import ancestors, device_model, parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex.access_pattern import ITERATION, AccessPattern
from tilewright.dialects.aiex.decomposition import decompose
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits
from tilewright.dialects.aiex.memcpy import CONTINUED, NpuDmaMemcpyNdOp
from tilewright.dialects.aiex.tasks import ConfiguredTask, DmaConfigureTaskForOp, DmaConfigureTaskOp
from tilewright.ir.diagnostics import emit_remark
from tilewright.ir.pass_manager import Pass
from tilewright.passes.sequence.limit_checks import Guards
from tilewright.rewrite.driver import GREEDY, rewrite

CONTROL_FLOW = (scf.ForOp, scf.WhileOp, scf.IfOp)
IDS = ("bd_id", "next_bd_id")


def split_pattern(
    op: Operation, tile: TileLike | None, pattern: AccessPattern | None, bits: int
) -> list[AccessPattern]:
    """How to split a transfer; not at all if it fits, cannot be split, or needs more descriptors than the tile has."""
    if tile is None or tile.place is None or pattern is None:
        return []
    limits = DescriptorLimits.of_tile(device_model(op), *tile.place, bits)
    parts = decompose(pattern, limits) if limits is not None else []
    return parts if len(parts) <= tile.resources.bds else []


class SplitMemcpy(RewritePattern):
    """One transfer becomes several; the last one issues the token, if any does."""

    def __init__(self, guards: Guards):
        self.guards, self.whole = guards, WholePatterns()

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuDmaMemcpyNdOp, rewriter: PatternRewriter) -> None:
        of = op.metadata, op._operands[0].type, op.static_sizes, op.static_strides
        if len(op._operands) == 1 and self.whole.has(of):
            return
        parts = split_pattern(op, op.tile, op.constant_pattern, op.element_bits)
        if not parts:
            self.whole.add(of if len(op._operands) == 1 else None)
            return
        pieces = [op.with_pattern(part) for part in parts]
        if len(pieces) > 1:
            for piece, bd_id in zip(pieces, _free_ids(op, len(pieces)), strict=True):
                piece.id = IntegerAttr(bd_id, i64)
                # The parts go through one queue in order: when the last is done, all are.
                piece.issue_token = BoolAttr.from_bool(op.issues_token and piece is pieces[-1])
                # Data that arrive issue a token anyway, and a wait takes the first that comes.
                if piece is not pieces[-1] and self.guards is Guards.FULL:
                    piece.attributes[CONTINUED] = UnitAttr()
        rewriter.replace(op, pieces)


class WholePatterns:
    """Patterns that stay as they are, by all that this depends on: long sequences repeat few of them."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], object] = {}

    def has(self, of: Sequence[object]) -> bool:
        # by identity: lists and names are one object each, and hashing them takes long
        return tuple(map(id, of)) in self._known

    def add(self, of: Sequence[object] | None) -> None:
        """Note a pattern of which all is known."""
        if of is not None:
            self._known[tuple(map(id, of))] = of  # kept, lest something else comes to lie in its place


def _free_ids(op: NpuDmaMemcpyNdOp, count: int) -> list[int]:
    """Descriptors from that of `op` on which no other transfer of the channel in the sequence uses."""
    sequence = parent_of_type(op, RuntimeSequenceOp)
    others = sequence.walk() if sequence is not None else ()
    used = {
        other.id.value.data
        for other in others
        if isinstance(other, NpuDmaMemcpyNdOp) and other is not op and other.metadata == op.metadata
    }
    # as many as can be needed: each that is used elsewhere is skipped
    first = op.id.value.data
    free = (bd_id for bd_id in range(first, first + count + len(used)) if bd_id not in used)
    return [next(free) for _ in range(count)]


class SplitTaskDescriptor(RewritePattern):
    """The only descriptor of a task becomes another one, or a chain."""

    def __init__(self, guards: Guards):
        self.guards, self.whole = guards, WholePatterns()

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DmaBdOp, rewriter: PatternRewriter) -> None:
        # A plain run of elements is one whatever the tile.
        task = op.parent_op() if op.static_sizes is not None else None
        if not isinstance(task, ConfiguredTask):
            return
        where = task._operands[0] if isinstance(task, DmaConfigureTaskOp) else task.properties.get("alloc")
        of = where, op._operands[0].type, op.static_sizes, op.static_strides, op.pad_dimensions
        if (len(op._operands) == 1 and self.whole.has(of)) or len(task.descriptors) != 1:
            return
        pattern, tile = _constant_pattern(op), _tile_of_task(task)
        parts = split_pattern(op, tile, pattern, op.element_bytes * 8)
        if not parts:
            self.whole.add(of if len(op._operands) == 1 else None)
            return
        if self.guards is Guards.FULL and tile is not None and not _is_run_as_written(parts, pattern, tile):
            return
        if len(parts) == 1:
            rewriter.replace(op, _rearranged(op, parts[0]))
        elif _is_in_control_flow(op):
            emit_remark(
                op,
                "deferring multi-BD decomposition under runtime control flow "
                "(dynamic BD pool supports single-BD tasks only)",
            )
        else:
            _chain(op, task, parts, rewriter)


def _is_run_as_written(parts: list[AccessPattern], pattern: AccessPattern | None, tile: TileLike) -> bool:
    """Whether a task does its parts.

    The iteration is advanced by the repeat count that the program gives, for the pattern that it has; a mem tile can
    walk all four loops of one part in one run.
    """
    if len(parts) == 1 and pattern is not None and pattern.sizes[ITERATION] == 1 and tile.is_mem:
        return True
    return all(part.sizes[ITERATION] == 1 for part in parts)


def _tile_of_task(task: ConfiguredTask) -> TileLike | None:
    match task:
        case DmaConfigureTaskOp():
            tile = task.tile_like
            return tile if tile is not None and tile.is_placed else None
        case DmaConfigureTaskForOp():
            return task.tile
        case _:
            return None


def _constant_pattern(bd: DmaBdOp) -> AccessPattern | None:
    """The pattern of a descriptor that is known entirely and pads nothing."""
    is_known = (bd.offset is None or bd.constant_offset is not None) and (bd.len is None or bd.constant_len is not None)
    dimensions = bd.constant_dimensions
    if not is_known or bd.pad_dimensions is not None or not dimensions:
        return None
    return AccessPattern.from_outermost([d.size for d in dimensions], [d.stride for d in dimensions])


def _is_in_control_flow(op: Operation) -> bool:
    inside = takewhile(lambda parent: not isinstance(parent, RuntimeSequenceOp), ancestors(op))
    return any(isinstance(parent, CONTROL_FLOW) for parent in inside)


def _rearranged(bd: DmaBdOp, pattern: AccessPattern, length: int | None = None) -> DmaBdOp:
    """The same descriptor with other loops, and another length if one is given."""
    operands = [bd.buffer] if bd.len is None or length is not None else [bd.buffer, bd.len]
    properties: dict[str, Attribute] = bd.properties | {
        "static_offset": IntegerAttr((bd.constant_offset or 0) + pattern.offset, i32),
        "static_sizes": DenseArrayBase.from_list(i64, pattern.outermost_sizes),
        "static_strides": DenseArrayBase.from_list(i64, pattern.outermost_strides),
        "operandSegmentSizes": segments(1, 0, len(operands) - 1, 0, 0),
    }
    if length is not None:
        properties["static_len"] = IntegerAttr(length, i32)
    return DmaBdOp.create(operands=operands, properties=properties, attributes=bd.attributes)


def _chain(op: DmaBdOp, task: ConfiguredTask, parts: list[AccessPattern], rewriter: PatternRewriter) -> None:
    """One block for each part, linked by `next_bd`. Ids of the descriptor belong to the first of them alone."""
    first = op.parent
    assert first is not None and first.last_op is not None
    rewriter.erase(first.last_op)
    blocks = [first, *(Block() for _ in parts[1:])]
    task.chain.add_block(blocks[1:])
    for block, part, following in zip(blocks, parts, [*blocks[1:], None], strict=True):
        descriptor = _rearranged(op, part, part.length)
        if block is not first:
            # The others get ids of their own later; the same one twice would overwrite the first.
            for name in IDS:
                descriptor.properties.pop(name, None)
        end = EndOp() if following is None else NextBdOp(following)
        rewriter.insert([descriptor, end], InsertPoint.at_end(block))
    rewriter.erase(op)


@dataclass(frozen=True)
class DecomposeLargeDmaBdPass(Pass):
    name = "aie-decompose-large-dma-bd"
    anchor = "aie.device"

    guards: Guards = field(default=Guards.UPSTREAM, metadata={"help": "full: do all parts, and wait for all"})

    def apply(self, ctx: Context, op: Operation) -> None:
        rewrite(op, SplitMemcpy(self.guards), SplitTaskDescriptor(self.guards), config=GREEDY)
