"""Registers of event units by name, pinned by places and fields from the vendor's documentation."""

from __future__ import annotations

from itertools import combinations

import pytest

from tilewright.device import DeviceModel, TileType, model
from tilewright.device.event_unit import EventUnit
from tilewright.device.events import MODULES, EventModule
from tilewright.device.register_fields import EVENT_REGISTERS, fields_at
from tilewright.device.register_names import find_address, name_address
from tilewright.device.vendor_registers import find_register

NPU1, NPU2 = model("npu1"), model("npu2")
CORE = EventUnit.of(NPU1, TileType.CoreTile)
MEMORY = EventUnit.of(NPU1, TileType.CoreTile, memory=True)
MEM_TILE = EventUnit.of(NPU2, TileType.MemTile)
SHIM = EventUnit.of(NPU2, TileType.ShimNOCTile)


@pytest.mark.parametrize(
    "unit, register, offset",
    [
        (CORE, "Trace_Control0", 0x340D0),
        (MEMORY, "Trace_Control0", 0x140D0),
        (MEM_TILE, "Trace_Event1", 0x940E4),
        (SHIM, "Event_Broadcast15_A", 0x3404C),
        (CORE, "Stream_Switch_Event_Port_Selection_1", 0x3FF04),
        (MEM_TILE, "stream_switch_event_port_selection_0", 0xB0F00),
        (MEMORY, "Stream_Switch_Event_Port_Selection_0", None),
        (EventUnit.of(model("xcvc1902"), TileType.CoreTile), "Trace_Control0", None),
    ],
)
def test_offset(unit: EventUnit, register: str, offset: int | None) -> None:
    assert unit.register(register) == offset


@pytest.mark.parametrize(
    "unit, register, name, bits",
    [
        (CORE, "Trace_Control0", "Mode", (1, 0)),
        (CORE, "Trace_Control0", "Trace_Stop_Event", (30, 24)),
        (MEM_TILE, "Trace_Control0", "Trace_Stop_Event", (31, 24)),
        (MEM_TILE, "Timer_Control", "Reset_Event", (15, 8)),
        (SHIM, "Timer_Control", "Reset_Event", (14, 8)),
        (SHIM, "Trace_Control1", "Packet_Type", (14, 12)),
        (CORE, "Combo_event_inputs", "eventC", (22, 16)),
        (CORE, "Edge_Detection_event_control", "Edge_Detection_1_Trigger_Rising", (25, 25)),
        (CORE, "Stream_Switch_Event_Port_Selection_1", "Port_5_ID", (12, 8)),
        (MEMORY, "DMA_S2MM_0_Ctrl", "Controller_ID", (15, 8)),
    ],
)
def test_field(unit: EventUnit, register: str, name: str, bits: tuple[int, int]) -> None:
    field = unit.field(register, name)
    assert field is not None and (field.hi, field.lo) == bits


def test_only_cores_have_modes() -> None:
    units = [EventUnit.of(NPU1, tile_type) for tile_type in (TileType.MemTile, TileType.ShimNOCTile)]
    assert [unit.field("Trace_Control0", "Mode") for unit in (MEMORY, *units)] == [None] * 3


@pytest.mark.parametrize("module", EventModule)
def test_every_layout_has_a_place_and_no_field_overlaps_another(module: EventModule) -> None:
    for name, layout in EVENT_REGISTERS[module].items():
        if "Broadcast" not in name and "Port_Selection" not in name:  # names of other modules, no switch
            assert find_register(module, name) is not None, name
        for one, other in combinations(layout.fields.values(), 2):
            assert not one.mask & other.mask, (name, one.name, other.name)


def test_a_module_has_its_own_broadcast_events() -> None:
    assert [unit.event(unit.broadcast_event(15)) for unit in (CORE, MEMORY, MEM_TILE, SHIM)] == [122, 122, 157, 125]


@pytest.mark.parametrize("device", [NPU1, NPU2], ids=str)
def test_every_named_register_is_found_by_its_name(device: DeviceModel) -> None:
    for tile_type in (TileType.CoreTile, TileType.MemTile, TileType.ShimNOCTile):
        tile = device.representative_tile(tile_type)
        for module in MODULES[tile_type]:
            for name in EVENT_REGISTERS[module]:
                if (offset := find_register(module, name)) is not None:
                    address = device.tile_address(*tile, offset)
                    text = name_address(device, address)
                    assert text is not None and text.endswith(f".{name}") and find_address(device, text) == address


def test_words_read_back_as_fields() -> None:
    assert fields_at(NPU1, NPU1.tile_address(0, 2, 0x140D0), 0x797A0000) == {
        "trace_stop_event": 121,
        "trace_start_event": 122,
    }
