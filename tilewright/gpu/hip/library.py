"""AMD's HIP runtime, called as documented: the functions that a device needs, and errors that say what went wrong.

Needs nothing but Python and the runtime's library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any, ClassVar

from tilewright.errors import Error
from tilewright.gpu.driver_device import DriverError, DriverLibrary, IpcHandle

LIBRARIES = "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so"
COPY_BY_ADDRESS = 4
"""hipMemcpyDefault: the runtime tells memory of host and device apart."""


class HipError(DriverError):
    """The runtime cannot do what it was asked."""

    remedies: ClassVar = {
        2: "the GPU has no memory left for it",
        100: "the runtime is there, but it sees no GPU",
        209: "there is no code for this GPU: compile for it with --target",
        700: "a kernel accessed memory that is not its own: run it with --backend emulator to see where",
        719: "a kernel stopped: run it with --backend emulator to see where",
    }


class NoRuntime(Error):
    """There is no GPU of AMD's that can be used; says why and what to do."""


_HANDLE = c_void_p
# HIP runtime API reference: "Initialization and version", "Memory management", "Module management".
_SIGNATURES: dict[str, Sequence[Any]] = {
    "hipInit": (c_uint,),
    "hipGetDeviceCount": (POINTER(c_int),),
    "hipSetDevice": (c_int,),
    "hipDeviceSynchronize": (),
    "hipMalloc": (POINTER(c_void_p), c_size_t),
    "hipMallocManaged": (POINTER(c_void_p), c_size_t, c_uint),
    "hipFree": (c_void_p,),
    "hipMemcpy": (c_void_p, c_void_p, c_size_t, c_int),
    "hipMemsetD8": (c_void_p, ctypes.c_ubyte, c_size_t),
    "hipMemsetD16": (c_void_p, ctypes.c_ushort, c_size_t),
    "hipMemsetD32": (c_void_p, c_int, c_size_t),
    "hipModuleLoadData": (POINTER(_HANDLE), c_void_p),
    "hipModuleUnload": (_HANDLE,),
    "hipModuleGetFunction": (POINTER(_HANDLE), _HANDLE, c_char_p),
    "hipModuleLaunchKernel": (_HANDLE, *[c_uint] * 7, _HANDLE, c_void_p, c_void_p),
    "hipIpcGetMemHandle": (POINTER(IpcHandle), c_void_p),
    "hipIpcOpenMemHandle": (POINTER(c_void_p), IpcHandle, c_uint),
    "hipIpcCloseMemHandle": (c_void_p,),
}


class Hip(DriverLibrary):
    """The runtime's library."""

    signatures: ClassVar = _SIGNATURES

    def error(self, name: str, code: int, log: str) -> HipError:
        self._library.hipGetErrorName.restype = c_char_p
        return HipError(name, code, (self._library.hipGetErrorName(code) or b"unknown error").decode())


@cache
def open_library(names: tuple[str, ...] = LIBRARIES) -> Hip:
    """The runtime, ready for use."""
    library = next((found for name in names if (found := _library(name)) is not None), None)
    if library is None:
        raise NoRuntime(
            f"there is no HIP runtime on this machine (looked for {', '.join(names)}); run with --backend emulator, or "
            "compile here with `tilewright air compile` and run the result where the GPU is"
        )
    hip = Hip(library)
    try:
        hip.call("hipInit", 0)
    except HipError as error:
        raise NoRuntime(f"the HIP runtime finds no GPU: {error}; run with --backend emulator") from error
    return hip


def _library(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None
