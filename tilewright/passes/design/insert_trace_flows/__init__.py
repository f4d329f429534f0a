"""Routes traces to the host: packet flows to a shim tile, and what the runtime sequence does to receive them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import Arch
from tilewright.dialects.aie.flows import PacketDestOp, PacketFlowOp, PacketSourceOp
from tilewright.dialects.aie.tiles import DeviceOp, LogicalTileOp
from tilewright.dialects.aie.trace import TraceOp
from tilewright.ir.diagnostics import CompileError, Severity, diagnose, fail
from tilewright.ir.pass_manager import Pass
from tilewright.passes.design.insert_trace_flows.egress import Egress, EgressOptions, choose_egress
from tilewright.passes.design.insert_trace_flows.host_buffers import host_buffers
from tilewright.passes.design.insert_trace_flows.sequence_setup import SequenceSetup
from tilewright.passes.design.insert_trace_flows.signals import Signals, listen_to_source
from tilewright.passes.design.insert_trace_flows.traced_units import Traced, traced_units


@dataclass(frozen=True)
class InsertTraceFlowsPass(Pass):
    name = "aie-insert-trace-flows"
    anchor = "aie.device"

    shim_channel: int = field(default=1, metadata={"help": "S2MM channel of the shim tile that receives traces"})
    default_bd_id: int = field(default=15, metadata={"help": "buffer descriptor that receives traces"})
    packet_id_start: int = field(default=1, metadata={"help": "first id for traces that do not name theirs"})
    burst_length: int = field(default=64, metadata={"help": "bytes per burst to host memory"})
    distribute_channels: bool = field(
        default=False, metadata={"help": "let traces take turns on both S2MM channels of the shim tile"}
    )
    lateral_routing: bool = field(
        default=False, metadata={"help": "let traces leave by a column without cores, away from the data"}
    )
    lateral_target_col: int = field(
        default=-1, metadata={"help": "the column for lateral routing; -1 is the nearest without cores"}
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        _require_places(op)
        traces = [trace for trace in op.body.ops if isinstance(trace, TraceOp)]
        if not traces:
            return
        if op.model.arch is Arch.AIE1:
            fail(op, f"traces on {op.model} cannot be lowered: the registers of its trace units are not known")
        buffers = host_buffers(op)
        units = traced_units(op, traces, self.packet_id_start)
        signals = Signals.of(units)
        egress = choose_egress(op, self._wishes(buffers[0].egress_column), len(units))
        for traced in units:
            traced.write_packet()
            if traced.tile.place == egress.shim.place:
                listen_to_source(traced)
        _add_flows(op, units, egress)
        for buffer in buffers:
            buffer.claim(len(egress.channels))
            SequenceSetup(buffer, units, egress, signals, self.burst_length).insert()

    def _wishes(self, column: int) -> EgressOptions:
        return EgressOptions(
            column=column,
            channel=self.shim_channel,
            bd_id=self.default_bd_id,
            distribute=self.distribute_channels,
            lateral=self.lateral_routing,
            lateral_column=self.lateral_target_col if self.lateral_target_col >= 0 else None,
        )


def _require_places(device: DeviceOp) -> None:
    unplaced = [tile for tile in device.walk() if isinstance(tile, LogicalTileOp)]
    text = (
        "LogicalTileOp must be resolved to TileOp before running -aie-insert-trace-flows (run -aie-place-tiles first)"
    )
    if unplaced:
        raise CompileError([diagnose(Severity.ERROR, tile, text) for tile in unplaced])


def _add_flows(device: DeviceOp, units: Sequence[Traced], egress: Egress) -> None:
    end = device.body.last_op
    assert end is not None
    for index, traced in enumerate(units):
        source = PacketSourceOp(traced.tile.result, traced.port)
        dest = PacketDestOp(egress.shim.result, egress.channel_of(index).port)
        flow = PacketFlowOp(traced.packet_id, [source, dest], keep_header=True)
        for op in flow.walk():
            op.location = traced.trace.location
        Rewriter.insert_op(flow, InsertPoint.before(end))
