"""The vendor's register names sit where our own tables put the same registers."""

import pytest

from tilewright.device import DeviceName, DmaDirection, model
from tilewright.device.vendor_registers import registers_of, vendor_name

NPU1 = model(DeviceName.npu1)
SHIM, MEM, CORE = (0, 0), (0, 1), (0, 2)


@pytest.mark.parametrize(
    "tile, offset, expected",
    [
        pytest.param(CORE, 0x32000, ("core", "Core_Control"), id="core module"),
        pytest.param(CORE, 0x1D000, ("memory", "DMA_BD0_0"), id="memory module of the same tile"),
        pytest.param(MEM, 0xA0020, ("memory_tile", "DMA_BD1_0"), id="memory tile"),
        pytest.param(SHIM, 0x14010, ("shim", "Lock1_value"), id="one of a series"),
        pytest.param(SHIM, 0x14004, None, id="between registers"),
        pytest.param(SHIM, 0x3300C, ("shim", "PL_Interface_Downsizer_Bypass"), id="one that upstream's table lacks"),
    ],
)
def test_name(tile: tuple[int, int], offset: int, expected: tuple[str, str] | None):
    assert vendor_name(NPU1, NPU1.tile_address(*tile, offset)) == expected


def test_no_tile_no_name():
    assert vendor_name(NPU1, 0xABC00DEF) is None


@pytest.mark.parametrize("tile", [SHIM, MEM, CORE])
def test_task_queues_and_locks_agree_with_our_tables(tile: tuple[int, int]):
    registers = NPU1.registers(*tile)
    for direction in DmaDirection:
        for channel in range(2):
            offset = registers.task_queue(direction)[channel]
            _, name = vendor_name(NPU1, NPU1.tile_address(*tile, offset)) or ("", "")
            assert direction.name in name and str(channel) in name, name
    assert registers.locks is not None
    assert "Lock3" in (vendor_name(NPU1, NPU1.tile_address(*tile, registers.locks[3])) or ("", ""))[1]


def test_series_are_written_out():
    assert len(registers_of("memory_tile")) == 718
