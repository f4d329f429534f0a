"""The runtime that programs ask for by XRT's name."""

from tilewright.iron.utils.npukernel import HostRuntime, HostRuntimeError, KernelResult
from tilewright.iron.utils.npukernel import NPUKernel as XRTKernelHandle

# nothing is loaded onto a device that could be kept, so both are the same
XRTHostRuntime = CachedXRTRuntime = HostRuntime
CachedXRTKernelHandle = XRTKernelHandle
XRTKernelResult = KernelResult

__all__ = [
    "CachedXRTKernelHandle",
    "CachedXRTRuntime",
    "HostRuntimeError",
    "XRTHostRuntime",
    "XRTKernelHandle",
    "XRTKernelResult",
]
