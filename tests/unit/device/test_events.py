"""Event numbers, pinned by some that are known from elsewhere."""

from __future__ import annotations

import pytest

from tilewright.device import Arch
from tilewright.device.events import EVENTS, VOCABULARIES, EventModule


@pytest.mark.parametrize(
    "vocabulary, name, number",
    [
        ("CoreEventAIE", "INSTR_EVENT_0", 33),
        ("CoreEventAIE", "PORT_TLAST_7", 105),
        ("MemEventAIE", "LOCK_15_REL", 75),
        ("ShimTileEventAIE", "USER_EVENT_3", 127),
        ("CoreEventAIE2", "BROADCAST_15", 122),
        ("CoreEventAIE2", "DECOMPRESSION_UNDERFLOW", 70),
        ("CoreEventAIE2P", "SPARSITY_OVERFLOW", 70),
        ("MemEventAIE2", "DMA_MM2S_1_MEMORY_STARVATION", 42),
        ("MemTileEventAIE2P", "PORT_RUNNING_0", 80),
        ("MemTileEventAIE2", "USER_EVENT_1", 160),
        ("ShimTileEventAIE2", "DMA_S2MM_0_START_TASK", 14),
        ("ShimTileEventAIE2P", "USER_EVENT_1", 127),
    ],
)
def test_number(vocabulary: str, name: str, number: int) -> None:
    assert VOCABULARIES[vocabulary][name] == number


def test_numbers_are_distinct() -> None:
    for events in VOCABULARIES.values():
        assert len(set(events.values())) == len(events)


def test_first_generation_has_no_mem_tiles() -> None:
    assert EventModule.MemTile not in EVENTS[Arch.AIE1]
    assert "MemTileEventAIE" not in VOCABULARIES
