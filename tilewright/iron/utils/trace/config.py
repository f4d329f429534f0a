"""Settings of hardware traces. The simulator does not model trace units: it accepts the settings, and records nothing.

What a run did, and when, is in its result: `tilewright run --trace FILE.json`, or `KernelResult.trace`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
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

    @property
    def egress_shim_col(self) -> int:
        """The column whose shim tile the record would leave by."""
        return 0

    def trace_to_json(self, mlir_file: str | None = None, output_name: str = "trace.json") -> None:
        """Say that there is nothing to convert."""
        warn_not_modelled()

    def __repr__(self) -> str:
        return f"TraceConfig(trace_size={self.trace_size})"


class TraceBuffer(TraceConfig):
    """Where a hardware trace would go, as programs say that tell their tiles what to record (`TileTrace`)."""

    def __init__(
        self,
        trace_size: int,
        trace_file: str = TraceConfig.DEFAULT_TRACE_FILE,
        ddr_id: int = 4,
        enable_ctrl_pkts: bool = False,
        egress_shim_col: int = 0,
        last_tensor_shape: Any = None,
        last_tensor_dtype: Any = None,
    ):
        """A buffer that nothing is recorded in here.

        Args:
            trace_size: how many bytes it has
            trace_file: the file that the record would go to
            ddr_id: which of a kernel's buffers; -1 is behind the last output
            enable_ctrl_pkts: whether control packets would set up the trace
            egress_shim_col: the column whose shim tile the record would leave by
            last_tensor_shape: the shape of the last output, and `last_tensor_dtype` its type
        """
        super().__init__(trace_size, trace_file, ddr_id == -1, enable_ctrl_pkts, last_tensor_shape, last_tensor_dtype)
        self.ddr_id, self._egress_shim_col = ddr_id, egress_shim_col

    @property
    def egress_shim_col(self) -> int:
        return self._egress_shim_col

    def __repr__(self) -> str:
        return f"TraceBuffer(trace_size={self.trace_size})"


class TileTrace:
    """What a tile would record: its events, or the usual ones. `Worker(trace=TileTrace())` is that of a core's tile."""

    def __init__(self, events: Sequence[Any] | None = None, tile: Any = None):
        self.events, self.tile = events, tile
