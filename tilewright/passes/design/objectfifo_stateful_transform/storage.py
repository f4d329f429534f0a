"""Buffers of FIFOs, the tiles that keep them, and the locks that say which of them are full.

Where locks are semaphores, a pair of them counts the empty and the full buffers of an end, or of each branch of a join
or distribute. Where a lock has two states there is one for each buffer: 0 is empty, 1 is full.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, MemRefType, TensorType
from xdsl.ir import Operation

from tilewright.device import DeviceModel, TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoAllocateOp
from tilewright.dialects.aie.tiles import TileOp
from tilewright.ir.create import insert_operation
from tilewright.ir.diagnostics import emit_op_error, fail_op
from tilewright.ir.limits import MOST_FIFO_ELEMENTS
from tilewright.passes.design.objectfifo_stateful_transform.device_fifos import (
    DeviceFifos,
    SharedMemory,
    delegate_of,
    placed,
    serves,
    shared_memory,
)
from tilewright.passes.design.objectfifo_stateful_transform.ends import Contents, FifoEnd, FifoEnds, Storage
from tilewright.rewrite.pass_bases import located

MOST_ELEMENTS = (1 << 31) - 1
"""What the length of `aie.dma_bd` holds."""


class StorageBuilder:
    """Makes buffers and locks right behind the last tile of a device, so that those of a later FIFO stand first."""

    def __init__(self, ends: FifoEnds):
        self.design, self.ends = ends.design, ends
        self.used_bytes: dict[TileOp, int] = defaultdict(int)
        # the first declaration of a place wins
        self.tiles = {tile.place: tile for tile in reversed(list(self.design.device.tiles))}
        self.last_tile: TileOp | None = None

    def build(self) -> None:
        self._raise_late_tiles()
        for end in in_building_order(self.ends.in_program_order()):
            if end.depth and end.stream_port is None and (end.link is None or end.link.owner is end):
                self._build(end)

    def _raise_late_tiles(self) -> None:
        """Declare all tiles before the first core that uses FIFOs, which will use what stands behind the last tile."""
        users = {core for core, accesses in self.design.accesses.items() if accesses}
        first: Operation | None = None
        for op in list(self.design.device.body.ops):
            if first is None and op in users:
                first = op
            elif first is not None and isinstance(op, TileOp):
                op.detach()
                insert_operation(op, before=first)

    def _build(self, end: FifoEnd) -> None:
        tile, following = self._home(end), self._insertion_point()
        _check_size(end)
        # the host has those of a shim tile
        buffers = [] if tile.is_shim else [self._buffer(end, tile, number, following) for number in range(end.depth)]
        locks = locks_for(end, tile, self.design.model)
        for lock in locks:
            insert_operation(located(lock, end.fifo.location), before=following)
        end.own_storage = Storage(end.tile, buffers, locks)

    def _insertion_point(self) -> Operation:
        """What stands behind the last tile."""
        if self.last_tile is None:
            *_, self.last_tile = self.design.device.tiles
        following = self.last_tile.next_op
        assert following is not None, "a device ends with a terminator"
        return following

    def _home(self, end: FifoEnd) -> TileOp:
        """The tile that keeps an end's buffers: the one that the program names, else one that all users reach."""
        delegate = delegate_of(self.design, end.fifo) if end.is_producer else None
        if delegate is not None and is_usable(delegate, end, self.design):
            return placed(delegate.tile)
        if end.is_split:
            return end.tile
        consumer = placed(end.fifo.consumers[0])
        return consumer if shared_memory(self.design, end.tile, consumer) is SharedMemory.CONSUMER else end.tile

    def _buffer(self, end: FifoEnd, home: TileOp, number: int, following: Operation) -> BufferOp:
        tile = self._tile_with_room(home, end.element_bytes, following)
        self.used_bytes[tile] += end.element_bytes
        buffer = BufferOp(tile.result, end.element_type, f"{end.name}_buff_{number}")
        if end.init_values is not None:
            buffer.initial_value = of_buffer(end.init_values[number], end.element_type)
        insert_operation(located(buffer, end.fifo.location), before=following)
        return buffer

    def _tile_with_room(self, home: TileOp, size_bytes: int, following: Operation) -> TileOp:
        """A mem tile that is full puts a buffer into the neighbour that has more room, if that has enough."""
        if not home.is_mem or self._has_room(home, size_bytes):
            return home
        neighbours = sorted(self._neighbours(home, following), key=lambda tile: self.used_bytes[tile])
        return next((tile for tile in neighbours if self._has_room(tile, size_bytes)), home)

    def _has_room(self, tile: TileOp, size_bytes: int) -> bool:
        return self.used_bytes[tile] + size_bytes <= self.design.model.mem_tile_bytes

    def _neighbours(self, home: TileOp, following: Operation) -> list[TileOp]:
        column, row = home.place
        # The DMA of a mem tile reaches the memories to its left and right.
        places = (TileId(column - 1, row), TileId(column + 1, row))
        return [self._tile_at(place, home, following) for place in places if self.design.model.is_valid_tile(*place)]

    def _tile_at(self, place: TileId, home: TileOp, following: Operation) -> TileOp:
        """A tile by its place; one that the program does not mention goes behind the buffers that follow `home`."""
        if place not in self.tiles:
            tile = self.tiles[place] = located(TileOp(*place), home.location)
            before = home.next_op
            while isinstance(before, BufferOp) and before is not following:
                before = before.next_op
            assert before is not None, "a device ends with a terminator"
            insert_operation(tile, before=before)
            self.last_tile = None  # the new one may be
        return self.tiles[place]


