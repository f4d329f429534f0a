"""What is below the switches of shim tiles: which of its South ports lead to the DMA, the NoC or the PL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

from tilewright.device import DeviceModel, DmaDirection, WireBundle
from tilewright.device.layout import Layout
from tilewright.device.registers import SHIM_STREAM_ENDS, ShimDemux, ShimMux
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.dialects.aie.flows import Port
from tilewright.dialects.aie.switchbox import ConnectOp, ShimMuxOp
from tilewright.passes.control.configuration.writes import TileWriter, Write, fail_as_driver, writer_for


def configured_shim_mux(model: DeviceModel, mux: ShimMuxOp) -> Iterator[Write]:
    """Ports are named as the multiplexer sees them: its North is the South of the switch."""
    tile, registers = writer_for(model, mux), model.registers(*writer_for(model, mux).place)
    assert registers.shim_mux is not None and registers.shim_demux is not None, "the verifier asks for a shim tile"
    for op in mux.connections.ops:
        if not isinstance(op, ConnectOp):
            continue
        at = replace(tile, location=op.location)
        if op.source.bundle is WireBundle.North:
            yield from _selected(at, op, registers.shim_demux, ShimDemux, op.source.channel, op.dest, DmaDirection.S2MM)
        if op.dest.bundle is WireBundle.North:
            yield from _selected(at, op, registers.shim_mux, ShimMux, op.dest.channel, op.source, DmaDirection.MM2S)


def _selected(
    tile: TileWriter, op: ConnectOp, register: int, layout: type[Layout], port: int, end: Port, direction: DmaDirection
) -> Iterator[Write]:
    """Let a port of the switch lead to one end; ports that have no field lead to the PL."""
    if end.bundle is WireBundle.DMA:
        _check_wire(op, port, end.channel, direction)
    field, value = layout.fields.get(f"south{port}"), SHIM_STREAM_ENDS.get(end.bundle)
    if value is None or (field is None and end.bundle is not WireBundle.PLIO):
        _refuse(op, direction, f"port {port} of the switch has no way to {end.bundle}")
    if field is not None:
        yield tile.mask_write(register, field.place(value), field.mask)


def _check_wire(op: ConnectOp, port: int, channel: int, direction: DmaDirection) -> None:
    ports = SHIM_DMA_PORTS[direction]
    if channel >= len(ports) or ports[channel] != port:
        wires = ", ".join(f"{number} to South {wired}" for number, wired in enumerate(ports))
        _refuse(op, direction, f"{direction} channels of the shim DMA are wired to ports of the switch: {wires}")


def _refuse(op: ConnectOp, direction: DmaDirection, why: str) -> NoReturn:
    to_switch = direction is DmaDirection.MM2S
    call = "XAie_EnableShimDmaToAieStrmPort" if to_switch else "XAie_EnableAieToShimDmaStrmPort"
    fail_as_driver(op, call, "XAIE_ERR_STREAM_PORT", (op, why))
