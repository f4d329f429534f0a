"""Hardware traces: accepted, so that designs which ask for them run; see `config` for what they get."""

from __future__ import annotations

from typing import Any

from tilewright.iron.utils.trace.config import TileTrace, TraceBuffer, TraceConfig, warn_not_modelled

__all__ = ["TileTrace", "TraceBuffer", "TraceConfig", "configure_trace", "parse_trace", "start_trace"]


def configure_trace(tiles_to_trace: Any, *_arguments: Any, **_settings: Any) -> None:
    """Would have these tiles record events."""
    warn_not_modelled()


def start_trace(*_arguments: Any, **_settings: Any) -> None:
    """Would start recording."""


def parse_trace(*_arguments: Any, **_settings: Any) -> list[Any]:
    """The events of a record that is empty."""
    return []
