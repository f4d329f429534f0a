"""NVIDIA GPUs through the driver: kernels as PTX, one process for each rank. Needs Python and the driver only."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.device.tensor_maps import MAP_ALIGNMENT, MAP_BYTES, TensorMap
from tilewright.gpu.driver_device import (
    REMEDIES,
    DriverDevice,
    DriverError,
    DriverKernel,
    DriverLibrary,
    Functions,
    IpcHandle,
    NoDriver,
    PackedArguments,
)
from tilewright.native.kernel_facts import KernelFacts

if TYPE_CHECKING:
    from tilewright.native.gpu_code import GpuCode

DEFAULT_DYNAMIC_SHARED_BYTES = 48 << 10
"""What a launch may ask for without saying so before."""
LIBRARY = "libcuda.so.1"
OLDEST_VERSION = 12000
"""CUDA 12.0: the first whose driver takes PTX 8.0."""
LOG_BYTES = 16384
JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES = 5, 6
# Numbers from the CUDA driver API reference, "CUdevice_attribute", "CUfunction_attribute" and "CUresult".
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76
KERNEL_DYNAMIC_SHARED_BYTES = 8
INTERLEAVE_NONE = 0
PROGRAMMATIC_STREAM_SERIALIZATION = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: a launch may begin while the one before it ends."""


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute, whose value is a union of 64 bytes that begins with a number here."""

    _fields_ = [("id", c_int), ("reserved", c_int), ("value", c_int), ("rest", c_int * 15)]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("sizes", c_uint * 7),
        ("stream", c_void_p),
        ("attributes", POINTER(LaunchAttribute)),
        ("count", c_uint),
    ]


_HANDLE = c_void_p
_SIGNATURES: dict[str, Sequence[Any]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(_HANDLE), c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuCtxSetCurrent": (_HANDLE,),
    "cuCtxSynchronize": (),
    "cuModuleLoadDataEx": (POINTER(_HANDLE), c_void_p, c_uint, c_void_p, c_void_p),
    "cuModuleUnload": (_HANDLE,),
    "cuModuleGetFunction": (POINTER(_HANDLE), _HANDLE, c_char_p),
    "cuFuncSetAttribute": (_HANDLE, c_int, c_int),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemAllocManaged": (POINTER(c_uint64), c_size_t, c_uint),
    "cuMemFree_v2": (c_uint64,),
    "cuMemcpy": (c_uint64, c_uint64, c_size_t),
    "cuMemsetD8_v2": (c_uint64, ctypes.c_ubyte, c_size_t),
    "cuMemsetD16_v2": (c_uint64, ctypes.c_ushort, c_size_t),
    "cuMemsetD32_v2": (c_uint64, c_uint, c_size_t),
    "cuLaunchKernel": (_HANDLE, *[c_uint] * 7, _HANDLE, c_void_p, c_void_p),
    "cuLaunchKernelEx": (POINTER(LaunchConfig), _HANDLE, c_void_p, c_void_p),
    "cuTensorMapEncodeTiled": (
        *(c_void_p, c_int, c_uint, c_uint64, POINTER(c_uint64), POINTER(c_uint64), POINTER(c_uint), POINTER(c_uint)),
        *[c_int] * 4,
    ),
    "cuIpcGetMemHandle": (POINTER(IpcHandle), c_uint64),
    "cuIpcOpenMemHandle_v2": (POINTER(c_uint64), IpcHandle, c_uint),
    "cuIpcCloseMemHandle": (c_uint64,),
    "cuEventCreate": (POINTER(_HANDLE), c_uint),
    "cuEventDestroy_v2": (_HANDLE,),
    "cuEventRecord": (_HANDLE, _HANDLE),
    "cuEventSynchronize": (_HANDLE,),
    "cuEventElapsedTime": (POINTER(c_float), _HANDLE, _HANDLE),
}


class CudaDriver(DriverLibrary):
    """The driver's library."""

    signatures = _SIGNATURES
    remedies = REMEDIES | {
        100: "the driver is there, but it sees no GPU",
        201: "the GPU's context is gone, perhaps after an earlier error",
        218: "the driver cannot compile the kernels",
        222: "the driver is too old for the kernels' PTX version: update it",
        701: "a kernel needs more registers or shared memory than a block can have",
        702: "a kernel ran for longer than the system allows",
        803: "the driver's library does not fit the driver that the system runs",
    }

    def error_name(self, code: int) -> bytes | None:
        text = c_char_p()
        # not by `call`: it fails for numbers that it does not know
        find_name = self._library.cuGetErrorName
        find_name.argtypes = (c_int, POINTER(c_char_p))
        find_name(code, ctypes.byref(text))
        return text.value

    def load_module(self, code: bytes) -> int:
        """Kernels from PTX or machine code; the compiler's messages are in the error."""
        log = ctypes.create_string_buffer(LOG_BYTES)
        options = (c_int * 2)(JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES)
        values = (c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
        module = c_void_p()
        # PTX is text that ends with a null byte
        self.call("cuModuleLoadDataEx", ctypes.byref(module), code + b"\0", 2, options, values, log=log)
        return module.value or 0

    def chip(self, device: int) -> str:
        """What compilers call a GPU, such as sm_90."""
        major, minor = (
            self.handle("cuDeviceGetAttribute", which, device) for which in (CAPABILITY_MAJOR, CAPABILITY_MINOR)
        )
        return f"sm_{major}{minor}"


@cache
def open_driver(library: str = LIBRARY) -> CudaDriver:
    """The driver, ready for use."""
    try:
        driver = CudaDriver(ctypes.CDLL(library))
    except OSError as error:
        raise NoDriver(
            f"there is no NVIDIA driver on this machine ({error}); run with --backend emulator, or compile here with "
            "`tilewright air compile` and run the result where the GPU is"
        ) from error
    try:
        driver.call("cuInit", 0)
    except DriverError as error:
        raise NoDriver(f"the NVIDIA driver finds no GPU: {error}; run with --backend emulator") from error
    version = driver.handle("cuDriverGetVersion")
    if version < OLDEST_VERSION:
        raise NoDriver(
            f"the NVIDIA driver is for CUDA {_version(version)} and the kernels need {_version(OLDEST_VERSION)}; "
            "update the driver to 525 or later"
        )
    return driver


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


class CudaDevice(DriverDevice[CudaDriver]):
    """One of NVIDIA's GPUs."""

    backend = "cuda"
    functions = Functions(
        count_gpus="cuDeviceGetCount",
        allocate="cuMemAlloc_v2",
        allocate_shared="cuMemAllocManaged",
        free="cuMemFree_v2",
        copy="cuMemcpy",
        fill={1: "cuMemsetD8_v2", 2: "cuMemsetD16_v2", 4: "cuMemsetD32_v2"},
        find_kernel="cuModuleGetFunction",
        launch="cuLaunchKernel",
        synchronize="cuCtxSynchronize",
        unload="cuModuleUnload",
        share="cuIpcGetMemHandle",
        open_shared="cuIpcOpenMemHandle_v2",
        close_shared="cuIpcCloseMemHandle",
        heap_granule_bytes=2 << 20,  # a page of the GPU
    )

    def _start(self) -> None:
        self._ordinal = self.driver.handle("cuDeviceGet", self.number)
        # the context that the runtime API and other libraries of the process share
        self._context = self.driver.handle("cuDevicePrimaryCtxRetain", self._ordinal)
        self.driver.call("cuCtxSetCurrent", self._context)

    @classmethod
    def _open_driver(cls) -> CudaDriver:
        return open_driver()

    def _loadable(self, code: GpuCode) -> bytes:
        return code.assembly.encode()

    def tensor_map(self, about: TensorMap) -> bytes:
        rank, room = len(about.sizes), ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGNMENT)
        start = -(-ctypes.addressof(room) // MAP_ALIGNMENT) * MAP_ALIGNMENT
        with self._explained("describe an array to the copy engine"):
            self.driver.call(
                "cuTensorMapEncodeTiled",
                *(start, about.data_type.code, rank, about.address),
                (c_uint64 * rank)(*about.sizes),
                # the driver knows that of an element
                (c_uint64 * rank)(*about.strides[1:]),
                (c_uint * rank)(*about.box),
                (c_uint * rank)(*[1] * rank),
                *(INTERLEAVE_NONE, about.swizzle, about.l2_promotion, about.oob_fill),
            )
        return ctypes.string_at(start, MAP_BYTES)

    def _kernel(self, module: int, facts: KernelFacts) -> DriverKernel:
        kernel = super()._kernel(module, facts)
        # more has to be asked for once, before any launch
        if facts.launch_bytes > DEFAULT_DYNAMIC_SHARED_BYTES:
            self._allow_shared(kernel, facts.launch_bytes)
        return kernel

    def _start_kernel(self, kernel: DriverKernel, sizes: Sequence[int], packed: PackedArguments) -> None:
        if not kernel.facts.begins_early:
            super()._start_kernel(kernel, sizes, packed)
            return
        early = LaunchAttribute(PROGRAMMATIC_STREAM_SERIALIZATION, value=1)
        config = LaunchConfig((c_uint * 7)(*sizes), self.stream, ctypes.pointer(early), 1)
        self.driver.call("cuLaunchKernelEx", ctypes.byref(config), kernel.handle, packed.places, None)

    def _asked_bytes(self, kernel: DriverKernel, shared_bytes: int) -> int:
        asked = shared_bytes + kernel.facts.launch_bytes
        if shared_bytes and asked > DEFAULT_DYNAMIC_SHARED_BYTES:
            self._allow_shared(kernel, asked)
        return asked

    def _allow_shared(self, kernel: DriverKernel, size_bytes: int) -> None:
        self.driver.call("cuFuncSetAttribute", kernel.handle, KERNEL_DYNAMIC_SHARED_BYTES, size_bytes)

    def close(self) -> None:
        super().close()
        with self._explained("close the GPU"):
            self.driver.call("cuDevicePrimaryCtxRelease_v2", self._ordinal)


open_device = CudaDevice.open
