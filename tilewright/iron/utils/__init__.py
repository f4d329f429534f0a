"""Tensors, the current device, and what scripts of designs use besides."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from tilewright.iron.builders.location import UPSTREAM
from tilewright.iron.utils.hostruntime.current_device import (
    ensure_current_device,
    get_current_device,
    set_current_device,
)
from tilewright.iron.utils.tensor_factory import (
    arange,
    ceildiv,
    full,
    npu_runtime_folds_ddr_addr_offset,
    ones,
    rand,
    randint,
    set_tensor_class,
    tensor,
    zeros,
    zeros_like,
)
from tilewright.support.lazy import lazy_names, listed_names, once

if TYPE_CHECKING:
    from tilewright.iron.utils.npukernel import HostRuntime, NPUKernel
    from tilewright.iron.utils.trace.config import TraceConfig

_HOMES = {
    "HostRuntime": "tilewright.iron.utils.npukernel:HostRuntime",
    "NPUKernel": "tilewright.iron.utils.npukernel:NPUKernel",
    "TraceConfig": "tilewright.iron.utils.trace.config:TraceConfig",
    "DEFAULT_TENSOR_CLASS": "tilewright.iron.utils.tensor_factory:DEFAULT_TENSOR_CLASS",
}
_lazy = lazy_names(__name__, _HOMES)
__dir__ = listed_names(__name__)
# upstream's scripts ask which runtimes are installed
has_xrt = has_hrx = False

__all__ = [
    "HostRuntime",
    "NPUKernel",
    "TraceConfig",
    "arange",
    "ceildiv",
    "cleanup_npu_runtime",
    "ensure_current_device",
    "full",
    "get_current_device",
    "npu_runtime_folds_ddr_addr_offset",
    "ones",
    "rand",
    "randint",
    "set_current_device",
    "set_tensor_class",
    "tensor",
    "zeros",
    "zeros_like",
]


def _check_runtime() -> None:
    """Refuse what the environment asks of mlir-aie and is not here; no other runtime stands in for it."""
    runtime = os.environ.get("NPU_RUNTIME", "auto").lower()
    if runtime not in ("xrt", "hrx", "auto"):
        raise ImportError(f"Invalid NPU_RUNTIME={runtime!r}; expected one of xrt|hrx|auto")
    if runtime == "hrx":
        raise ImportError("NPU_RUNTIME=hrx asks for libhrx, which tilewright does not use: unset it for the simulator")


if UPSTREAM in sys.modules:
    _check_runtime()


@once
def _get_default_npu_runtime() -> Any:
    """The simulated NPU."""
    from tilewright.iron.utils.npukernel import HostRuntime

    return HostRuntime()


def cleanup_npu_runtime() -> None:
    """Nothing is held that would have to be given back."""


# made when it is asked for: most scripts that import this run nothing
def __getattr__(name: str) -> Any:
    return _get_default_npu_runtime() if name == "DefaultNPURuntime" else _lazy(name)
