"""Arguments of scripts that run a compiled design."""

from __future__ import annotations

from typing import Any

from tilewright.iron.utils.npukernel import NPUKernel
from tilewright.iron.utils.trace.config import TraceConfig


def create_npu_kernel(opts: Any) -> Any:
    """Put the design that `opts` name into `opts.npu_kernel`."""
    size = getattr(opts, "trace_size", 0)
    trace_config = TraceConfig(size, trace_file=getattr(opts, "trace_file", "trace.txt")) if size > 0 else None
    opts.npu_kernel = NPUKernel(opts.xclbin, opts.instr, kernel_name=opts.kernel, trace_config=trace_config)
    return opts
