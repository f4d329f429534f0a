"""NVIDIA GPUs through the driver: kernels as PTX, one process for each rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.gpu.cuda.driver import (
    KERNEL_DYNAMIC_SHARED_BYTES,
    CudaDriver,
    NoDriver,
    open_driver,
)
from tilewright.gpu.device import DeviceError, DeviceOptions, World
from tilewright.gpu.driver_device import DriverDevice, DriverKernel, Functions, LoadableCode, check_settings, choose_gpu
from tilewright.native.kernel_facts import KernelFacts

if TYPE_CHECKING:
    from tilewright.dialects.gpu.kernels import GPUModuleOp

DEFAULT_DYNAMIC_SHARED_BYTES = 48 << 10
"""What a launch may ask for without saying so before."""


def open_device(world: World, options: DeviceOptions) -> CudaDevice:
    """The GPU of this rank."""
    check_settings("cuda", options)
    try:
        return open_cuda(world, options)
    except NoDriver as error:
        raise DeviceError(str(error)) from error


class CudaDevice(DriverDevice[CudaDriver]):
    """One of NVIDIA's GPUs."""

    functions = Functions(
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
        self._context = self.driver.handle("cuDevicePrimaryCtxRetain", self._ordinal)
        self.driver.call("cuCtxSetCurrent", self._context)

    def _compiled(self, module: GPUModuleOp) -> LoadableCode:
        from tilewright.native.gpu_code import compile_kernels, machine_of  # LLVM is not needed for what is compiled

        code = compile_kernels(module, machine_of(self.options.target, self.options.wave_size))
        return LoadableCode(code.assembly.encode(), tuple(code.kernels))

    def _load_module(self, data: bytes) -> int:
        return self.driver.load_module(data)

    def _kernel(self, module: int, facts: KernelFacts) -> DriverKernel:
        kernel = super()._kernel(module, facts)
        if facts.launch_bytes > DEFAULT_DYNAMIC_SHARED_BYTES:
            self._allow_shared(kernel, facts.launch_bytes)
        return kernel

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


def open_cuda(world: World, options: DeviceOptions, driver: CudaDriver | None = None) -> CudaDevice:
    """The GPU of a rank."""
    driver = driver or open_driver()
    return CudaDevice(world, options, driver, choose_gpu(world, driver.handle("cuDeviceGetCount"), options))
