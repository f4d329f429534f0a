"""AMD GPUs through the HIP runtime: kernels as code objects, one process for each rank. Needs Python and HIP only."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright.errors import Error
from tilewright.gpu.device import DeviceError, DeviceOptions, World
from tilewright.gpu.driver_device import (
    DriverDevice,
    DriverError,
    DriverLibrary,
    Functions,
    IpcHandle,
    LoadableCode,
    check_settings,
    choose_gpu,
)
from tilewright.native.elf import ET_REL

if TYPE_CHECKING:
    from tilewright.dialects.gpu.kernels import GPUModuleOp

E_TYPE = slice(16, 18)
"""Where an ELF file says what it is."""
LIBRARIES = "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so"
COPY_BY_ADDRESS = 4
"""hipMemcpyDefault: the runtime tells memory of host and device apart."""


def open_device(world: World, options: DeviceOptions) -> HipDevice:
    """The GPU of this rank."""
    check_settings("hip", options)
    try:
        return open_hip(world, options)
    except NoRuntime as error:
        raise DeviceError(str(error)) from error


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


class HipDevice(DriverDevice[Hip]):
    """One of AMD's GPUs."""

    functions = Functions(
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

    def _compiled(self, module: GPUModuleOp) -> LoadableCode:
        from tilewright.native.gpu_amdgcn import NoLinker
        from tilewright.native.gpu_code import compile_kernels, linked_code, machine_of  # LLVM, only needed here

        code = compile_kernels(module, machine_of(self.options.target, self.options.wave_size))
        try:
            return LoadableCode(linked_code(code).loadable, tuple(code.kernels))
        except NoLinker as error:
            raise DeviceError(str(error)) from error

    def _load_module(self, data: bytes) -> int:
        # the driver would say only that the image is invalid
        if data[E_TYPE] == ET_REL.to_bytes(2, "little"):
            raise DeviceError("the kernels are not linked: link them with ld.lld -shared NAME.o -o NAME.hsaco")
        return self.driver.handle("hipModuleLoadData", data)


def open_hip(world: World, options: DeviceOptions, hip: Hip | None = None) -> HipDevice:
    """The GPU of a rank."""
    hip = hip or open_library()
    return HipDevice(world, options, hip, choose_gpu(world, hip.handle("hipGetDeviceCount"), options))
