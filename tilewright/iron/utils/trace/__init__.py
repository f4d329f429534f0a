"""Hardware traces: which tiles record which events, the buffer that they go to, and what is in it."""

from __future__ import annotations

from tilewright.iron.utils.trace.config import TileTrace, TraceBuffer, TraceConfig
from tilewright.iron.utils.trace.parse import parse_trace
from tilewright.iron.utils.trace.setup import configure_trace, start_trace
from tilewright.iron.utils.trace.utils import get_cycles, get_cycles_summary, print_cycles_summary

__all__ = [
    "TileTrace",
    "TraceBuffer",
    "TraceConfig",
    "configure_trace",
    "get_cycles",
    "get_cycles_summary",
    "parse_trace",
    "print_cycles_summary",
    "start_trace",
]
