"""The events that start and stop traces: raised in one shim tile, broadcast to all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr

from tilewright.dialects.aie.trace import TraceStartEventOp, TraceStopEventOp
from tilewright.dialects.aie.trace_event import TraceEventAttr
from tilewright.ir.diagnostics import fail
from tilewright.passes.design.insert_trace_flows.traced_units import Traced

START_EVENT, STOP_EVENT = "USER_EVENT_1", "USER_EVENT_0"
"""What the sequence raises in the shim tile that receives the traces."""


class Signals(NamedTuple):
    """The broadcast channels on which traces wait for their start, and for their end."""

    starts: list[int]
    stops: list[int]

    @classmethod
    def of(cls, units: Sequence[Traced]) -> Signals:
        return cls(
            starts=_distinct(broadcast_of(traced, traced.start) for traced in units),
            stops=_distinct(broadcast_of(traced, traced.stop) for traced in units),
        )


def broadcast_of(traced: Traced, limit: TraceStartEventOp | TraceStopEventOp) -> int | None:
    """The channel that a trace listens to, if it does not wait for an event of its own tile."""
    if limit.broadcast is None:
        return None
    channel = limit.broadcast.value.data
    name = traced.unit.broadcast_event(channel)
    if traced.unit.event(name) is None:
        fail(traced.trace, f"Failed to lookup broadcast event '{name}'")
    return channel


def _distinct(channels: Iterable[int | None]) -> list[int]:
    return list(dict.fromkeys(channel for channel in channels if channel is not None))


def listen_to_source(traced: Traced) -> None:
    """Let the trace of the shim tile that raises the events wait for these: it does not hear its own broadcasts."""
    for limit, event in ((traced.start, START_EVENT), (traced.stop, STOP_EVENT)):
        if limit.broadcast is not None:
            limit.broadcast = None
            limit.event = TraceEventAttr(StringAttr(event))
