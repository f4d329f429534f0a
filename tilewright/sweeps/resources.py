"""Resources that a design takes of tiles: memory, DMA channels, descriptors; while or after it is compiled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.device import TileId, TileType
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.dma import ChannelOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.driver.compiled_design import devices_in
from tilewright.ir.pass_manager import Pass

RESOURCE_FIELDS = {
    "l1_bytes": "memory of the core tile that has most in it, with its stack",
    "l2_bytes": "memory of the mem tile that has most in it",
    "core_channels": "DMA channels of one direction, of the core tile that uses most",
    "mem_channels": "the same of mem tiles",
    "shim_channels": "the same of shim tiles",
    "core_descriptors": "buffer descriptors of the core tile that has most",
    "mem_descriptors": "the same of mem tiles",
}
MAKES_RESOURCES = "aie-objectFifo-stateful-transform"
"""The pass after which buffers, channels and descriptors are there; what comes later takes ten times as long."""
CORE, MEM, SHIM = TileType.CoreTile, TileType.MemTile, TileType.ShimNOCTile


class ResourceWatch:
    """Has resources checked as soon as passes have made them, so that what is not wanted is not compiled to its end."""

    def __init__(self, check: Callable[[Mapping[str, int]], None]):
        self._check, self._found = check, list[dict[str, int]]()
        self.has_checked = False

    def __call__(self, when: str, step: Pass, op: Operation) -> None:
        if when == "after" and step.name == MAKES_RESOURCES and isinstance(op, DeviceOp):
            self._found.append(resources_of([op]))
            module = op.parent_op()
            if isinstance(module, ModuleOp) and len(self._found) == len(devices_in(module)):
                self.has_checked = True
                self._check({name: max(found[name] for found in self._found) for name in RESOURCE_FIELDS})


def resources_of(devices: Iterable[DeviceOp]) -> dict[str, int]:
    """`RESOURCE_FIELDS` of devices whose buffers and channels are made; of several the most of each."""
    found = dict.fromkeys(RESOURCE_FIELDS, 0)
    for device in devices:
        for name, count in _of_device(device):
            found[name] = max(found[name], count)
    return found


def _of_device(device: DeviceOp) -> Iterator[tuple[str, int]]:
    memory, descriptors = defaultdict[TileId, int](int), defaultdict[TileId, int](int)
    channels = defaultdict[tuple[TileId, object], set[int]](set)
    for op in device.body.ops:
        tile = tile_of(op.operands[0]) if op.operands else None
        place = tile.place if tile is not None else None
        if place is None:
            continue
        match op:
            case BufferOp():
                memory[place] += op.size_bytes
            case CoreOp():
                memory[place] += op.stack_bytes
            case ShimDmaAllocationOp():
                channels[place, op.direction].add(op.channel)
            case _:
                for inner in op.walk():
                    if isinstance(inner, ChannelOp):
                        channels[place, inner.channel.direction].add(inner.channel.number)
                    descriptors[place] += isinstance(inner, DmaBdOp)
    kind = device.model.tile_type
    yield from ((name, count) for place, count in memory.items() for name in _named(kind(*place), "bytes"))
    yield from ((name, len(used)) for (place, _), used in channels.items() for name in _named(kind(*place), "channels"))
    yield from ((name, count) for place, count in descriptors.items() for name in _named(kind(*place), "descriptors"))


NAMES = {
    (CORE, "bytes"): "l1_bytes",
    (MEM, "bytes"): "l2_bytes",
    (CORE, "channels"): "core_channels",
    (MEM, "channels"): "mem_channels",
    (SHIM, "channels"): "shim_channels",
    (CORE, "descriptors"): "core_descriptors",
    (MEM, "descriptors"): "mem_descriptors",
}


def _named(kind: TileType, what: str) -> Iterator[str]:
    if (kind, what) in NAMES:
        yield NAMES[kind, what]
