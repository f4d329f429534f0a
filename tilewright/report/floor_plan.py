"""The floor plan of a design, tile by tile: core programs, buffers, locks, and the ends of object FIFOs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, SSAValue

from tilewright.device import DeviceModel, TileId, WireBundle
from tilewright.device.stream_switch import STEPS
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import type_bytes
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import symbol_name, tile_of
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.switchbox import ConnectOp, MasterSetOp, SwitchboxOp
from tilewright.dialects.aie.tiles import DeviceOp


@dataclass
class Occupant:
    """What is on one tile; sizes are in bytes."""

    programs: list[int] = field(default_factory=list[int])
    """For each core, how many operations it has."""
    buffers: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    locks: int = 0
    reads: list[str] = field(default_factory=list[str])
    writes: list[str] = field(default_factory=list[str])


@dataclass
class PlacedFifo:
    """An object FIFO: where it comes from, where it goes, and what it carries."""

    name: str
    source: TileId | None
    targets: list[TileId | None]
    depths: list[int]
    element: str
    element_bytes: int


@dataclass
class FloorPlan:
    """One device of a program, and what is on it."""

    name: str
    model: DeviceModel
    tiles: dict[TileId, Occupant]
    fifos: list[PlacedFifo]
    sequences: list[RuntimeSequenceOp]
    streams: Counter[tuple[TileId, WireBundle]]
    """How many streams leave a tile by one of its sides."""


def floor_plans(module: ModuleOp) -> Iterator[FloorPlan]:
    """The plan of each device in a program."""
    for device in module.walk():
        if isinstance(device, DeviceOp):
            yield _plan(device)


def _plan(device: DeviceOp) -> FloorPlan:
    plan = FloorPlan(device.sym_name.data, device.model, {}, [], [], Counter())

    def at(value: SSAValue) -> Occupant:
        # what is on a tile without a place is counted nowhere
        place = _place(value)
        return plan.tiles.setdefault(place, Occupant()) if place else Occupant()

    for op in device.body_region.block.ops:
        match op:
            case CoreOp():
                at(op.tile).programs.append(sum(1 for _ in op.walk()) - 1)
            case BufferOp():
                at(op.tile).buffers.append((symbol_name(op) or "(unnamed)", _size(op.buffer.type)))
            case LockOp():
                at(op.tile).locks += 1
            case ObjectFifoOp():
                plan.fifos.append(_fifo(op))
                at(op.producer).writes.append(op.sym_name.data)
                for consumer in op.consumers:
                    at(consumer).reads.append(op.sym_name.data)
            case RuntimeSequenceOp():
                plan.sequences.append(op)
            case SwitchboxOp():
                at(op.tile)  # a tile that only passes streams on is used, too
                plan.streams.update(_streams(op))
            case _:
                pass
    return plan


def _streams(switch: SwitchboxOp) -> Iterator[tuple[TileId, WireBundle]]:
    place = _place(switch.tile)
    for op in switch.connections.ops:
        if place is not None and isinstance(op, ConnectOp | MasterSetOp) and op.dest.bundle in STEPS:
            yield place, op.dest.bundle


def _fifo(op: ObjectFifoOp) -> PlacedFifo:
    targets = [_place(consumer) for consumer in op.consumers]
    return PlacedFifo(
        op.sym_name.data, _place(op.producer), targets, op.depths, str(op.element_type), _size(op.element_type)
    )


def _place(value: SSAValue) -> TileId | None:
    tile = tile_of(value)
    return tile.place if tile else None


def _size(type: MemRefType[Attribute]) -> int:
    return prod(type.get_shape()) * type_bytes(type.element_type)
