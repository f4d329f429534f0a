"""NVIDIA GPUs through the driver: kernels as PTX, one process for each rank."""

from __future__ import annotations

from tilewright.gpu.cuda.device import CudaDevice, open_cuda
from tilewright.gpu.cuda.driver import NoDriver
from tilewright.gpu.device import DeviceError, DeviceOptions, World
from tilewright.gpu.loading import check_settings


def open_device(world: World, options: DeviceOptions) -> CudaDevice:
    """The GPU of this rank."""
    check_settings("cuda", options)
    try:
        return open_cuda(world, options)
    except NoDriver as error:
        raise DeviceError(str(error)) from error
