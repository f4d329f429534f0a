"""Event traces: what tiles record, and where it goes."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from xdsl.ir import Region

from tilewright.dialects.aie import trace as ops
from tilewright.dialects.aie import trace_config as config
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import build, builder, region_op
from tilewright.iron.placed.tiles import EndOp


class TracePacketType(IntEnum):
    """Which module of which tile a trace packet comes from."""

    Core = 0
    Mem = 1
    ShimTile = 2
    MemTile = 3


# upstream's bindings write these with capitals, the dialect without
class TraceShimRouting(IntEnum):
    """How trace packets find a shim tile."""

    Single = 0


def _trace(tile: Any, sym_name: str, *, loc: Any = None, ip: Any = None) -> OpView:
    return OpView(build(ops.TraceOp, regions=[Region()], tile=tile, sym_name=sym_name, loc=loc, ip=ip))


trace = region_op(_trace, terminator=EndOp, name="trace")
trace_mode = builder(ops.TraceModeOp, "mode")
trace_event = builder(ops.TraceEventOp, "event", optional="label")
trace_port = builder(ops.TracePortOp, "slot port channel direction")
trace_start = builder(ops.TraceStartEventOp, optional="broadcast event")
trace_stop = builder(ops.TraceStopEventOp, optional="broadcast event")
trace_combo_event = builder(ops.TraceComboEventOp, "slot eventA logic eventB")
trace_edge_event = builder(ops.TraceEdgeEventOp, "slot event trigger")
trace_start_config = builder(config.TraceStartConfigOp, "name=trace_config")
trace_packet = builder(ops.TracePacketOp, optional="id type")


def trace_host_config(
    buffer_size: int,
    *,
    reuse_output_buffer: bool = False,
    routing: Any = TraceShimRouting.Single,
    egress_shim_col: int = 0,
    loc: Any = None,
    ip: Any = None,
) -> OpView:
    """Where the host collects traces: a buffer of its own, or the end of the last output."""
    # upstream takes the strategy's name as well, in lower case
    if isinstance(routing, str) and routing != "single":
        refuse(f"Unknown routing strategy: {routing}.")
    op = build(
        config.TraceHostConfigOp,
        buffer_size=buffer_size,
        reuse_output_buffer=reuse_output_buffer,
        routing=TraceShimRouting.Single if isinstance(routing, str) else routing,
        egress_shim_col=egress_shim_col,
        loc=loc,
        ip=ip,
    )
    return OpView(op)
