"""AMD GPUs through the HIP runtime: kernels as code objects, one process for each rank."""

from __future__ import annotations

from tilewright.gpu.device import DeviceError, DeviceOptions, World
from tilewright.gpu.hip.device import HipDevice, open_hip
from tilewright.gpu.hip.library import NoRuntime
from tilewright.gpu.loading import check_settings


def open_device(world: World, options: DeviceOptions) -> HipDevice:
    """The GPU of this rank."""
    check_settings("hip", options)
    try:
        return open_hip(world, options)
    except NoRuntime as error:
        raise DeviceError(str(error)) from error
