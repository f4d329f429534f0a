"""What a device has, by the names of upstream's target model."""

from __future__ import annotations

from typing import Any

from tilewright.device import Arch, DeviceModel, DeviceName, model
from tilewright.iron.builders.location import refuse

AIEArch = Arch


class TargetModel:
    """Facts about a device."""

    def __init__(self, device: DeviceModel):
        self.device = device

    def columns(self) -> int:
        return self.device.columns

    def rows(self) -> int:
        return self.device.rows

    def is_npu(self) -> bool:
        return self.device.is_npu

    def get_target_arch(self) -> Arch:
        return self.device.arch

    def is_core_tile(self, col: int, row: int) -> bool:
        return self.device.is_core_tile(col, row)

    def is_mem_tile(self, col: int, row: int) -> bool:
        return self.device.is_mem_tile(col, row)

    def is_shim_noc_tile(self, col: int, row: int) -> bool:
        return self.device.is_shim_noc(col, row)

    def is_shim_pl_tile(self, col: int, row: int) -> bool:
        return self.device.is_shim_pl(col, row)

    def is_shim_noc_or_pl_tile(self, col: int, row: int) -> bool:
        return self.device.is_shim_tile(col, row)

    def get_num_mem_tile_rows(self) -> int:
        return len(self.device.mem_tile_rows)

    def get_num_locks(self, col: int, row: int) -> int:
        return self.device.num_locks(col, row)

    def get_num_bds(self, col: int, row: int) -> int:
        return self.device.num_bds(col, row)

    def get_local_memory_size(self) -> int:
        return self.device.local_memory_bytes

    def get_mem_tile_size(self) -> int:
        return self.device.mem_tile_bytes


def get_target_model(device: Any) -> TargetModel:
    """The model of a device, given by name or as a member of `AIEDevice`."""
    found = next((known for known in DeviceName if device == known.name or device == known), None)
    if found is None:
        refuse(f"{device!r} is not a device", (None, f"there are {', '.join(DeviceName.__members__)}"))
    return TargetModel(model(found))
