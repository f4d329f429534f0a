"""AMD GPUs through the HIP runtime: kernels as code objects, one process for each rank. Needs Python and HIP only."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.device.tensor_maps import TensorMap
from tilewright.gpu.device import DeviceError
from tilewright.gpu.driver_device import (
    REMEDIES,
    DriverDevice,
    DriverError,
    DriverLibrary,
    Functions,
    IpcHandle,
    NoDriver,
)
from tilewright.native.elf import ET_REL

if TYPE_CHECKING:
    from tilewright.native.gpu_code import GpuCode

E_TYPE = slice(16, 18)
"""Where an ELF file says what it is."""
LIBRARIES = "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so"
COPY_BY_ADDRESS = 4
"""hipMemcpyDefault: the runtime tells memory of host and device apart."""


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

    signatures = _SIGNATURES
    remedies = REMEDIES | {100: "the runtime is there, but it sees no GPU"}

    def error_name(self, code: int) -> bytes | None:
        self._library.hipGetErrorName.restype = c_char_p
        return self._library.hipGetErrorName(code)

    def load_module(self, code: bytes) -> int:
        # the driver would say only that the image is invalid
        if code[E_TYPE] == ET_REL.to_bytes(2, "little"):
            raise DeviceError("the kernels are not linked: link them with ld.lld -shared NAME.o -o NAME.hsaco")
        return self.handle("hipModuleLoadData", code)


@cache
def open_library(names: tuple[str, ...] = LIBRARIES) -> Hip:
    """The runtime, ready for use."""
    library = None
    for name in names:
        with suppress(OSError):
            library = library or ctypes.CDLL(name)
    if library is None:
        raise NoDriver(
            f"there is no HIP runtime on this machine (looked for {', '.join(names)}); run with --backend emulator, or "
            "compile here with `tilewright air compile` and run the result where the GPU is"
        )
    hip = Hip(library)
    try:
        hip.call("hipInit", 0)
    except DriverError as error:
        raise NoDriver(f"the HIP runtime finds no GPU: {error}; run with --backend emulator") from error
    return hip


class HipDevice(DriverDevice[Hip]):
    """One of AMD's GPUs."""

    backend = "hip"
    functions = Functions(
        count_gpus="hipGetDeviceCount",
        allocate="hipMalloc",
        allocate_shared="hipMallocManaged",
        free="hipFree",
        copy="hipMemcpy",
        fill={1: "hipMemsetD8", 2: "hipMemsetD16", 4: "hipMemsetD32"},
        find_kernel="hipModuleGetFunction",
        launch="hipModuleLaunchKernel",
        synchronize="hipDeviceSynchronize",
        unload="hipModuleUnload",
        share="hipIpcGetMemHandle",
        open_shared="hipIpcOpenMemHandle",
        close_shared="hipIpcCloseMemHandle",
        copy_kind=(COPY_BY_ADDRESS,),
    )

    def _start(self) -> None:
        self.driver.call("hipSetDevice", self.number)

    @classmethod
    def _open_driver(cls) -> Hip:
        return open_library()

    def _loadable(self, code: GpuCode) -> bytes:
        from tilewright.native.gpu_amdgcn import NoLinker
        from tilewright.native.gpu_code import linked_code  # LLVM, only needed here

        try:
            return linked_code(code).loadable
        except NoLinker as error:
            raise DeviceError(str(error)) from error

    def tensor_map(self, about: TensorMap) -> bytes:
        raise DeviceError(f"has {self.options.target.copy_engine_fault()}")


open_device = HipDevice.open
