"""Streams between tiles: circuit and packet flows, switches, the cascade, and where the host comes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Region

from tilewright.device import CascadeDirection, WireBundle
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie import cascade, core
from tilewright.dialects.aie import flows as ops
from tilewright.dialects.aie import switchbox as switches
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build, builder, new_block, region_op
from tilewright.iron.placed.tiles import EndOp

CascadeDir = CascadeDirection


class FlowOp(OpView):
    """A circuit-switched stream."""

    OP = ops.FlowOp


def flow(
    source: Any,
    source_bundle: Any = None,
    source_channel: int | None = None,
    dest: Any = None,
    dest_bundle: Any = None,
    dest_channel: int | None = None,
) -> FlowOp:
    """A stream from one tile's port to another's; DMA channel 0 where nothing is said."""
    if dest is None:
        refuse("a flow goes somewhere", (None, "say where with dest="))
    op = build(
        ops.FlowOp,
        source=source,
        source_bundle=WireBundle.DMA if source_bundle is None else source_bundle,
        source_channel=source_channel or 0,
        dest=dest,
        dest_bundle=WireBundle.DMA if dest_bundle is None else dest_bundle,
        dest_channel=dest_channel or 0,
    )
    return FlowOp(op)


class packetflow(OpView):
    """A packet-switched stream: packets of one id from a port to one or several `{"dest", "port", "channel"}`."""

    OP = ops.PacketFlowOp

    def __init__(
        self,
        pkt_id: int,
        source: Any,
        source_port: Any,
        source_channel: int,
        dests: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        keep_pkt_header: bool | None = None,
    ):
        op = build(ops.PacketFlowOp, regions=[Region()], ID=pkt_id, keep_pkt_header=keep_pkt_header)
        super().__init__(op)
        with InsertionPoint(new_block(op.ports)):
            packet_source(source, source_port, source_channel)
            # one place need not be in a list
            for dest in [dests] if isinstance(dests, Mapping) else dests:
                packet_dest(dest["dest"], dest["port"], dest["channel"])
            EndOp()


def _switch(op_class: Any) -> Any:
    def make(tile: Any, *, loc: Any = None, ip: Any = None) -> OpView:
        return OpView(build(op_class, results=[INDEX], regions=[Region()], tile=tile, loc=loc, ip=ip))

    return make


def _rules(source_bundle: Any, source_channel: int, *, loc: Any = None, ip: Any = None) -> OpView:
    fields: dict[str, Any] = {"source_bundle": source_bundle, "source_channel": source_channel}
    return OpView(build(switches.PacketRulesOp, regions=[Region()], loc=loc, ip=ip, **fields))


# decorators: the body connects ports of the tile
switchbox = region_op(_switch(switches.SwitchboxOp), terminator=EndOp, name="switchbox")
shim_mux = region_op(_switch(switches.ShimMuxOp), terminator=EndOp, name="shim_mux")
packet_rules = region_op(_rules, terminator=EndOp, name="packet_rules")
packet_source = builder(ops.PacketSourceOp, "tile bundle channel")
packet_dest = builder(ops.PacketDestOp, "tile bundle channel")
wire = builder(ops.WireOp, "source source_bundle dest dest_bundle")
plio = builder(ops.PlioOp, "col", result=INDEX)
shim_dma_allocation = builder(
    ops.ShimDmaAllocationOp, "sym_name tile channel_dir channel_index", optional="plio packet"
)
connect = builder(switches.ConnectOp, "source_bundle source_channel dest_bundle dest_channel")
amsel = builder(switches.AmselOp, "arbiterID msel", result=INDEX)
masterset = builder(switches.MasterSetOp, "dest_bundle dest_channel amsels", optional="keep_pkt_header", result=INDEX)
rule = builder(switches.PacketRuleOp, "mask value amsel")
cascade_flow = builder(cascade.CascadeFlowOp, "source_tile dest_tile")
configure_cascade = builder(cascade.ConfigureCascadeOp, "tile inputDir outputDir")
get_cascade = builder(cascade.GetCascadeOp, result=...)
put_cascade = builder(cascade.PutCascadeOp, "cascade_value")
get_stream = builder(cascade.GetStreamOp, "channel", result=...)
put_stream = builder(cascade.PutStreamOp, "channel stream_value")
event = builder(cascade.EventOp, "val")
debug = builder(core.DebugOp, "arg")
