"""Hardware traces: which tiles are recorded, and where the record goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.iron.worker import Worker


@dataclass
class Tracing:
    """What `Program.enable_trace` or `Runtime.enable_trace` was told."""

    size: int | None
    workers: Sequence[Worker] | None = None
    reuse_output_buffer: bool = False
    coretile_events: Sequence[Any] | None = None
    coremem_events: Sequence[Any] | None = None
    memtile_events: Sequence[Any] | None = None
    shimtile_events: Sequence[Any] | None = None
    egress_shim_col: int = 0
    core_trace_mode: Any = None

    def configure(self, all_workers: Sequence[Worker]) -> None:
        """Set up the trace units of the workers' tiles."""
        from tilewright.iron.utils.trace import configure_trace

        chosen = [worker for worker in all_workers if worker.trace] if self.workers is None else self.workers
        mode = {} if self.core_trace_mode is None else {"core_trace_mode": self.core_trace_mode}
        configure_trace(
            [worker.tile.op for worker in chosen],
            coretile_events=self.coretile_events,
            coremem_events=self.coremem_events,
            memtile_events=self.memtile_events,
            shimtile_events=self.shimtile_events,
            **mode,
        )

    def start(self) -> None:
        """Start recording, at the start of the sequence."""
        from tilewright.iron.utils.trace import start_trace

        # the one routing that there is, see `TraceShimRouting`
        start_trace(
            trace_size=self.size,
            reuse_output_buffer=self.reuse_output_buffer,
            routing="single",
            egress_shim_col=self.egress_shim_col,
        )
