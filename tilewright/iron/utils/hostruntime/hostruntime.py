"""The runtime that scripts of designs load kernels with, by upstream's path: the simulated NPU."""

from tilewright.iron.utils.npukernel import HostRuntime, HostRuntimeError, KernelResult
from tilewright.iron.utils.npukernel import NPUKernel as KernelHandle

__all__ = ["HostRuntime", "HostRuntimeError", "KernelHandle", "KernelResult"]
