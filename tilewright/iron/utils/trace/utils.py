"""Summaries of hardware traces, of which there are none."""

from __future__ import annotations

from typing import Any

from tilewright.iron.utils.trace.config import NOT_MODELLED


def get_cycles_summary(trace_path: Any) -> list[Any]:
    """Cycles between events: none were recorded."""
    return []


def print_cycles_summary(trace_path: Any) -> None:
    """Say that nothing was recorded."""
    print(NOT_MODELLED)


def get_cycles(trace_path: Any) -> int:
    return 0
