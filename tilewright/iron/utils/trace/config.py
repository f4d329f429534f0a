"""Settings of hardware traces on the host's side: how large the buffer is, and the files that its contents go to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.device.layout import WORD_BYTES
from tilewright.support.output_files import write_file


class TraceConfig:
    """A trace buffer, and where its words are written when a run is over: a text with one in a line."""

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
        """The register writes that say what was recorded; a run sets it, to a file beside `trace_file`."""

    def write_trace(self, trace: Any) -> None:
        """Write the words of a trace buffer, up to the last one that is not 0."""
        words = np.trim_zeros(np.ascontiguousarray(trace).view(np.uint32).reshape(-1), "b")
        write_file(Path(self.trace_file), "\n".join(f"{word:08x}" for word in words.tolist()).encode())

    def read_trace(self) -> Any:
        """The words that were written, as many as the buffer has."""
        lines = Path(self.trace_file).read_text().split()
        words = np.zeros(max(self.trace_size // WORD_BYTES, len(lines)), np.uint32)
        words[: len(lines)] = [int(line, 16) for line in lines]
        return words

    @property
    def egress_shim_col(self) -> int:
        """The column whose shim tile the record leaves by."""
        return 0

    def trace_to_json(self, mlir_file: str | None = None, output_name: str = "trace.json") -> None:
        """Write the events of the trace, for ui.perfetto.dev; the design of the last run is meant if none is given."""
        from tilewright.iron.utils.trace.parse import parse_trace

        source = mlir_file or self.physical_mlir_path
        if source is None:
            raise ValueError("no design: give the lowered MLIR, or run a design with this configuration first")
        events = parse_trace(self.read_trace(), Path(source).read_text())
        write_file(Path(output_name), json.dumps(events, indent=2).encode())

    def __repr__(self) -> str:
        parts = [f"trace_size={self.trace_size}"]
        if self.trace_file != self.DEFAULT_TRACE_FILE:
            parts.append(f"trace_file={self.trace_file!r}")
        parts += [f"{name}=True" for name in ("reuse_output_buffer", "enable_ctrl_pkts") if getattr(self, name)]
        return f"TraceConfig({', '.join(parts)})"


class TraceBuffer(TraceConfig):
    """Where a hardware trace goes, as programs say that tell their tiles what to record (`TileTrace`)."""

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
        """A buffer for what is recorded.

        Args:
            trace_size: how many bytes it has
            trace_file: the file that the record goes to
            ddr_id: which of a kernel's buffers; -1 is behind the last output
            enable_ctrl_pkts: accepted, and means nothing
            egress_shim_col: the column whose shim tile the record leaves by
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
    """What a tile records: its events, or the usual ones. `Worker(trace=TileTrace())` is that of a core's tile."""

    def __init__(self, events: Sequence[Any] | None = None, tile: Any = None):
        self.events, self.tile = events, tile
