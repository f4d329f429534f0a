"""Settings of hardware traces. The simulator does not model trace units: it accepts the settings, and records nothing.

What a run did, and when, is in its result: `tilewright run --trace FILE.json`, or `KernelResult.trace`.
"""

from __future__ import annotations

import warnings
from typing import Any

NOT_MODELLED = (
    "hardware traces are not modelled: nothing is recorded; what happened when is in the run's own trace "
    "(tilewright run --trace FILE.json)"
)


def warn_not_modelled() -> None:
    warnings.warn(NOT_MODELLED, stacklevel=3)  # at the line that calls what calls this


class TraceConfig:
    """What a hardware trace would be told."""

    DEFAULT_TRACE_FILE = "trace.txt"

    def __init__(
        self,
        trace_size: int,
        trace_file: str = DEFAULT_TRACE_FILE,
        reuse_output_buffer: bool = False,
        enable_ctrl_pkts: bool = False,
        last_tensor_shape: Any = None,
        last_tensor_dtype: Any = None,
    ):
        if trace_size <= 0:
            raise ValueError(f"Invalid trace size: {trace_size}")
        self.trace_size, self.trace_file = trace_size, trace_file
        self.reuse_output_buffer, self.enable_ctrl_pkts = reuse_output_buffer, enable_ctrl_pkts
        self.last_tensor_shape, self.last_tensor_dtype = last_tensor_shape, last_tensor_dtype
        self.physical_mlir_path: str | None = None

    def trace_to_json(self, mlir_file: str | None = None, output_name: str = "trace.json") -> None:
        """Say that there is nothing to convert."""
        warn_not_modelled()

    def __repr__(self) -> str:
        return f"TraceConfig(trace_size={self.trace_size})"
