"""Copies of a design, as they are read: from where to where they move what; refuses what no hardware could do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple, TypeAlias

from tilewright.device import DmaDirection, TileId
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.tiles import TileOp
from tilewright.dialects.aiex.subview_trace import trace_to_argument
from tilewright.dialects.aiex.token_memcpy import CopyEnd, MemcpyOp
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.emitter import known

CORE_DIMENSIONS, MOST_DIMENSIONS = 3, 4  # that DMAs of core tiles, and of others, walk
Channel: TypeAlias = tuple[TileId, DmaDirection, int]


class LockName(NamedTuple):
    """The lock of a token on a tile; where values of a token are told apart, the one for that value."""

    token: str
    place: TileId
    value: int | None = None


class TokenLockUse(NamedTuple):
    """Some of a token, on a tile."""

    name: LockName
    amount: int


@dataclass(eq=False)
class CopySide:
    """One end of a copy: what a descriptor of its tile has to do."""

    op: MemcpyOp
    end: CopyEnd
    tile: TileOp
    direction: DmaDirection
    acquired: list[TokenLockUse] = field(default_factory=list[TokenLockUse])
    released: list[TokenLockUse] = field(default_factory=list[TokenLockUse])
    number: int = 0
    """The channel, once it has one."""

    def __post_init__(self) -> None:
        self.place: TileId = self.tile.place
        self.is_host = self.tile.is_shim_noc

    @property
    def channel(self) -> Channel:
        return self.place, self.direction, self.number

    @property
    def element_bytes(self) -> int:
        return element_bytes(self.end.buffer.type)

    @property
    def length_bytes(self) -> int | None:
        length = known(self.end.length)
        return None if length is None else length * self.element_bytes

    @property
    def repeats_outermost(self) -> bool:
        """Whether the outermost dimension is one of repetitions: shim tiles have no other way to walk four."""
        return self.is_host and len(self.end.sizes) == MOST_DIMENSIONS

    def __str__(self) -> str:
        return f"{self.direction.name} {self.number} of tile ({self.place.column}, {self.place.row})"


@dataclass(eq=False)
class TokenCopy:
    """One `aiex.memcpy` of a runtime sequence."""

    op: MemcpyOp
    source: CopySide
    destinations: Sequence[CopySide]

    @property
    def sides(self) -> list[CopySide]:
        return [self.source, *self.destinations]

    @property
    def route(self) -> tuple[TileId, ...]:
        """The source's place, then the destinations'."""
        return tuple(side.place for side in self.sides)


def read_copy(op: MemcpyOp) -> TokenCopy:
    """A copy whose ends are on tiles that can make it."""
    source, *destinations = op.ends
    sides = [_side(op, source, DmaDirection.MM2S), *(_side(op, end, DmaDirection.S2MM) for end in destinations)]
    if all(side.is_host for side in sides):
        fail_op(op, "expected non-shim tile paired with shim endpoint", (op, "the host copies within its own memory"))
    for side in sides:
        _check_buffer(side)
        _check_extent(side)
    copy = TokenCopy(op, sides[0], sides[1:])
    _check_lengths(copy)
    if len(set(copy.route[1:])) != len(copy.destinations):
        fail_op(op, "has two destinations on one tile", (op, "write a copy for each of them"))
    return copy


def _side(op: MemcpyOp, end: CopyEnd, direction: DmaDirection) -> CopySide:
    tile = tile_of_end(op, end)
    if tile.is_shim_pl:
        fail_op(op, "has an end on a shim tile without a DMA", (tile, "this one"))
    return CopySide(op, end, tile, direction)


def tile_of_end(op: MemcpyOp, end: CopyEnd) -> TileOp:
    tile = end.tile.owner
    if not isinstance(tile, TileOp):
        fail_op(op, "has an end on a tile that is not placed; run --aie-place-tiles first", (end.tile, "this one"))
    return tile


def _check_buffer(side: CopySide) -> None:
    """The DMA of a tile copies from and to its own memory; that of a shim tile from and to the host's."""
    buffer, place = side.end.buffer, tuple(side.place)
    if side.is_host:
        if trace_to_argument(buffer) is None:  # views of an argument are the host's memory as well
            fail_op(
                side.op,
                f"copies between tile {place}, which is a shim tile, and a buffer that is not the host's",
                (buffer, "give the tile that has this buffer, or an argument of the runtime sequence"),
            )
    elif not isinstance(buffer.owner, BufferOp) or buffer.owner.place != side.place:
        fail_op(
            side.op,
            f"copies between tile {place} and a buffer that is not in its memory",
            (buffer, "give the tile that has this buffer"),
        )


def _check_extent(side: CopySide) -> None:
    """What is known of an end must lie inside its buffer, in whole words, and fit its dimensions."""
    end, op = side.end, side.op
    most = CORE_DIMENSIONS if side.tile.is_core else MOST_DIMENSIONS
    if len(end.sizes) > most:
        fail_op(op, f"walks {len(end.sizes)} dimensions, but the DMA of {side.tile.tile_type} walks at most {most}")
    sizes, strides = [known(size) for size in end.sizes], [known(stride) for stride in end.strides]
    length, offset = known(end.length), known(end.offset)
    count = None if None in sizes else prod(size for size in sizes if size is not None)
    if sizes and length is not None and count is not None and count != length:
        fail_op(op, f"copies {length} elements, but its sizes {sizes} are {count}")
    _check_words(side, length)
    if length is None or offset is None or count is None or None in strides:
        return
    # the element that is farthest from the first; what is not walked adds nothing
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True) if size and stride)
    stop, available = offset + (last + 1 if sizes else length), element_count(end.buffer.type)
    if offset < 0 or (available is not None and stop > available):
        text = f"copies elements {offset} to {stop - 1} of a buffer that has {available}"
        fail_op(op, text, (end.buffer, "the buffer is this one"))


def _check_words(side: CopySide, length: int | None) -> None:
    if length is not None and length < 1:
        fail_op(side.op, f"copies {length} elements; copy at least one")
    for what, number in (("length", length), ("offset", known(side.end.offset))):
        if number is not None and number * side.element_bytes % WORD_BYTES != 0:
            fail_op(
                side.op,
                f"has a {what} of {number} elements of {side.element_bytes} bytes, which is not a number of "
                f"{WORD_BYTES}-byte words",
                (side.op, "a DMA moves whole words"),
            )


def _check_lengths(copy: TokenCopy) -> None:
    """All ends move as many bytes, as far as that is known."""
    source = copy.source
    for side in copy.destinations:
        # in bytes: the ends may have elements of different sizes
        if None not in (source.length_bytes, side.length_bytes) and source.length_bytes != side.length_bytes:
            fail_op(
                copy.op,
                f"takes {source.length_bytes} bytes from its source, and {side.length_bytes} bytes go to its "
                "destination",
                (source.end.buffer, f"{source.end.length} elements of {source.element_bytes} bytes"),
                (side.end.buffer, f"{side.end.length} elements of {side.element_bytes} bytes"),
            )