def of_buffer(contents: Contents, type: MemRefType) -> Contents:
    """A FIFO gives its contents the type of a buffer, a buffer gives them the type of a tensor."""
    tensor = TensorType(type.element_type, type.shape)
    if isinstance(contents, DenseResourceAttr):
        return DenseResourceAttr.new([contents.resource_handle, tensor])
    return DenseIntOrFPElementsAttr.new([tensor, contents.data])


def is_usable(delegate: ObjectFifoAllocateOp, end: FifoEnd, design: DeviceFifos) -> bool:
    """Whether the buffers of an end can be where the program wants them; says so if not."""
    fits = serves(design, delegate, end.fifo)
    # A core's DMA reaches only its own tile, a mem tile's its neighbours too.
    if fits and (not end.is_split or end.is_mem or placed(delegate.tile) is end.tile):
        return True
    why = "both ends of the FIFO have to reach the memory of that tile"
    if fits:
        why = f"its DMA in tile {tuple(end.tile.place)} needs the buffers and locks of @{end.name} there"
    text = "objectfifo has no shared memory access to delegate tile's memory module"
    emit_op_error(delegate, text).note(end.fifo, why)
    return False


def in_building_order(ends: Sequence[FifoEnd]) -> list[FifoEnd]:
    """Ends in mem tiles take turns among themselves, the biggest elements first: those are the hardest to place."""
    largest_first = iter(sorted((end for end in ends if end.is_mem), key=lambda end: -end.element_bytes))
    return [next(largest_first) if end.is_mem else end for end in ends]


def _check_size(end: FifoEnd) -> None:
    """What no tile has room for is refused before it is made."""
    if end.depth > MOST_FIFO_ELEMENTS and not end.is_shim:
        note = (end.fifo, "as many are acquired at once, or its depth says so")
        fail_op(end.fifo, f"has {end.depth} elements at one end, and may have {MOST_FIFO_ELEMENTS}", note)
    if end.element_count > MOST_ELEMENTS:
        fail_op(end.fifo, f"has elements of {end.element_count} values, and a descriptor counts to {MOST_ELEMENTS}")


class LockPair(NamedTuple):
    """Semaphores that count buffers to fill and buffers to empty."""

    empty: LockOp
    full: LockOp


def pair_of(locks: list[LockOp], branch: int = 0) -> LockPair:
    """The semaphores of one branch among all of an end."""
    return LockPair(*locks[2 * branch : 2 * branch + 2])


def locks_for(end: FifoEnd, tile: TileOp, model: DeviceModel) -> list[LockOp]:
    """New locks for the buffers of an end, in a tile."""
    if not end.is_synchronized or is_replayed(end):
        return []
    count = len(end.external_buffers) if tile.is_shim else end.depth
    if model.architecture.semaphore_locks:
        return _semaphores(end, tile, count, model)
    init = 0 if end.init_values is None else 1
    return [LockOp(tile.result, init=init, sym_name=f"{end.name}_lock_{number}") for number in range(count)]


def is_replayed(end: FifoEnd) -> bool:
    """Whether the DMA sends contents given from the start several times: they are never refilled, so never counted."""
    values, iterations = end.init_values, end.iter_count
    return values is not None and len(values) == end.depth and (iterations or 1) > 1 and end.link is None


def _semaphores(end: FifoEnd, tile: TileOp, count: int, model: DeviceModel) -> list[LockOp]:
    repeats, branches = end.repeat_count or 1, 1
    if end.link is not None:
        repeats = end.link.repeat_count or repeats
        branches = len(end.link.branches) or 1
    full = len(end.init_values) if end.init_values is not None else 0
    most, limit = max(count - full, full), model.max_lock_value
    if most * repeats > limit:
        fail_op(
            end.fifo,
            f"needs a lock of tile {tuple(tile.place)} to count to {most * repeats}, the limit is {limit}",
            (end.fifo, f"@{end.name} has {most} buffers that are each used {repeats} times; lower one of the two"),
        )
    return [
        LockOp(tile.result, init=buffers * repeats, sym_name=f"{end.name}_{who}_lock_{branch}")
        for branch in range(branches)
        for who, buffers in (("prod", count - full), ("cons", full))
    ]
