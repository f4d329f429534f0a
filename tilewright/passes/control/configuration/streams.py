"""Streams: switches (circuits, arbiters, packet rules), multiplexers below those of shim tiles, and cascades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

from xdsl.ir import Operation, SSAValue

from tilewright.device import MAX_PACKET_ID, NUM_SLAVE_SLOTS, CascadeDirection, DeviceModel, DmaDirection, WireBundle
from tilewright.device.layout import WORD_BYTES, Layout
from tilewright.device.registers import (
    SHIM_STREAM_ENDS,
    CascadeControl,
    MasterPort,
    PacketMasterPort,
    ShimDemux,
    ShimMux,
    SlavePort,
    SlaveSlot,
)
from tilewright.device.stream_switch import SHIM_DMA_PORTS
from tilewright.dialects.aie.cascade import ConfigureCascadeOp
from tilewright.dialects.aie.flows import Port
from tilewright.dialects.aie.lookup import tile_of
from tilewright.dialects.aie.switchbox import (
    AmselOp,
    ConnectOp,
    MasterSetOp,
    PacketRuleOp,
    PacketRulesOp,
    ShimMuxOp,
    SwitchboxOp,
)
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.control.configuration.writes import TileWriter, Write, fail_as_driver, placed, writer_for
from tilewright.rewrite.pass_bases import ops_of

BYTE = 0xFF  # masks and values of rules are bytes, which programs may show as signed numbers


def configured_switch(model: DeviceModel, switch: SwitchboxOp, ops: Sequence[Operation]) -> Iterator[Write]:
    """Set those registers of a switch that some of the operations in it ask for: circuits, then masters, then rules."""
    writers = _Switch(writer_for(model, switch))
    for op in ops_of(ops, ConnectOp):
        yield from writers.circuit(op)
    for op in ops_of(ops, MasterSetOp):
        yield writers.packet_master(op)
    for op in ops_of(ops, PacketRulesOp):
        yield from writers.packet_rules(op)


class _Switch:
    """The registers of one switch."""

    def __init__(self, tile: TileWriter):
        registers = tile.model.registers(*tile.place)
        masters, slaves, slots = registers.switch_masters, registers.switch_slaves, registers.switch_slots
        assert masters is not None and slaves is not None and slots is not None, "NPUs have stream switch registers"
        self.tile, self.masters, self.slaves, self.slots = tile, masters, slaves, slots

    def circuit(self, op: ConnectOp) -> Iterator[Write]:
        at = replace(self.tile, location=op.location)
        source, dest = self._number(op, op.source, master=False), self._number(op, op.dest, master=True)
        # A circuit needs both ends: the master selects the slave, the slave is enabled.
        yield at.write(self.masters[dest], MasterPort.encode(master_enable=1, configuration=source)[0])
        yield at.write(self.slaves[source], SlavePort.encode(slave_enable=1)[0])

    def packet_master(self, op: MasterSetOp) -> Write:
        amsels = [_amsel(op, value) for value in op.amsels]
        if not amsels:
            why = (op, "a port that packets leave by needs an aie.amsel that sends them there")
            fail_as_driver(op, "XAie_StrmPktSwMstrPortEnable", "XAIE_INVALID_ARGS", why)
        (word,) = PacketMasterPort.encode(
            master_enable=1,
            packet_enable=1,
            drop_header=int(not self._keeps_header(op)),
            # Several amsels of one arbiter may lead to the same port.
            msel_mask=sum(1 << msel for msel in {amsel.msel.value.data for amsel in amsels}),
            arbiter=amsels[0].arbiter,
        )
        port = self._number(op, op.dest, master=True)
        return replace(self.tile, location=op.location).write(self.masters[port], word)

    def packet_rules(self, op: PacketRulesOp) -> Iterator[Write]:
        rules = ops_of(op.rules.block.ops, PacketRuleOp)
        if len(rules) > NUM_SLAVE_SLOTS:
            why = f"a port has {NUM_SLAVE_SLOTS} packet rules, this one needs {len(rules)}"
            remedy = "merge rules under a mask, or let packets enter through another port"
            call = "XAie_StrmPktSwSlaveSlotEnable"
            fail_as_driver(op, call, "XAIE_ERR_STREAM_PORT", (op, why), (rules[NUM_SLAVE_SLOTS], remedy))
        at, port = replace(self.tile, location=op.location), self._number(op, op.source, master=False)
        for slot, rule in enumerate(rules):
            # The driver enables the port again for each rule.
            yield at.write(self.slaves[port], SlavePort.encode(slave_enable=1, packet_enable=1)[0])
            yield at.write(self.slots[port] + WORD_BYTES * slot, _slot_word(rule))

    def _keeps_header(self, op: MasterSetOp) -> bool:
        """DMAs want the data alone: also the one of a shim tile, which is below its switch."""
        if op.keep_pkt_header is not None:
            return bool(op.keep_pkt_header.value.data)
        to_shim_dma = self.tile.model.is_shim_tile(*self.tile.place) and op.dest.bundle is WireBundle.South
        return op.dest.bundle is not WireBundle.DMA and not to_shim_dma

    def _number(self, op: Operation, port: Port, *, master: bool) -> int:
        number = self.tile.model.port_number(*self.tile.place, port.bundle, port.channel, master=master)
        if number is None:
            why = f"the switch of tile ({self.tile.place.column}, {self.tile.place.row}) has no port {port}"
            fail_as_driver(op, "XAie_StrmConnCctEnable", "XAIE_ERR_STREAM_PORT", (op, why))
        return number


def _slot_word(rule: PacketRuleOp) -> int:
    amsel = _amsel(rule, rule.amsel)
    mask, value = (attr.value.data & BYTE for attr in (rule.mask, rule.value))
    for what, number in (("mask", mask), ("value", value)):
        if number > MAX_PACKET_ID:
            why = f"packet ids are 0 to {MAX_PACKET_ID}, the {what} of this rule is {number}"
            fail_as_driver(rule, "XAie_StrmPktSwSlaveSlotEnable", "XAIE_INVALID_ARGS", (rule, why))
    return SlaveSlot.encode(id=value, mask=mask, enable=1, msel=amsel.msel.value.data, arbit=amsel.arbiter)[0]


def _amsel(op: Operation, value: SSAValue) -> AmselOp:
    owner = value.owner
    if not isinstance(owner, AmselOp):
        fail_op(op, "sends packets to something else than an aie.amsel", (op, "make its operand an aie.amsel"))
    return owner


def configured_shim_mux(model: DeviceModel, mux: ShimMuxOp) -> Iterator[Write]:
    """Ports are named as the multiplexer sees them: its North is the South of the switch."""
    tile, registers = writer_for(model, mux), model.registers(*writer_for(model, mux).place)
    assert registers.shim_mux is not None and registers.shim_demux is not None, "the verifier asks for a shim tile"
    for op in ops_of(mux.connections.ops, ConnectOp):
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


def configured_cascade(model: DeviceModel, op: ConfigureCascadeOp) -> Write:
    tile = TileWriter(model, placed(op, tile_of(op.tile)), op.location)
    register = model.registers(*tile.place).cascade_control
    assert register is not None, "the verifier asks for a core tile"
    (word,) = CascadeControl.encode(
        input=int(op.input_direction is CascadeDirection.West), output=int(op.output_direction is CascadeDirection.East)
    )
    return tile.write(register, word)
