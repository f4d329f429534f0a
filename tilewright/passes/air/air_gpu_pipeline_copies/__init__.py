"""Lets loops of kernels fetch the next tiles while they compute with the present ones.

A loop that copies from memory of the device to memory of the block, meets at a barrier, computes, and meets again,
becomes:

    copy the first tiles
    for each: barrier; load the next tiles into registers; compute; barrier; store them in memory of the block
    barrier

so that loads are on their way while lanes compute. The last round loads its own tiles once more, which nothing reads.
With two places for each tile the next ones are stored where no lane reads, and lanes meet once in a round:

    copy the first tiles to one place
    for each: barrier; load the next tiles; compute with those of this place; store the next ones in the other place
    barrier
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device.gpu_targets import DEFAULT_AMD, GpuTarget
from tilewright.dialects import arith, memref, scf, vector
from tilewright.dialects.gpu.launches import LaunchOp
from tilewright.ir.diagnostics import emit_remark, fail
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.air_gpu_pipeline_copies.copies import (
    LOADS,
    STORES,
    LoopCopies,
    Obstacle,
    buffer_operand,
    find_copies,
)
from tilewright.passes.air.buffer_homes import size_bytes
from tilewright.passes.air.hierarchies import find_target
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import INDEX
from tilewright.rewrite.folding.regions import recreate

PLACES = 2
BUFFERS = 1, PLACES


@dataclass(frozen=True)
class AirGpuPipelineCopiesPass(Pass):
    name = "air-gpu-pipeline-copies"

    buffers: int = field(
        default=1,
        metadata={"help": "places for a tile: 1, or 2 where memory of the block suffices, for one barrier in a round"},
    )
    chip: str = field(default=DEFAULT_AMD, metadata={"help": "the GPU to compile for"})
    explain: bool = field(default=False, metadata={"help": "say which loops are changed, and why others are not"})

    def apply(self, ctx: Context, op: Operation) -> None:
        target = find_target(self.chip)
        if self.buffers not in BUFFERS:
            fail(None, f"buffers must be {' or '.join(map(str, BUFFERS))}, got {self.buffers}")
        for launch in ops_of(all_operations(op), LaunchOp):
            for loop in ops_of(all_operations(launch), scf.ForOp):
                self._change(loop, launch, target)

    def _change(self, loop: scf.ForOp, launch: LaunchOp, target: GpuTarget) -> None:
        try:
            copies = find_copies(loop)
        except Obstacle as obstacle:
            self._say(loop, "loop copies tiles when it needs them", obstacle)
            return
        if copies is None:
            return
        places: _Places | None = None
        if self.buffers == 1:
            self._say(loop, "loop copies tiles a round before it needs them")
        else:
            try:
                places = _alternate_places(copies, launch, target)
                self._say(copies.loop, "loop copies tiles a round before it needs them, to two places in turn")
            except Obstacle as obstacle:
                self._say(loop, "loop copies tiles a round before it needs them, to one place", obstacle)
        _pipeline(copies, places)

    def _say(self, loop: scf.ForOp, text: str, why: Obstacle | None = None) -> None:
        if self.explain:
            remark = emit_remark(loop.location, text)
            if why is not None:
                remark.note(why.op, why.text)


@dataclass
class _Places:
    """The number of the place that a round reads, which goes from round to round, and that of the first round."""

    present: SSAValue
    first: SSAValue


def _alternate_places(copies: LoopCopies, launch: LaunchOp, target: GpuTarget) -> _Places:
    """Make tiles twice as large, and let a round read and store in the place that it is told; or say an Obstacle."""
    tiles = copies.tiles
    if type(copies.first) is not type(copies.widest):
        raise Obstacle(copies.first, "would be all that is left between turns, and only lanes of a wave meet there")
    _check_memory(copies, launch, target)
    for tile in tiles:
        _check_uses(tile, copies.loop)
    first = Emitter.before(copies.loop).index(0)
    present = _carry(copies, first)
    for tile in tiles:
        accesses = [use.operation for use in tile.uses]
        Rewriter.replace_value_with_new_type(tile, _with_places(tile))
        for op in accesses:
            index = buffer_operand(op) + 1
            op.operands = [*op.operands[:index], present, *op.operands[index:]]
    return _Places(present, first)


def _with_places(tile: BlockArgument) -> MemRefType[Any]:
    type = cast("MemRefType[Any]", tile.type)
    return MemRefType(type.element_type, [PLACES, *type.get_shape()], NoneAttr(), type.memory_space)


def _check_memory(copies: LoopCopies, launch: LaunchOp, target: GpuTarget) -> None:
    sizes = [size_bytes(buffer.type) for buffer in (*launch.workgroup_buffers, *copies.tiles)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or launch.dynamic_shared_memory_size is not None:
        raise Obstacle(launch, "has memory of a block whose size is not known")
    if sum(known) > target.shared_bytes:
        raise Obstacle(
            copies.stored[0],
            f"two places would bring the memory of a block to {sum(known)} bytes; "
            f"{target.chip} has {target.shared_bytes}",
        )


def _check_uses(tile: BlockArgument, loop: scf.ForOp) -> None:
    """Only loads and stores in the loop use a tile, and promises of where they begin hold in both places."""
    size, type = size_bytes(tile.type), cast("MemRefType[Any]", tile.type)
    for use in tile.uses:
        op = use.operation
        if not isinstance(op, (*LOADS, *STORES)) or use.index != buffer_operand(op):
            raise Obstacle(op, "uses a tile; places are told to loads and stores")
        if not loop.is_ancestor(op):
            raise Obstacle(op, "uses a tile outside of the loop, which knows the place")
        if size is None or size % _promised_bytes(op) or not isinstance(type.layout, NoneAttr):
            raise Obstacle(op, "promises an alignment that a second place behind the tile does not have")


def _promised_bytes(op: Operation) -> int:
    promise = op.alignment if isinstance(op, memref.LoadOp | memref.StoreOp | vector.LoadOp | vector.StoreOp) else None
    return promise.value.data if isinstance(promise, IntegerAttr) else 1


def _carry(copies: LoopCopies, first: SSAValue) -> BlockArgument:
    """Let a loop carry one more number, which is `first` in its first round; what is next is for its end to say."""
    old = copies.loop
    new = recreate(old, operands=[*old.operands, first], result_types=[*(result.type for result in old.results), INDEX])
    assert isinstance(new, scf.ForOp)
    copies.loop = Emitter.before(old).insert(new)
    for result, kept in zip(old.results, new.results, strict=False):
        result.replace_all_uses_with(kept)
    Rewriter.erase_op(old)
    body = new.body.block
    return body.insert_arg(INDEX, len(body.args))


def _pipeline(copies: LoopCopies, places: _Places | None) -> None:
    """Do copies a round earlier; with `places` they are stored in another one than the round reads."""
    _copy_first(copies, places)
    _copy_following(copies, places)
    # the tiles of the last round are stored once more: what comes next may not meet that
    behind = copies.widest.clone()
    behind.location = copies.loop.location
    Rewriter.insert_op(behind, InsertPoint.after(copies.loop))
    _drop_present(copies, places)


def _copy_first(copies: LoopCopies, places: _Places | None) -> None:
    """The tiles of the first round, if there is one."""
    loop = copies.loop
    place = InsertPoint.before(loop)
    if copies.last_round is None:
        emitter = Emitter.before(loop)
        block = emitter.when(_is_round(emitter, loop, loop.lb), lambda inner: None)
        assert block.last_op is not None
        place = InsertPoint.before(block.last_op)
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: loop.lb}
    if places is not None:
        values[places.present] = places.first
    # in one round loads may be behind the barrier because of what was stored before the loop
    meet = copies.before
    early = [op for op in copies.fetched if meet is None or op.is_before_in_block(meet)]
    values = _cloned(early, values, place)
    values = _cloned([*([] if meet is None else [meet]), *copies.fetched[len(early) :]], values, place)
    _cloned(copies.stored, values, place)


def _copy_following(copies: LoopCopies, places: _Places | None) -> None:
    """The tiles of the next round: loads before this one computes, stores when others have read theirs."""
    body = copies.loop.body.block
    end = body.last_op
    assert end is not None
    following = _following(copies, Emitter(InsertPoint.after(copies.first), copies.first.location))
    anchor = following.owner
    assert isinstance(anchor, Operation)
    values = _cloned(copies.fetched, {body.args[0]: following}, InsertPoint.after(anchor))
    last = Emitter.before(end)
    if places is not None:
        values[places.present] = other = last.binary(arith.XOrIOp, places.present, last.index(1))
        end.operands = [*end.operands, other]
    elif copies.before is not None and type(copies.before) is not type(copies.end):
        last.insert(copies.before.clone())
    _cloned(copies.stored, values, InsertPoint.before(end))


def _drop_present(copies: LoopCopies, places: _Places | None) -> None:
    """What the round did for itself."""
    meetings = [copies.before, None if places is None else copies.end]
    for op in (*(op for op in meetings if op is not None), *reversed(copies.stored)):
        Rewriter.erase_op(op)
    # what computes places may be of use to what follows
    for op in reversed(copies.fetched):
        if not any(result.uses for result in op.results):
            Rewriter.erase_op(op)


def _following(copies: LoopCopies, emitter: Emitter) -> SSAValue:
    """The number of the next round, or of this one if it is the last."""
    loop = copies.loop
    counter = loop.body.block.args[0]
    following = emitter.folded_sum(counter, loop.step)
    if copies.last_round is None:
        return emitter.select(_is_round(emitter, loop, following), following, counter)
    last = emitter.constant(copies.last_round, counter.type)
    return emitter.value(arith.MinUIOp(following, last))


def _is_round(emitter: Emitter, loop: scf.ForOp, number: SSAValue) -> SSAValue:
    return emitter.compare("slt" if loop.unsigned_cmp is None else "ult", number, loop.ub)


def _cloned(ops: Iterable[Operation], values: dict[SSAValue, SSAValue], place: InsertPoint) -> dict[SSAValue, SSAValue]:
    """Copies of operations at a place, with other values; gives those and the ones that they make."""
    known = dict(values)
    Rewriter.insert_op([op.clone(known) for op in ops], place)
    return known


__all__ = ["AirGpuPipelineCopiesPass"]
