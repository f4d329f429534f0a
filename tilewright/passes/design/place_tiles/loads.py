"""Loads of the places of the array: channels, memory and buffers that tiles and FIFOs need there, and what is missing.

What a FIFO takes, and in which tile, depends on where its ends are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.ir import SSAValue

from tilewright.device import DeviceModel, TileId, TileType
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import parent_of_type, tile_of
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoAcquireOp
from tilewright.passes.design.place_tiles.problem import PlacementProblem

CHANNEL_COST, KILOBYTE_COST = 20, 30  # more than any wire that breaking a limit could save
KILOBYTE = 1024
Position: TypeAlias = "Callable[[TileLike], TileId | None]"


class Charge(NamedTuple):
    """What something takes at a place."""

    place: TileId
    inputs: int = 0  # channels of the DMA
    outputs: int = 0
    size_bytes: int = 0
    buffers: int = 0
    movable: bool = False  # to a memory nearby


@dataclass(slots=True)
class Load:
    """The sum of the charges at a place."""

    inputs: int = 0
    outputs: int = 0
    size_bytes: int = 0
    buffers: int = 0
    movable_bytes: int = 0

    def add(self, charge: Charge, sign: int) -> None:
        self.inputs += sign * charge.inputs
        self.outputs += sign * charge.outputs
        self.size_bytes += sign * charge.size_bytes
        self.buffers += sign * charge.buffers
        self.movable_bytes += sign * charge.size_bytes if charge.movable else 0


class Loads:
    """The loads of all places, and their cost; a change costs as much as the places it concerns."""

    def __init__(self, model: DeviceModel):
        self._types = {place: model.tile_type(*place) for place in model.tiles}
        self._resources = {place: model.tile_resources(*place) for place in model.tiles}
        self.neighbours = {place: _neighbours(model, place) for place in model.tiles}
        self._loads = {place: Load() for place in model.tiles}
        self._costs = dict.fromkeys(model.tiles, 0)
        self._changed: set[TileId] = set()

    def __getitem__(self, place: TileId) -> Load:
        return self._loads[place]

    def add(self, charges: Iterable[Charge], sign: int = 1) -> None:
        for charge in charges:
            self._loads[charge.place].add(charge, sign)
            self._changed.add(charge.place)

    def cost(self) -> int:
        # What a place lacks may be spare in its neighbours, so their costs change too.
        for place in self._changed.union(*(self.neighbours[place] for place in self._changed)):
            self._costs[place] = self._cost_at(place)
        self._changed.clear()
        return sum(self._costs.values())

    def spare_bytes(self, place: TileId) -> int:
        return self._resources[place].data_memory_bytes - self._loads[place].size_bytes

    def missing_channels(self, place: TileId) -> int:
        load, resources = self._loads[place], self._resources[place]
        return max(0, load.inputs - resources.s2mm_channels) + max(0, load.outputs - resources.mm2s_channels)

    def _cost_at(self, place: TileId) -> int:
        cost = CHANNEL_COST * self.missing_channels(place)
        tile_type, load = self._types[place], self._loads[place]
        if tile_type is TileType.MemTile:
            cost += CHANNEL_COST * max(0, load.buffers - self._resources[place].bds)  # a descriptor for each buffer
        lacking = -self.spare_bytes(place)
        if lacking > 0:
            elsewhere = sum(max(0, self.spare_bytes(other)) for other in self.neighbours[place])
            # The DMA of a mem tile reaches its neighbours; of a core's buffers, those that both ends reach can move.
            movable = load.size_bytes if tile_type is TileType.MemTile else load.movable_bytes
            lacking -= min(movable, elsewhere)
            cost += KILOBYTE_COST * max(0, -(-lacking // KILOBYTE))
        return cost


def _neighbours(model: DeviceModel, place: TileId) -> list[TileId]:
    """Tiles of the same kind whose memory a core, or the DMA of a mem tile, reaches."""
    sides = [TileId(place.column + right, place.row + up) for right, up in ((-1, 0), (1, 0), (0, 1), (0, -1))]
    return [
        side
        for side in sides
        if model.is_valid_tile(*side)
        and model.tile_type(*side) is model.tile_type(*place)
        and model.is_legal_memory_affinity(*place, *side)
    ]


@dataclass(frozen=True)
class EndBuffers:
    """A producer or consumer: its tile, the size of its buffers, how many it asks for and how many a DMA needs."""

    tile: TileLike
    size_bytes: int
    depth: int
    dma_depth: int

    def charge(self, place: TileId) -> Iterator[Charge]:
        """Its own buffers, for a DMA to fill or to empty; a shim tile has the host's."""
        if not self.tile.is_shim:
            yield Charge(place, size_bytes=self.dma_depth * self.size_bytes, buffers=self.dma_depth)


