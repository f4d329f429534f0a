"""What traces come to in registers: words known from elsewhere, and events that read back as they were asked for."""

from __future__ import annotations

import pytest
from helpers import lowered
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, UnknownLoc, i32

from tilewright.device import TileType, model
from tilewright.device.event_unit import EventUnit
from tilewright.device.register_fields import fields_at
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex.instructions import NpuWrite32Op

LOWERING = ("aie-insert-trace-flows", "aie-trace-to-config", "aie-trace-pack-reg-writes", "aie-inline-trace-config")
NPU2 = model("npu2")
PLACES = {"core": (0, 2), "mem": (0, 2), "memtile": (0, 1), "shimtile": (1, 0)}
UNITS = {
    "core": EventUnit.of(NPU2, TileType.CoreTile),
    "mem": EventUnit.of(NPU2, TileType.CoreTile, memory=True),
    "memtile": EventUnit.of(NPU2, TileType.MemTile),
    "shimtile": EventUnit.of(NPU2, TileType.ShimNOCTile),
}


def traced(kind: str, body: str) -> ModuleOp:
    """A design with one trace, after all four passes."""
    source = f"""
        aie.device(npu2) {{
          %tile = aie.tile{PLACES[kind]}
          aie.trace @t(%tile) {{ aie.trace.packet id=3 type={kind} {body} }}
          aie.runtime_sequence() {{
            aie.trace.host_config {{buffer_size = 64 : i32}}
            aie.trace.start_config @t
          }}
        }}"""
    return lowered(source, *LOWERING)


def words(module: ModuleOp, place: tuple[int, int]) -> dict[int, int]:
    """What is written to the registers of a tile, by offset."""
    found: dict[int, int] = {}
    for op in module.walk():
        if isinstance(op, NpuWrite32Op) and op.column is not None and op.row is not None:
            address, value = constant_value(op.address), constant_value(op.value)
            if (op.column.value.data, op.row.value.data) == place and address is not None and value is not None:
                found[address] = value & 0xFFFFFFFF
    return found


LIMITS = "aie.trace.start broadcast=15 aie.trace.stop broadcast=14"


CORE_EVENTS = (
    *("INSTR_EVENT_0", "INSTR_EVENT_1", "INSTR_VECTOR", "PORT_RUNNING_0", "PORT_RUNNING_1"),
    *("INSTR_LOCK_ACQUIRE_REQ", "INSTR_LOCK_RELEASE_REQ", "LOCK_STALL"),
)
DMA_PORTS = """
    aie.trace.port<0> port=DMA channel=0 direction=S2MM
    aie.trace.port<1> port=DMA channel=0 direction=MM2S"""


def recorded(*names: str) -> str:
    return " ".join(f'aie.trace.event<"{name}">' for name in names)


@pytest.mark.parametrize(
    "kind, body, place, expected",
    [
        pytest.param(
            "core",
            recorded(*CORE_EVENTS) + DMA_PORTS,
            PLACES["core"],
            {0x340D0: 0x797A0000, 0x340E0: 0x4B252221, 0x340E4: 0x1A2D2C4F, 0x3FF00: 0x121, 0x34000: 0x7A00},
            id="a core",
        ),
        pytest.param("mem", "", PLACES["mem"], {0x140D0: 0x797A0000, 0x140D4: 0x1003, 0x14000: 0x7A00}, id="a memory"),
        pytest.param(
            *("core", "", (0, 0)), {0x34000: 0x7F00, 0x3404C: 0x7F, 0x34048: 0x7E, 0x34008: 0x7E}, id="their shim tile"
        ),
    ],
)
def test_words_as_mlir_aie_has_them(kind: str, body: str, place: tuple[int, int], expected: dict[int, int]) -> None:
    """The inputs of mlir-aie's trace parser (test/parse-trace at 3ca0193cea9e) have these written by hand."""
    found = words(traced(kind, f"{body} {LIMITS}"), place)
    assert {offset: found.get(offset) for offset in expected} == expected


@st.composite
def recordings(draw: st.DrawFn) -> tuple[str, list[str]]:
    kind = draw(st.sampled_from(sorted(UNITS)))
    return kind, draw(st.lists(st.sampled_from(sorted(UNITS[kind].events)), min_size=1, max_size=8))


@settings(max_examples=40)
@given(recordings())
def test_events_read_back(recording: tuple[str, list[str]]) -> None:
    """Whatever is recorded, the slots of the unit hold the numbers of these events, in their order."""
    kind, names = recording
    body = f'{recorded(*names)} aie.trace.start event=<"TRUE"> aie.trace.stop event=<"NONE">'
    found = words(traced(kind, body), PLACES[kind])
    unit, slots = UNITS[kind], dict[str, int]()
    for register in ("Trace_Event0", "Trace_Event1"):
        offset = unit.register(register)
        assert offset is not None
        slots |= fields_at(NPU2, NPU2.tile_address(*PLACES[kind], offset), found.get(offset, 0))
    assert [slots[f"trace_event{slot}"] for slot in range(8)] == [
        *(unit.event(name) for name in names),
        *[0] * (8 - len(names)),
    ]


def test_everything_new_knows_where_it_comes_from() -> None:
    module = traced("core", f'aie.trace.event<"TRUE"> {LIMITS}')
    assert not [op.name for op in module.walk() if isinstance(op.location, UnknownLoc)]


def test_the_trace_buffer_has_a_name_that_is_free() -> None:
    sequence = RuntimeSequenceOp()
    for _ in range(3):
        sequence.add_argument(i32, "trace")
    assert sequence.argument_names == ["trace", "trace1", "trace2"]
