"""A GPU of AMD's behind the HIP runtime, for the process of one rank. Needs Python and the runtime, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.gpu.device import DeviceError, DeviceOptions, World
from tilewright.gpu.driver_device import DriverDevice, Functions
from tilewright.gpu.hip.library import COPY_BY_ADDRESS, Hip, HipError, IpcHandle, open_library
from tilewright.gpu.loading import LoadableCode, choose_gpu
from tilewright.native.elf import ET_REL

if TYPE_CHECKING:
    from tilewright.dialects.gpu.kernels import GPUModuleOp

E_TYPE = slice(16, 18)
"""Where an ELF file says what it is."""


class HipDevice(DriverDevice[Hip]):
    """One of AMD's GPUs."""

    functions = Functions(
        error=HipError,
        ipc_handle=IpcHandle,
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
        if data[E_TYPE] == ET_REL.to_bytes(2, "little"):
            raise DeviceError("the kernels are not linked: link them with ld.lld -shared NAME.o -o NAME.hsaco")
        return self.driver.handle("hipModuleLoadData", data)


def open_hip(world: World, options: DeviceOptions, hip: Hip | None = None) -> HipDevice:
    """The GPU of a rank."""
    hip = hip or open_library()
    return HipDevice(world, options, hip, choose_gpu(world, hip.handle("hipGetDeviceCount"), options))
