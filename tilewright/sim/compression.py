"""Compression of DMA channels: a mask of the bytes of a group that are not zero, then those bytes.

What is sent of a group is filled up to a multiple of the size of its mask.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.device.layout import WORD_BYTES

Words = npt.NDArray[np.uint32]
BITS = 8


def compressed(words: Words, group_bytes: int) -> Words:
    """What a channel sends for words of memory."""
    data = words.view(np.uint8)
    pieces = list[npt.NDArray[np.uint8]]()
    for first in range(0, data.size, group_bytes):
        group = np.zeros(group_bytes, np.uint8)
        group[: data.size - first] = data[first : first + group_bytes]
        kept = group[group != 0]
        padding = np.zeros(-kept.size % (group_bytes // BITS), np.uint8)
        pieces += [np.packbits(group != 0, bitorder="little"), kept, padding]
    return np.concatenate([np.zeros(0, np.uint8), *pieces]).view(np.uint32)


def most_words(count: int, group_bytes: int) -> int:
    """Words that are sent for so many, if no byte of them is zero."""
    groups = -(-count * WORD_BYTES // group_bytes)
    return groups * (group_bytes + group_bytes // BITS) // WORD_BYTES


class Expansion:
    """A descriptor's words while they come in: masks tell how many are still to come."""

    def __init__(self, count: int, group_bytes: int):
        self._group_bytes, self._mask_words = group_bytes, group_bytes // BITS // WORD_BYTES
        self._group_words = group_bytes // WORD_BYTES
        self.words = np.zeros(count, np.uint32)
        """Those of memory, as far as they are known."""
        self._done = 0
        self._mask: npt.NDArray[np.bool_] | None = None
        self._begin = 0
        self.total = 0
        """Words of the stream that have to be there before `advance` can go on."""
        self._expect_mask()

    @property
    def is_done(self) -> bool:
        return self._done == len(self.words)

    def _expect_mask(self) -> None:
        self._mask, self._begin = None, self.total
        if not self.is_done:
            self.total += self._mask_words

    def advance(self, received: Words) -> None:
        """Take a mask, or the bytes that it is about: all words of the stream up to `total` are given."""
        raw = received[self._begin : self.total].view(np.uint8)
        if self._mask is None:
            self._mask = np.unpackbits(raw, bitorder="little").astype(np.bool_)
            self._begin = self.total
            mask_bytes = self._mask_words * WORD_BYTES
            self.total += -(-int(self._mask.sum()) // mask_bytes) * self._mask_words
            return
        group = np.zeros(self._group_bytes, np.uint8)
        group[self._mask] = raw[: int(self._mask.sum())]
        count = min(self._group_words, len(self.words) - self._done)
        self.words[self._done : self._done + count] = group.view(np.uint32)[:count]
        self._done += count
        self._expect_mask()
