"""Buffer descriptors as DMA channels read them: which words, in which order, between which locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from .bd import AX_CACHE, BD_LAYOUTS
from .enums import TileType
from .layout import WORD_BYTES

Addresses = npt.NDArray[np.int64]
PIECE_WORDS = 1 << 16
"""How many addresses are made at a time, and words of a long line in host memory moved."""
PAD = -1
"""Stands among addresses where a word comes from the padding, not from memory."""


@dataclass(frozen=True)
class BdDimension:
    """One level of an address pattern: `wrap` steps of `step` words before the next level moves; 0 never wraps.

    Padding counts words on the innermost level and whole inner levels on the others.
    """

    wrap: int
    step: int
    pad_before: int = 0
    pad_after: int = 0


@dataclass(frozen=True)
class BdLock:
    """A lock as the descriptor numbers it, and its value: see `device.bd`."""

    number: int
    value: int


@dataclass(frozen=True)
class BdPacket:
    id: int
    type: int


@dataclass(frozen=True)
class BufferDescriptor:
    """A descriptor's words, read. Lengths and steps count 32-bit words, the base address bytes."""

    valid: bool
    length: int
    base: int
    dimensions: tuple[BdDimension, ...]
    iterations: int
    iteration_step: int
    iteration: int
    packet: BdPacket | None
    next: int | None
    acquire: BdLock | None
    release: BdLock | None
    suppress_tlast: bool
    compressed: bool
    burst: int
    """How long bursts to and from host memory are, as the field says it."""
    is_upsized: bool
    """Whether the NoC may join their beats to longer ones."""

    def addresses(self) -> Addresses:
        """Byte address of each word in the order of the stream."""
        return byte_addresses(
            self.dimensions, self.length, self.base + WORD_BYTES * self.iteration * self.iteration_step
        )

    def reach(self, iteration: int) -> tuple[int, int]:
        """The first byte that it touches and the one after the last, at most, without making all addresses."""
        start = self.base + WORD_BYTES * iteration * self.iteration_step
        if not self.length:
            return start, start
        last, left = 0, self.length
        for dimension in self.dimensions:
            last += (min(dimension.wrap or left, left) - 1) * dimension.step
            if dimension.wrap == 0:
                break
            # Rounded up: the last row of a pattern may be cut short by the length.
            left = -(-left // (dimension.pad_before + dimension.wrap + dimension.pad_after))
        return start, start + WORD_BYTES * (last + 1)

    @property
    def next_iteration(self) -> int:
        """The hardware counts up each time that it loads the descriptor."""
        return (self.iteration + 1) % self.iterations


def read_descriptor(tile_type: TileType, words: Sequence[int]) -> BufferDescriptor:
    return _read(tile_type, tuple(words))


@lru_cache(maxsize=4096)
def _read(tile_type: TileType, words: tuple[int, ...]) -> BufferDescriptor:
    """Following chains, as the explanation of a hang does, reads the same few again and again."""
    layout = BD_LAYOUTS[tile_type]
    fields = layout.decode(words)
    acquire = BdLock(fields["lock_acq_id"], fields["lock_acq_value"]) if fields["lock_acq_enable"] else None
    release = BdLock(fields["lock_rel_id"], fields["lock_rel_value"]) if fields["lock_rel_value"] else None
    return BufferDescriptor(
        valid=bool(fields["valid_bd"]),
        length=fields["buffer_length"],
        base=_base(fields),
        dimensions=tuple(_dimensions(fields)),
        iterations=fields["iteration_wrap"],
        iteration_step=fields["iteration_step"],
        iteration=fields["iteration_current"],
        packet=BdPacket(fields["packet_id"], fields["packet_type"]) if fields["enable_packet"] else None,
        next=fields["next_bd"] if fields["use_next_bd"] else None,
        acquire=acquire,
        release=release,
        suppress_tlast=bool(fields["tlast_suppress"]),
        compressed=bool(fields.get("enable_compression")),
        burst=fields.get("burst_length", 0),
        is_upsized=bool(fields.get("ax_cache", 0) & AX_CACHE),
    )


def _base(fields: Mapping[str, int]) -> int:
    """Host addresses are in bytes, those inside tiles in words."""
    if "address" in fields:
        return fields["address"] * WORD_BYTES
    # The lowest bits are not in the descriptor: host addresses are aligned to words.
    return (fields["address_high"] << 32 | fields["address_low"]) & ~(WORD_BYTES - 1)


def _dimensions(fields: Mapping[str, int]) -> list[BdDimension]:
    # d0 is the innermost, and the fields of a layout need not be in order.
    levels = sorted(name for name in fields if name.startswith("d") and name.endswith("_step"))
    return [
        BdDimension(
            wrap=fields.get(f"{level}_wrap", 0),
            step=fields[f"{level}_step"],
            pad_before=fields.get(f"{level}_zero_before", 0),
            pad_after=fields.get(f"{level}_zero_after", 0),
        )
        for level in (name.removesuffix("_step") for name in levels)
    ]


def byte_addresses(dimensions: tuple[BdDimension, ...], length: int, start: int) -> Addresses:
    """Byte address of each of `length` words of a pattern that begins at `start`; `PAD` where one is padding."""
    if length <= PIECE_WORDS:
        return _in_bytes(_remembered_offsets(dimensions, length), start)
    # In pieces: a shim's descriptor can have 2^32 words, and every temporary of that length takes 8 bytes a word.
    addresses = np.empty(length, dtype=np.int64)
    for first in range(0, length, PIECE_WORDS):
        piece = word_offsets(dimensions, min(first + PIECE_WORDS, length), first)
        addresses[first : first + PIECE_WORDS] = _in_bytes(piece, start)
    return addresses


def _in_bytes(offsets: Addresses, start: int) -> Addresses:
    return np.where(offsets == PAD, PAD, offsets * WORD_BYTES + start)


def word_offsets(dimensions: tuple[BdDimension, ...], end: int, first: int = 0) -> Addresses:
    """Offset of the words `first` to `end` of a pattern from its base, in words; `PAD` where there is none."""
    left = np.arange(first, end, dtype=np.int64)
    offsets = np.zeros(end - first, dtype=np.int64)
    in_memory = np.ones(end - first, dtype=np.bool_)
    for dimension in dimensions:
        if dimension.wrap == 0:
            # Production streams fill memory by a level that has padding in front and never wraps.
            left -= dimension.pad_before
            in_memory &= left >= 0
            offsets += left * dimension.step
            break
        left, digit = np.divmod(left, dimension.pad_before + dimension.wrap + dimension.pad_after)
        # Digits below 0 or from `wrap` on are padding.
        digit -= dimension.pad_before
        in_memory &= (digit >= 0) & (digit < dimension.wrap)
        offsets += digit * dimension.step
    return np.where(in_memory, offsets, PAD)


def word_extent(dimensions: tuple[BdDimension, ...], length: int) -> tuple[int, int]:
    """The lowest offset of the first words of a pattern and one more than the highest; both 0 if all are padding."""
    last = next((number for number, level in enumerate(dimensions) if level.wrap == 0), len(dimensions) - 1)
    levels = dimensions[: last + 1]
    if not any(level.pad_before or level.pad_after for level in levels):
        low, high = _extremes(levels, min(length, prod(level.wrap for level in levels) or length))
        return low, high + 1
    offsets = word_offsets(dimensions, length)
    real = offsets[offsets != PAD]
    return (int(real.min()), int(real.max()) + 1) if len(real) else (0, 0)


def _extremes(levels: tuple[BdDimension, ...], count: int) -> tuple[int, int]:
    """The lowest and the highest offset of the first words: of whole turns of the last level, and of what is left."""
    if not levels:
        return 0, 0
    period = prod(level.wrap for level in levels[:-1])
    turns, rest = divmod(count, period)
    found = list[int]()
    for first, last, words in ((0, turns - 1, period), (turns, turns, rest)):
        if first <= last and words:
            low, high = _extremes(levels[:-1], words)
            found += [end + turn * levels[-1].step for end in (low, high) for turn in (first, last)]
    return min(found), max(found)


_remembered_offsets = lru_cache(maxsize=256)(word_offsets)
"""Programs run the same few patterns over and over. The result is only read."""
