"""The order in which a descriptor walks memory, against loops written out."""

from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilewright.device import TileType
from tilewright.device.bd import CoreBd, MemTileBd, ShimBd
from tilewright.device.descriptors import (
    PAD,
    PIECE_WORDS,
    BdDimension,
    BdLock,
    BdPacket,
    byte_addresses,
    read_descriptor,
    word_extent,
    word_offsets,
)


def test_a_shim_descriptor_says_all_its_fields() -> None:
    words = ShimBd.encode(
        buffer_length=96, address_low=0x1000, address_high=2, d0_wrap=8, d0_step=1, d1_wrap=4, d1_step=16, d2_step=96,
        iteration_wrap=2, iteration_step=512, enable_packet=1, packet_id=5, packet_type=3, use_next_bd=1, next_bd=7,
        valid_bd=1, lock_acq_enable=1, lock_acq_id=2, lock_acq_value=-1, lock_rel_id=3, lock_rel_value=1,
    )  # fmt: skip
    bd = read_descriptor(TileType.ShimNOCTile, words)
    assert (bd.valid, bd.length, bd.base, bd.next) == (True, 96, 0x2_0000_1000, 7)
    assert bd.dimensions == (BdDimension(8, 1), BdDimension(4, 16), BdDimension(0, 96))
    assert (bd.iterations, bd.iteration_step, bd.iteration) == (2, 512, 0)
    assert (bd.packet, bd.acquire, bd.release) == (BdPacket(5, 3), BdLock(2, -1), BdLock(3, 1))


def test_without_dimensions_words_follow_each_other() -> None:
    bd = read_descriptor(TileType.CoreTile, CoreBd.encode(address=0x400 // 4, buffer_length=4, valid_bd=1))
    assert bd.addresses().tolist() == [0x400, 0x404, 0x408, 0x40C]


def test_iterations_move_the_base_and_wrap() -> None:
    words = CoreBd.encode(address=0, buffer_length=1, iteration_current=2, iteration_wrap=3, iteration_step=8)
    bd = read_descriptor(TileType.CoreTile, words)
    assert bd.addresses().tolist() == [2 * 8 * 4]
    assert bd.next_iteration == 0


def test_padding_stands_around_each_level() -> None:
    words = MemTileBd.encode(
        buffer_length=12, address=0, d0_wrap=2, d0_step=1, d1_wrap=2, d1_step=10,
        d0_zero_before=1, d0_zero_after=1, d1_zero_before=1,
    )  # fmt: skip
    rows = read_descriptor(TileType.MemTile, words).addresses().reshape(3, 4).tolist()
    assert rows == [[PAD] * 4, [PAD, 0, 4, PAD], [PAD, 40, 44, PAD]]


def test_padding_stands_before_a_level_that_never_wraps() -> None:
    words = MemTileBd.encode(buffer_length=5, address=0, d0_wrap=0, d0_step=2, d0_zero_before=3)
    assert read_descriptor(TileType.MemTile, words).addresses().tolist() == [PAD, PAD, PAD, 0, 8]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 50)), min_size=1, max_size=3), st.integers(1, 50))
def test_levels_are_nested_loops(levels: list[tuple[int, int]], last_step: int) -> None:
    dimensions = (*(BdDimension(wrap, step) for wrap, step in levels), BdDimension(0, last_step))
    expected = [0]
    for wrap, step in levels:
        expected = [inner + outer * step for outer in range(wrap) for inner in expected]
    expected = [inner + outer * last_step for outer in range(3) for inner in expected]
    assert np.array_equal(word_offsets(dimensions, len(expected)), expected)


@given(
    st.lists(st.tuples(*[st.integers(0, 5), st.integers(-9, 50), *[st.just(0) | st.integers(0, 3)] * 2]), max_size=3),
    st.integers(1, 300),
)
def test_the_extent_of_a_pattern_is_that_of_its_words(levels: list[tuple[int, int, int, int]], length: int) -> None:
    dimensions = (*(BdDimension(*level) for level in levels), BdDimension(0, 7))
    offsets = word_offsets(dimensions, length)
    real = offsets[offsets != PAD]
    assert word_extent(dimensions, length) == ((real.min(), real.max() + 1) if len(real) else (0, 0))


def test_long_patterns_take_little_more_memory_than_their_addresses() -> None:
    """The shim's descriptors can have 2^32 words; what is made on the way must not be as long as all of them."""
    dimensions = (BdDimension(3, 7, 1, 0), BdDimension(0, 50))
    length = 5 * PIECE_WORDS + 17
    tracemalloc.start()
    addresses = byte_addresses(dimensions, length, 4096)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < addresses.nbytes + 16 * 8 * PIECE_WORDS
    offsets = word_offsets(dimensions, length)
    assert np.array_equal(addresses, np.where(offsets == PAD, PAD, offsets * 4 + 4096))
