"""Words between host memory and shim tiles: bursts of several channels, worked out ahead, and lines in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.device import DmaDirection, TileId
from tilewright.device.descriptors import PIECE_WORDS
from tilewright.driver.compiled_design import Design
from tilewright.sim.fast.blocks import FastChannel

MODELS = "plain", "words", "fast"
Pattern = tuple[int, int, int]
"""Rows, words of each, and words from one to the next."""


def loops(patterns: list[Pattern], repeats: int = 1) -> Design:
    """A design with a column for each pattern, whose words go from one buffer through the switch into another one."""
    room = sum(rows * pitch for rows, _, pitch in patterns)
    tiles, sequence, waits = list[str](), list[str](), list[str]()
    first = 0
    for number, (rows, width, pitch) in enumerate(patterns):
        tiles += [
            f"%shim{number} = aie.tile({number}, 0)",
            f"aie.flow(%shim{number}, DMA : 0, %shim{number}, DMA : 0)",
            f"aie.shim_dma_allocation @in{number}(%shim{number}, MM2S, 0)",
            f"aie.shim_dma_allocation @out{number}(%shim{number}, S2MM, 0)",
        ]
        for buffer, way, token in (("b", "out", "issue_token = true, "), ("a", "in", "")):
            pattern = f"[0, 0, 0, {first}][{repeats}, 1, {rows}, {width}][0, 0, {pitch}, 1]"
            attributes = f"{{id = {int(way == 'in')} : i64, {token}metadata = @{way}{number}}}"
            sequence.append(f"aiex.npu.dma_memcpy_nd(%{buffer}{pattern}) {attributes} : memref<{room}xi32>")
        waits.append(f"aiex.npu.dma_wait {{symbol = @out{number}}}")
        first += rows * pitch
    body = "\n".join([*sequence, *waits])
    text = f"aie.runtime_sequence @run(%a: memref<{room}xi32>, %b: memref<{room}xi32>) {{ {body} }}"
    return tw.compile(f"module {{ aie.device(npu1) {{ {' '.join(tiles)} {text} }} }}".replace(" aie", "\naie"))


def outcome(drawn: list[Pattern], design: Design, model: str, max_cycles: int | None) -> tuple[Any, ...]:
    """What a run leaves, whether it comes to its end or is stopped."""
    size = sum(rows * pitch for rows, _, pitch in drawn)
    given, found = np.arange(1, size + 1, dtype=np.int32), np.zeros(size, np.int32)
    loaded = design.load(model=model)
    try:
        result = loaded.run(given, found, max_cycles=max_cycles)
        return result.cycles, found.tobytes(), result.trace[np.lexsort(result.trace.T[::-1])].tobytes()
    except tw.Stopped as stopped:
        return str(stopped), found.tobytes()


patterns = st.tuples(st.integers(1, 12), st.integers(1, 150), st.integers(0, 40)).map(
    lambda drawn: (drawn[0], drawn[1], drawn[1] + drawn[2])
)


@settings(max_examples=25, deadline=None)
@given(st.lists(patterns, min_size=1, max_size=4), st.integers(1, 3), st.none() | st.integers(1, 4000))
def test_bursts_of_several_columns(drawn: list[Pattern], repeats: int, max_cycles: int | None) -> None:
    design = loops(drawn, repeats)
    plain, words, fast = (outcome(drawn, design, model, max_cycles) for model in MODELS)
    assert plain == words == fast


@pytest.mark.parametrize("max_cycles", [None, 20_000, PIECE_WORDS + 11_500])
def test_a_long_line_comes_into_host_memory_in_pieces(max_cycles: int | None) -> None:
    drawn = [(1, PIECE_WORDS + 3000, PIECE_WORDS + 3000)]
    plain, words, fast = (outcome(drawn, loops(drawn), model, max_cycles) for model in MODELS)
    assert plain == words == fast


@pytest.mark.parametrize("model", ["words", "fast"])
def test_words_of_a_host_buffer_that_is_gone_are_those_that_it_held(model: str) -> None:
    """What is sent from host memory without a copy is copied when the run ends before it."""
    count = 2 * PIECE_WORDS
    loaded = loops([(1, count, count)]).load(model=model)
    given, found = np.arange(count, dtype=np.int32), np.zeros(count, np.int32)
    with pytest.raises(tw.Stopped):
        loaded.run(given, found, max_cycles=count // 2)
    channel = loaded.machine.tiles[TileId(0, 0)].channels[DmaDirection.MM2S, 0]
    assert isinstance(channel, FastChannel) and channel.running is not None
    given[:] = 0
    assert (channel.words[:count] == np.arange(count)).all()
