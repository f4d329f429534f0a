"""Loops that copy tiles from memory of the device to memory of the block before they compute with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, TypeGuard, cast

from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects import memref, scf, vector
from tilewright.dialects._llvm_memory import FenceOp
from tilewright.dialects._nvvm_matrices import MmaOp
from tilewright.dialects._rocdl_matrices import MatrixOp
from tilewright.dialects.gpu.lanes import BarrierOp, ShuffleOp, SubgroupReduceOp
from tilewright.passes.air.buffer_homes import Home, home_of
from tilewright.passes.air.wave_lanes import is_wave_fence
from tilewright.rewrite.effects import Effect, effects_of, is_memory_effect_free
from tilewright.rewrite.folding.constants import scalar_int

LOADS = memref.LoadOp, vector.LoadOp
STORES = memref.StoreOp, vector.StoreOp
READS = *LOADS, vector.TransferReadOp
WRITES = *STORES, vector.TransferWriteOp
TOGETHER = MatrixOp, MmaOp, ShuffleOp, SubgroupReduceOp
"""What lanes of a wave do together in registers."""
Meeting: TypeAlias = "BarrierOp | FenceOp"
"""Of the lanes of a block, or of a wave that works by itself."""
MOST_FETCHED = 16
"""Loads of a round that a thread has registers for."""


def buffer_of(op: Operation) -> SSAValue:
    """What a load or a store is of."""
    return op.operands[buffer_operand(op)]


def buffer_operand(op: Operation) -> int:
    return int(isinstance(op, WRITES))


def stores_in(ops: Iterable[Operation]) -> Iterator[Operation]:
    return (inner for op in ops for inner in op.walk() if isinstance(inner, STORES))


@dataclass
class LoopCopies:
    """The part of a loop that copies tiles, in its order, and where lanes meet around it."""

    loop: scf.ForOp
    fetched: list[Operation]
    """Loads from memory of the device, and what computes places and conditions."""
    stored: list[Operation]
    """What puts them in memory of the block."""
    before: Meeting | None
    """Where lanes meet before they store."""
    first: Meeting
    """Where they meet behind."""
    end: Meeting | None
    """Where lanes meet at the end of the round; there is this, or the one before stores."""
    last_round: int | None
    """The number of the last round; None if only a run knows."""

    @property
    def tiles(self) -> list[BlockArgument]:
        return list(dict.fromkeys(cast("BlockArgument", buffer_of(op)) for op in stores_in(self.stored)))

    @property
    def widest(self) -> Meeting:
        """One of those that most lanes come to."""
        met = [op for op in (self.first, self.before, self.end) if op is not None]
        return next((op for op in met if isinstance(op, BarrierOp)), self.first)


def is_meeting(op: Operation) -> TypeGuard[Meeting]:
    return isinstance(op, BarrierOp) or (isinstance(op, FenceOp) and is_wave_fence(op))


class Obstacle(Exception):
    """Why the copies of a loop cannot be done earlier, and where that is seen."""

    def __init__(self, op: Operation, text: str):
        super().__init__(text)
        self.op, self.text = op, text


def find_copies(loop: scf.ForOp) -> LoopCopies | None:
    """The copies of a loop that can be done a round earlier; None if it copies none, an Obstacle if they cannot."""
    if not _copies_tiles(loop):
        return None
    last_round = _last_round(loop)
    for op in loop.body.block.walk():
        if not _keeps_device_memory(op):
            raise Obstacle(op, "may write memory of the device, or order accesses to it: loads stay behind that")
    start = _Start.of(loop)
    _check_tiles(loop, start.stored)
    end = _end_meeting(start.first)
    if end is None and start.before is None:
        raise Obstacle(start.stored[0], "stores while lanes may still read what was there: no barrier is before that")
    return LoopCopies(loop, start.fetched, start.stored, start.before, start.first, end, last_round)


def _copies_tiles(loop: scf.ForOp) -> bool:
    """Whether it meets, after it has loaded from memory of the device and stored to memory of the block."""
    ops = list(loop.body.block.walk())
    homes = {(type(op), home_of(buffer_of(op))) for op in ops if isinstance(op, (*LOADS, *STORES))}
    meets = any(is_meeting(op) for op in loop.body.block.ops)
    return (
        meets
        and any((kind, Home.DEVICE) in homes for kind in LOADS)
        and any((kind, Home.BLOCK) in homes for kind in STORES)
    )


def _last_round(loop: scf.ForOp) -> int | None:
    """The number of the last round; None if only a run knows."""
    start, end, step = (scalar_int(value) for value in (loop.lb, loop.ub, loop.step))
    if step is not None and step <= 0:
        raise Obstacle(loop, "has a step that is not above 0")
    if start is None or end is None or step is None:
        return None
    # the first tiles are copied whether or not there is a round, and rounds are compared without their sign
    if start < 0:
        raise Obstacle(loop, "has rounds below 0")
    if start + step >= end:
        raise Obstacle(loop, "has less than two rounds")
    return start + (end - 1 - start) // step * step


class _Part(Enum):
    """Of a copy."""

    PLACE = "computes where something is, or whether it is there"
    LOAD = "loads from memory of the device"
    STORE = "stores to memory of the block"
    OTHER = "is no part of a copy"


def _part(op: Operation) -> _Part:
    """A choice is a load, or a store, if all that it does is that: such are copies at the edges of arrays."""
    if isinstance(op, STORES):
        return _Part.STORE if home_of(buffer_of(op)) is Home.BLOCK else _Part.OTHER
    if isinstance(op, LOADS):
        return _Part.LOAD if home_of(buffer_of(op)) is Home.DEVICE else _Part.OTHER
    if is_memory_effect_free(op):
        return _Part.OTHER if op.regions and not isinstance(op, scf.IfOp) else _Part.PLACE
    if not isinstance(op, scf.IfOp):
        return _Part.OTHER
    parts = {_part(inner) for region in op.regions for block in region.blocks for inner in block.ops} - {_Part.PLACE}
    return parts.pop() if len(parts) == 1 else _Part.OTHER


@dataclass
class _Start:
    """The start of a round, up to the barrier behind copies."""

    fetched: list[Operation]
    stored: list[Operation]
    before: Meeting | None
    first: Meeting

    @classmethod
    def of(cls, loop: scf.ForOp) -> _Start:
        fetched, stored = list[Operation](), list[Operation]()
        before: Meeting | None = None
        carried, loads = set[SSAValue](loop.body.block.args[1:]), 0
        for op in loop.body.block.ops:
            if is_meeting(op):
                if stored and loads:
                    return cls(fetched, stored, before, op)
                if before is not None or stored:
                    raise Obstacle(op, "comes before all of the copies: they are looked for at the start of a round")
                before = op
                continue
            part = _part(op)
            # of what a round carries the next is not known before it has computed
            if any(operand in carried for inner in op.walk() for operand in inner.operands):
                if part is not _Part.PLACE:
                    raise Obstacle(op, "depends on what the loop carries, which the round before has yet to compute")
                carried.update(op.results)
                continue
            if part is _Part.OTHER:
                raise Obstacle(op, "is no load or store of a copy, and comes before the barrier behind copies")
            (stored if part is _Part.STORE else fetched).append(op)
            loads += sum(isinstance(inner, LOADS) for inner in op.walk())
            if loads > MOST_FETCHED:
                raise Obstacle(op, f"is one load too many: a thread has registers for {MOST_FETCHED}")
        raise Obstacle(loop, "has no barrier behind copies")


def _keeps_device_memory(op: Operation) -> bool:
    """Whether it does not write what others load, or order accesses to it, so that loads may be earlier."""
    if isinstance(op, WRITES):
        return home_of(buffer_of(op)) in (Home.BLOCK, Home.THREAD)
    # nor is it written by those that meet; what is nested in an operation is looked at by itself
    return is_meeting(op) or isinstance(op, (*READS, *TOGETHER)) or not effects_of(op) & ~Effect.NESTED


def _check_tiles(loop: scf.ForOp, stored: Sequence[Operation]) -> None:
    """Only copies may write the tiles: the last are stored again, over what a round has made of them."""
    copied = {*stores_in(stored)}
    tiles = {buffer_of(op) for op in copied}
    for op in loop.body.block.walk():
        if not isinstance(op, WRITES) or home_of(buffer_of(op)) is not Home.BLOCK:
            continue
        if not isinstance(buffer_of(op), BlockArgument):
            raise Obstacle(op, "writes to a view, of which it is not known what else it is of")
        if op not in copied and buffer_of(op) in tiles:
            raise Obstacle(op, "changes a tile, which stays so for what comes behind the loop")


def _end_meeting(first: Meeting) -> Meeting | None:
    """Where lanes meet if that is the last thing a round does, after all have read their tiles."""
    block = first.parent
    assert block is not None and block.last_op is not None
    op = block.last_op.prev_op
    while op is not None and is_memory_effect_free(op):
        op = op.prev_op
    return op if op is not None and is_meeting(op) and op is not first else None
