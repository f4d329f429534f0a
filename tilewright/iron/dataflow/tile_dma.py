"""DMA programs of tiles, written out: what each channel moves, in which order, and what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import DmaDirection, LockAction, TileType
from tilewright.iron.buffer import Buffer
from tilewright.iron.builders.location import at, refuse, user_location
from tilewright.iron.device.tile import SHIM_TYPES, Tile
from tilewright.iron.lock import Lock
from tilewright.iron.placed.buffers import use_lock
from tilewright.iron.placed.dma import dma_bd, dma_bd_packet, dma_start, mem, memtile_dma, next_bd, shim_mem
from tilewright.iron.placed.tiles import EndOp
from tilewright.iron.resolvable import Emitted


@dataclass
class Acquire:
    """A `lock` that a descriptor waits for before it moves data: for `value` exactly, or `greater_equal` at least."""

    lock: Lock
    value: int = 1
    greater_equal: bool = True

    def emit(self) -> None:
        action = LockAction.AcquireGreaterEqual if self.greater_equal else LockAction.Acquire
        use_lock(self.lock.op, action, value=self.value)


@dataclass
class Release:
    """A `lock` that a descriptor adds `value` to after it has moved data."""

    lock: Lock
    value: int = 1

    def emit(self) -> None:
        use_lock(self.lock.op, LockAction.Release, value=self.value)


@dataclass
class BdIteration:
    """A descriptor that moves on by `stride` elements each time it is used, and starts over after `size` times.

    `current` is how many times it has been used.
    """

    size: int
    stride: int
    current: int = 0


@dataclass
class Bd:
    """One buffer descriptor: `length` elements of a `buffer` from `offset` on, in the order of `sizes` and `strides`.

    It waits for all of `acquires` first and gives all of `releases` in the end. `next` is `"self"`, the number of one
    in the same channel, or None: the chain ends. `packet` is (type, id) of the packets that it sends, `pad_dimensions`
    what is put around data, `iteration` how it moves on from use to use, `where` the source line.
    """

    buffer: Buffer
    offset: int = 0
    length: int | None = None
    acquires: list[Acquire] = field(default_factory=list[Acquire])
    releases: list[Release] = field(default_factory=list[Release])
    next: int | str | None = "self"
    packet: tuple[int, int] | None = None
    sizes: list[Any] = field(default_factory=list[Any])
    strides: list[Any] = field(default_factory=list[Any])
    pad_dimensions: list[Sequence[int]] | None = None
    iteration: BdIteration | None = None
    where: LocationAttr = field(default_factory=user_location, repr=False, compare=False)

    def emit(self) -> None:
        """Build what the descriptor does, but not what comes after it."""
        for acquire in self.acquires:
            acquire.emit()
        if self.packet is not None:
            dma_bd_packet(*self.packet)  # stands before the descriptor that it is for
        dma_bd(self.buffer.op, sizes=self.sizes, strides=self.strides, **self._rest())
        for release in self.releases:
            release.emit()

    def _rest(self) -> dict[str, Any]:
        steps = self.iteration
        given = {
            "offset": self.offset or None,
            "transfer_len": self.length,
            "pad_dimensions": self.pad_dimensions,
            "iteration": None if steps is None else (steps.size, steps.stride, steps.current),
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass
class DmaChannel:
    """The `channel` of that number and `direction`, and the descriptors `bds` that it goes through.

    `pad_value` is what padding puts around data.
    """

    direction: DmaDirection
    channel: int
    bds: list[Bd]
    pad_value: int = 0

    def pad_word(self) -> int:
        """The pad value as the channel's register has it."""
        from tilewright.iron.helpers.util import pack_pad_value

        if not self.pad_value:
            return 0
        # the register is one of the channel, so its word has to suit all descriptors that pad
        sizes = {np.dtype(bd.buffer.dtype).itemsize for bd in self.bds if bd.pad_dimensions is not None}
        if len(sizes) != 1:
            refuse(
                "the pad value of a channel is for descriptors with pad_dimensions, all with elements of one size",
                (None, "leave pad_value out, or give descriptors pad_dimensions"),
            )
        return pack_pad_value(self.pad_value, sizes.pop())


class TileDma(Emitted[Any]):
    """The DMA program of a tile: its channels with their descriptors."""

    def __init__(self, tile: Tile, channels: Iterable[DmaChannel]):
        super().__init__()
        self.tile = tile
        self._channels = list(channels)

    def all_tiles(self) -> list[Tile]:
        return [self.tile]

    def descriptors(self) -> Iterator[Bd]:
        return (bd for channel in self._channels for bd in channel.bds)

    def all_buffers_and_locks(self) -> tuple[list[Buffer], list[Lock]]:
        """What the program refers to, each once."""
        uses = [use for bd in self.descriptors() for use in (*bd.acquires, *bd.releases)]
        buffers = list(dict.fromkeys(bd.buffer for bd in self.descriptors()))
        return buffers, list(dict.fromkeys(use.lock for use in uses))

    def _emit(self) -> Any:
        return self._opener()(self._build)

    def _opener(self) -> Callable[[Callable[[Any], None]], Any]:
        """What starts the DMA program of a tile of this type."""
        if self.tile.tile_type is TileType.MemTile:
            return memtile_dma(self.tile.op)
        return (shim_mem if self.tile.tile_type in SHIM_TYPES else mem)(self.tile.op)

    def _build(self, block: Any) -> None:
        """Start each channel in turn. Blocks have keys: (n, k) is descriptor k of channel n, n what starts it."""
        for number, channel in enumerate(self._channels):
            with block[number]:
                first, rest = block[number, 0], block[number + 1]
                dma_start(channel.direction, channel.channel, dest=first, chain=rest, pad_value=channel.pad_word())
            _build_chain(block, number, channel.bds)
        with block[len(self._channels)]:
            EndOp()


def _build_chain(block: Any, number: int, bds: list[Bd]) -> None:
    for position, bd in enumerate(bds):
        following = position if bd.next == "self" else bd.next  # a descriptor that follows itself repeats for ever
        with block[number, position], at(bd.where):
            bd.emit()
            if following is None:
                EndOp()
            elif isinstance(following, int) and 0 <= following < len(bds):
                next_bd(block[number, following])
            else:
                refuse(
                    f"a descriptor cannot go on with {bd.next!r}",
                    (None, f'next is "self", None, or a number from 0 to {len(bds) - 1}'),
                )
