"""A placed, routed and addressed device in; the register writes that configure it out, in the order the driver makes.

One module for each block of the hardware: each reads the operations that describe the block and yields writes.
`transaction` and `control_packets` put writes into a runtime sequence. Sources of order and values: AIERT.cpp of
mlir-aie at 3ca0193cea9e, and the calls of aie-rt (branch release/main_aig) that it makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from xdsl.ir import Operation

from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.cascade import ConfigureCascadeOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.dma import DmaBody, MemOp, MemTileDmaOp, ShimDmaOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.switchbox import ShimMuxOp, SwitchboxOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.control.configuration.cores import loaded_program, restarted_core, started_core
from tilewright.passes.control.configuration.descriptors import Slots
from tilewright.passes.control.configuration.dmas import configured_dma
from tilewright.passes.control.configuration.memory import cleared_locks, initial_buffers, initial_locks
from tilewright.passes.control.configuration.streams import configured_cascade, configured_shim_mux, configured_switch
from tilewright.passes.control.configuration.writes import TileWriter, Write

OVERLAY = "is_ctrl_pkt_overlay"
"""Attribute of connections that carry control packets; they are loaded before the rest is sent by packets."""

OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True)
class Configuration:
    """What a device needs before it runs: programs into memories, everything else, and the start of its cores."""

    programs: list[Write]
    settings: list[Write]
    start: list[Write]

    @property
    def writes(self) -> list[Write]:
        return [*self.programs, *self.settings, *self.start]


def configuration_of(device: DeviceOp, elf_directory: Path | None = None, overlay: bool = True) -> Configuration:
    """The configuration of a device.

    Cores that name an ELF file get its contents from `elf_directory`; without one, what loads the device loads
    the programs too. Connections of the control packet overlay are left out on request.
    """
    if not device.model.is_npu:
        remedy = (device, "choose an npu device; others are configured by a PDI that their own tools make")
        fail_op(device, f"{device.model} is not configured by register writes", remedy)
    design = _Design(device)
    return Configuration(
        list(design.programs(elf_directory)) if elf_directory is not None else [],
        list(design.settings(overlay)),
        list(design.start()),
    )


class _Design:
    """A device, its operations read once."""

    def __init__(self, device: DeviceOp):
        self.device, self.model = device, device.model
        self.by_type = dict[type[Operation], list[Operation]]()
        for op in device.body.ops:
            self._add(op)
            if isinstance(op, DmaBody):  # locks and buffers may be declared inside
                for inner in op.ops:
                    self._add(inner)
        # In the order of tiles, not of cores, as upstream walks them.
        cores = {core.tile: core for core in self.all(CoreOp)}
        self.cores = [(tile, core) for tile in device.tiles if (core := cores.get(tile.result)) is not None]

    def _add(self, op: Operation) -> None:
        self.by_type.setdefault(type(op), []).append(op)

    def all(self, kind: type[OpT]) -> Iterator[OpT]:
        return (op for op in self.by_type.get(kind, ()) if isinstance(op, kind))

    def programs(self, elf_directory: Path) -> Iterator[Write]:
        for tile, core in self.cores:
            yield from loaded_program(core, TileWriter(self.model, tile.place, core.location), elf_directory)

    def settings(self, overlay: bool) -> Iterator[Write]:
        for tile, _ in self.cores:
            writer = TileWriter(self.model, tile.place, tile.location)
            yield from restarted_core(writer)
            yield from cleared_locks(writer)
        yield from initial_locks(self.model, self.all(LockOp))
        yield from initial_buffers(self.model, self.all(BufferOp))
        slots: Slots = {}
        # Upstream configures all DMAs of core tiles, then of mem tiles, then of shims.
        for kind in (MemOp, MemTileDmaOp, ShimDmaOp):
            for dma in self.all(kind):
                yield from configured_dma(self.model, dma, slots)
        yield from self.streams(overlay)

    def streams(self, overlay: bool) -> Iterator[Write]:
        for switch in self.all(SwitchboxOp):
            ops = [op for op in switch.connections.ops if overlay or OVERLAY not in op.attributes]
            yield from configured_switch(self.model, switch, ops)
        for mux in self.all(ShimMuxOp):
            yield from configured_shim_mux(self.model, mux)
        for cascade in self.all(ConfigureCascadeOp):
            yield configured_cascade(self.model, cascade)

    def start(self) -> Iterator[Write]:
        for tile, core in self.cores:
            yield started_core(TileWriter(self.model, tile.place, core.location))