@dataclass(frozen=True)
class StoredFifo:
    op: ObjectFifoOp
    producer: EndBuffers
    consumers: tuple[EndBuffers, ...]
    needs_dma: bool  # even between neighbours
    producer_has_none: bool  # its buffers are those in which the FIFO before a link ends

    @property
    def tiles(self) -> tuple[TileLike, ...]:
        return self.producer.tile, *(end.tile for end in self.consumers)

    def shared_bytes(self, consumer: EndBuffers) -> int:
        """The size of buffers that both ends use."""
        sizes, depths = zip(*((end.size_bytes, end.depth) for end in (self.producer, consumer)), strict=True)
        return max(sizes) * max(depths)

    def charges(self, position: Position, model: DeviceModel) -> Iterator[Charge]:
        home = position(self.producer.tile)
        if home is None:
            return
        is_sent = False
        for end in self.consumers:
            place = position(end.tile)
            if place is None:
                continue
            shared = None if self.needs_dma and place != home else shared_place(model, home, place)
            if shared is not None:
                movable = len(self.consumers) == 1 and not self.needs_dma  # to where both ends reach
                yield Charge(shared, size_bytes=self.shared_bytes(end), movable=movable)
            else:
                is_sent = True
                yield from end.charge(place)
        if is_sent and not self.producer_has_none:
            yield from self.producer.charge(home)


def shared_place(model: DeviceModel, producer: TileId, consumer: TileId) -> TileId | None:
    """Whose memory holds what two cores exchange without a DMA: the producer's if the consumer reaches it."""
    if producer == consumer:
        return producer
    if not (model.is_core_tile(*producer) and model.is_core_tile(*consumer)):
        return None
    if model.is_legal_memory_affinity(*consumer, *producer):
        return producer
    return consumer if model.is_legal_memory_affinity(*producer, *consumer) else None


def stored_fifos(problem: PlacementProblem) -> list[StoredFifo]:
    most_held = _most_held(problem)
    found: list[StoredFifo] = []
    for op in problem.ops(ObjectFifoOp):
        depths = op.depths
        depths += depths[:1] * (1 + len(op.consumers) - len(depths))  # a single depth is that of all ends
        types = [op.element_type, *[op.consumer_element_type] * len(op.consumers)]
        ends = [
            EndBuffers(
                tile, (element_count(type) or 0) * element_bytes(type), depth, _dma_depth(most_held, op, value, depth)
            )
            for value, type, depth in zip((op.producer, *op.consumers), types, depths, strict=False)
            if (tile := tile_of(value)) is not None
        ]
        is_output = op.sym_name in problem.link_outputs
        if ends:
            producer, *consumers = ends
            needs_dma = is_output or op.sym_name in problem.link_inputs or _asks_for_dma(op)
            found.append(StoredFifo(op, producer, tuple(consumers), needs_dma, is_output))
    return found


def _most_held(problem: PlacementProblem) -> dict[tuple[ObjectFifoOp, SSAValue], int]:
    """The most buffers of a FIFO that the core at one of its ends holds at a time."""
    held: dict[tuple[ObjectFifoOp, SSAValue], int] = defaultdict(int)
    for acquire in problem.ops(ObjectFifoAcquireOp):
        core, fifo = parent_of_type(acquire, CoreOp), acquire.fifo
        if core is not None and fifo is not None:
            held[fifo, core.tile] = max(held[fifo, core.tile], acquire.count)
    return held


def _dma_depth(held: dict[tuple[ObjectFifoOp, SSAValue], int], fifo: ObjectFifoOp, tile: SSAValue, depth: int) -> int:
    """A core with a DMA gets as many buffers as it holds at a time, and one for the DMA meanwhile."""
    most = held.get((fifo, tile))
    if most is None:
        return depth
    return 1 if most == depth == 1 else most + 1


def _asks_for_dma(op: ObjectFifoOp) -> bool:
    """Whether something about the FIFO can only be done by a DMA or a stream."""
    reshapes = len(op.dimensions_to_stream) or any(len(dimensions) for dimensions in op.consumer_dimensions)
    options = (op.repeat_count, op.consumer_fifo_type, op.aie_stream)
    return bool(op.via_dma.value.data or reshapes or any(option is not None for option in options))
