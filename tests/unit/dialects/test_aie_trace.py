"""What traces refuse, in upstream's words."""

from __future__ import annotations

import pytest
from helpers import complaint, parsed

from tilewright.ir.verifier import verify

CORE = "%t = aie.tile(0, 2)"


def traced(body: str, tile: str = CORE, device: str = "npu1") -> str:
    return f"aie.device({device}) {{ {tile} aie.trace @t(%t) {{ {body} }} }}"


@pytest.mark.parametrize(
    "body, text",
    [
        ('aie.trace.event<"">', "'aie.trace.event' op event name cannot be empty"),
        (
            "aie.trace.event<ShimTileEventAIE2::TRUE>",
            "'aie.trace.event' op event 'ShimTileEventAIE2::TRUE' is not valid for core tile (AIE2) at (0, 2)",
        ),
        ("aie.trace.event<CoreEventAIE2::SPARSITY_OVERFLOW>", "unknown CoreEventAIE2 value: SPARSITY_OVERFLOW"),
        ("aie.trace.event<CoreEventAIE3::TRUE>", "unknown event enum type: CoreEventAIE3"),
        ("aie.trace.event<CoreEventAIE2>", "expected '::' after enum type name"),
        ("aie.trace.event<>", "expected string or enum event"),
        (
            'aie.trace.combo_event<3> <"A"> OR <"B">',
            "'aie.trace.combo_event' op combo event slot must be 0, 1, or 2, got 3",
        ),
        (
            'aie.trace.combo_event<1> <"A"> OR <"COMBO_EVENT_0">',
            "'aie.trace.combo_event' op combo slot 1 should use regular events, not COMBO_EVENT_* (uses eventC/D)",
        ),
        (
            'aie.trace.combo_event<2> <"COMBO_EVENT_0"> AND <"COMBO_EVENT_3">',
            "'aie.trace.combo_event' op combo slot 2 second event must be COMBO_EVENT_1 (hierarchical), got "
            "COMBO_EVENT_3",
        ),
        (
            'aie.trace.combo_event<0> <"A"> AND <MemTileEventAIE2::TRUE>',
            "'aie.trace.combo_event' op eventB is not valid for this tile type",
        ),
        (
            'aie.trace.combo_event<0> <"A"> OR <"B"> aie.trace.combo_event<0> <"C"> OR <"D">',
            "'aie.trace.combo_event' op combo event slot 0 already in use in this trace",
        ),
        (
            'aie.trace.edge_event<2> event=<"A"> trigger=RISING',
            "'aie.trace.edge_event' op edge detection slot must be 0 or 1, got 2",
        ),
        (
            'aie.trace.edge_event<0> event=<"EDGE_DETECTION_EVENT_1"> trigger=RISING',
            "'aie.trace.edge_event' op edge detection source should be a regular event, not another "
            "EDGE_DETECTION_EVENT",
        ),
        ("aie.trace.start", "'aie.trace.start' op must specify either broadcast or event"),
        ('aie.trace.stop broadcast=1 event=<"A">', "'aie.trace.stop' op cannot specify both broadcast and event"),
        (
            "aie.trace.packet id=32 type=core",
            "'aie.trace.packet' op attribute 'id' failed to satisfy constraint: 32-bit signless integer attribute "
            "whose minimum value is 1 whose maximum value is 31",
        ),
        (
            "aie.trace.port<0> port=DMA channel=2 direction=MM2S",
            "'aie.trace.port' op invalid stream switch port configuration for tile (0, 2)",
        ),
        (
            "aie.trace.port<0> port=Trace channel=0 direction=S2MM",
            "'aie.trace.port' op invalid stream switch port configuration for tile (0, 2)",
        ),
        (
            "aie.trace.port<1> port=DMA channel=0 direction=MM2S aie.trace.port<1> port=DMA channel=1 direction=MM2S",
            "'aie.trace.port' op duplicate port slot 1 in trace t",
        ),
        (" ".join(['aie.trace.event<"A">'] * 9), "'aie.trace' op trace unit supports maximum 8 events, got 9"),
        (" ".join(['aie.trace.event<"A">'] * 8), None),
    ],
)
def test_trace(body: str, text: str | None) -> None:
    said = complaint(traced(body))
    assert said == text or (text is not None and said is not None and said.endswith(text))


@pytest.mark.parametrize(
    "tile, device, event, where",
    [
        ("%t = aie.tile(0, 1)", "npu1", "CoreEventAIE2::TRUE", "mem tile (AIE2) at (0, 1)"),
        ("%t = aie.tile(0, 0)", "npu2", "ShimTileEventAIE2::TRUE", "shim tile (AIE2p) at (0, 0)"),
        ("%t = aie.tile(2, 2)", "xcvc1902", "CoreEventAIE2::TRUE", "core tile (AIE1) at (2, 2)"),
        ("%t = aie.logical_tile<CoreTile>(?, 3)", "npu1", "CoreEventAIE2P::TRUE", "core tile (AIE2) at (?, 3)"),
    ],
)
def test_event_of_another_tile(tile: str, device: str, event: str, where: str) -> None:
    said = complaint(traced(f"aie.trace.event<{event}>", tile, device))
    assert said == f"'aie.trace.event' op event '{event}' is not valid for {where}"


@pytest.mark.parametrize(
    "attributes, text",
    [
        ("buffer_size = 0 : i32", "buffer_size must be positive"),
        ("buffer_size = 8 : i32, egress_shim_col = -1 : i32", "egress_shim_col must be >= 0"),
        (
            "buffer_size = 8 : i32, routing = 1 : i32",
            "attribute 'routing' failed to satisfy constraint: Shim tile routing strategy for trace collection",
        ),
        ("", "requires attribute 'buffer_size'"),
    ],
)
def test_host_config(attributes: str, text: str) -> None:
    source = f"aie.device(npu1) {{ aie.runtime_sequence() {{ aie.trace.host_config {{{attributes}}} }} }}"
    errors = verify(parsed(source))
    assert [error.text for error in errors] == [f"'aie.trace.host_config' op {text}"]
