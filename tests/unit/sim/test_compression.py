"""Compression of DMA channels: a mask of bytes that are not zero, and those bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.sim.compression import Expansion, Words, compressed, most_words

GROUPS = pytest.mark.parametrize("group_bytes", [32, 64])
SPARSE = st.lists(st.one_of(st.just(0), st.integers(0, 255), st.integers(0, (1 << 32) - 1)), max_size=70)


def expanded(stream: Words, count: int, group_bytes: int) -> Words:
    """The words of memory, of a stream that has exactly those of it."""
    expansion = Expansion(count, group_bytes)
    while not expansion.is_done:
        assert expansion.total <= len(stream)
        expansion.advance(stream)
    assert expansion.total == len(stream)
    return expansion.words


@GROUPS
@given(values=SPARSE)
def test_what_is_sent_comes_back(values: list[int], group_bytes: int):
    words = np.array(values, np.uint32)
    stream = compressed(words, group_bytes)
    assert len(stream) <= most_words(len(words), group_bytes)
    assert (expanded(stream, len(words), group_bytes) == words).all()


def test_a_group_of_32_bytes_has_a_mask_of_one_word():
    words = np.array([0x11, 0, 0, 0, 0, 0, 0, 0x22330044], np.uint32)
    assert [hex(word) for word in compressed(words, 32)] == ["0xd0000001", "0x22334411"]


def test_a_group_of_64_bytes_has_a_mask_of_two_words_and_is_filled_up_to_as_many():
    words = np.zeros(16, np.uint32)
    words[15] = 0xAB
    assert [hex(word) for word in compressed(words, 64)] == ["0x0", "0x10000000", "0xab", "0x0"]


@GROUPS
def test_zeros_are_masks_only(group_bytes: int):
    stream = compressed(np.zeros(64, np.uint32), group_bytes)
    assert len(stream) == 64 * 4 // 8 // 4
    assert not stream.any()


def test_words_that_nothing_has_compressed_are_expanded_all_the_same():
    # A mask of one byte, then what looks like that byte, and so on: this is how hardware reads it.
    expansion = Expansion(16, 32)
    stream = np.array([1, 5, 3, 0x0807], np.uint32)
    while not expansion.is_done:
        expansion.advance(stream)
    assert expansion.words.tolist() == [5, *[0] * 7, 0x0807, *[0] * 7]
