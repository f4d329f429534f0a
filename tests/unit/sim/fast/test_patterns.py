"""Patterns of descriptors as native code moves them: the addresses are those of `device.descriptors`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilewright.device.descriptors import PAD, BdDimension, byte_addresses, word_extent
from tilewright.device.layout import WORD_BYTES
from tilewright.sim.fast.state import BD_NUMBERS, REGIONS, BdField, FastState
from tilewright.sim.fast.transfers import move_words

WORDS = 4096
PAD_WORD = 0xABCD
LOW = 1 << 20

LEVELS = st.tuples(
    st.sampled_from([0, 1, 1, 2, 3, 5]),
    st.just(1) | st.integers(1, 40),
    st.just(0) | st.integers(0, 3),
    st.just(0) | st.integers(0, 3),
)


def words_of(*pieces: tuple[int, int]) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """Memory in pieces of addresses, each (first word, words), and where each lies in this process."""
    memory = np.arange(1, WORDS + 1, dtype=np.uint32)
    at = memory.ctypes.data
    return memory, [(LOW + 4 * first, LOW + 4 * (first + count), at + 4 * first) for first, count in pieces]


def is_padded(dimension: BdDimension) -> bool:
    return bool(dimension.pad_before or dimension.pad_after)


def moved(dimensions: tuple[BdDimension, ...], length: int, start: int, sends: bool, cut: int) -> object:
    """What `move_words` leaves in memory and on the stream, or None where it refuses; memory has two regions."""
    memory, regions = words_of((0, cut), (cut, WORDS - cut))
    stream = np.arange(1000, 1000 + length, dtype=np.uint32)
    row = [0] * BD_NUMBERS
    row[BdField.LENGTH], row[BdField.BASE] = length, start
    row[BdField.LOW], row[BdField.HIGH] = (WORD_BYTES * end for end in word_extent(dimensions, length))
    row[BdField.PADDED] = int(any(map(is_padded, dimensions)))
    for level, dimension in enumerate(dimensions):
        row[BdField.WRAP + level], row[BdField.STEP + level] = dimension.wrap, dimension.step
        if level < 3:
            row[BdField.PAD_BEFORE + level], row[BdField.PAD_AFTER + level] = dimension.pad_before, dimension.pad_after
    lows, highs, data = (list(column) + [0] * (REGIONS - 2) for column in zip(*regions, strict=True))
    state = SimpleNamespace(
        pending=0,
        channel_descriptor=row,
        channel_data=[stream.ctypes.data],
        channel_sends=[int(sends)],
        channel_pad=[PAD_WORD],
        channel_tile=[0],
        channel_number=[0],
        tile_is_shim=[0],
        tile_adjacent=[1],
        region_low=lows,
        region_high=highs,
        region_data=data,
    )
    if not move_words(cast("FastState", state), 0):
        return None
    return memory.tolist(), stream.tolist()


@given(levels=st.lists(LEVELS, min_size=3, max_size=3), last=LEVELS, length=st.integers(1, 200), data=st.data())
def test_native_code_moves_the_words_of_the_pattern(
    levels: list[tuple[int, int, int, int]], last: tuple[int, int, int, int], length: int, data: st.DataObject
) -> None:
    dimensions = *(BdDimension(*level) for level in levels), BdDimension(0, last[1])
    start = LOW + WORD_BYTES * data.draw(st.integers(0, WORDS - 1), label="start")
    sends = data.draw(st.booleans(), label="sends")
    cut = data.draw(st.integers(1, WORDS - 1), label="cut")
    addresses = byte_addresses(dimensions, length, start)
    is_word = addresses != PAD
    at = (addresses - LOW) // WORD_BYTES
    found = moved(dimensions, length, start, sends, cut)
    if ((at < 0) | (at >= WORDS))[is_word].any():
        assert found is None
        return
    memory = np.arange(1, WORDS + 1, dtype=np.uint32)
    stream = np.arange(1000, 1000 + length, dtype=np.uint32)
    if sends:
        stream = np.where(is_word, memory[np.where(is_word, at, 0)], PAD_WORD)
    else:
        for word in np.flatnonzero(is_word):
            memory[at[word]] = stream[word]
    assert found == (memory.tolist(), stream.tolist())
