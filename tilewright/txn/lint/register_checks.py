"""Checks of each register that a stream writes, polls or patches, by its address and its fields alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, SupportsInt

import numpy as np
import numpy.typing as npt

from tilewright.device import TileId, TileType
from tilewright.device.architecture import TASK_QUEUE_DEPTH
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.hazards import QUEUE_SIZE
from tilewright.device.layout import WORD_BYTES, WORD_MASK, Layout
from tilewright.device.register_names import name_address
from tilewright.txn.codec import spread
from tilewright.txn.lint.register_map import (
    ADDRESS,
    AIE1_ENABLE,
    CONTROL,
    FIRST,
    NONE,
    READ_ONLY,
    RESERVED,
    STATUS,
    WRITE_ONLY,
    FieldLimit,
    RegisterMap,
)
from tilewright.txn.lint.rules import RULES, LintLevel
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import Indices, OpcodeGroup, Stream, Words

Bools = npt.NDArray[np.bool_]
Tiles = npt.NDArray[np.int16]
PIECE_WORDS = 1 << 17
"""Of payloads that are looked at together: what is made of them on the way stays in the processor's cache."""
LEVELS = 4
"""Of the patterns of descriptors, at most."""
_ON_REGISTERS = (Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY, Opcode.DDR_PATCH, Opcode.UPDATE_REG)
"""Beside writes."""


@dataclass
class Places:
    """The first operation of a kind of finding, what is said of it, and how many there are."""

    rule: str
    level: LintLevel
    operation: int
    text: str
    tile: TileId | None
    channel: str | None
    count: int


@dataclass
class Collector:
    """Findings by rule, kind, and tile or channel."""

    registers: RegisterMap
    found: dict[tuple[str, object, int], Places] = field(default_factory=dict[tuple[str, object, int], Places])

    def add(
        self,
        rule: str,
        positions: Indices,
        text: Callable[[int], str],
        *,
        tiles: npt.NDArray[np.integer[Any]] | None = None,
        channels: Indices | None = None,
        kind: object = "",
        level: LintLevel | None = None,
    ) -> None:
        """Note places of one kind; `text` says what is wrong at one of them, by its index among the positions."""
        if not len(positions):
            return
        keys = channels if channels is not None else tiles
        homes = np.full(len(positions), NONE) if keys is None else keys.astype(np.int64)
        places: list[int] = np.unique(homes).tolist()
        for home in places:
            here = np.flatnonzero(homes == home)
            operations, index = np.unique(positions[here], return_index=True)
            first, count = int(operations[0]), len(operations)
            known = self.found.get((rule, kind, home))
            if known is not None and known.operation <= first:
                known.count += count
                continue
            said = text(int(here[index[0]]))
            tile, name = None, None
            if channels is not None:
                channel = self.registers.channel(home)
                tile, name = channel.tile, channel.short_name
            elif home != NONE:
                tile = self.registers.tiles[home]
            count += known.count if known else 0
            self.found[rule, kind, home] = Places(rule, level or RULES[rule].level, first, said, tile, name, count)


@dataclass
class RegisterWrites:
    """Words that go to registers: the operation of each, where to, and which bits."""

    positions: Indices
    addresses: Indices
    values: Words
    known: Words | None
    """Bits that are written; None for all."""
    tiles: Tiles
    words: Indices
    """Of the columns of `RegisterMap`."""

    def chosen(self, at: Indices) -> RegisterWrites:
        known = None if self.known is None else self.known[at]
        return RegisterWrites(
            self.positions[at], self.addresses[at], self.values[at], known, self.tiles[at], self.words[at]
        )

    def mask(self) -> Indices:
        """The bits that are written, of each."""
        return np.full(len(self.values), WORD_MASK) if self.known is None else self.known.astype(np.int64)


def register_writes(stream: Stream) -> Iterator[tuple[Indices, Indices, Words, Words | None]]:
    """Operations, addresses, values and masks of all that is written, some hundred thousand words at a time."""
    for opcode in (Opcode.WRITE, Opcode.MASKWRITE):
        if (group := stream.groups.get(opcode)) is not None:
            yield group.positions, _addresses(group), group.fields["value"], group.fields.get("mask")
    if (blocks := stream.groups.get(Opcode.BLOCKWRITE)) is not None:
        yield from _block_writes(blocks)


def _block_writes(blocks: OpcodeGroup) -> Iterator[tuple[Indices, Indices, Words, None]]:
    starts, addresses = blocks.payload_starts, _addresses(blocks)
    first = 0
    while first < len(blocks.positions):
        most = int(starts[first]) + PIECE_WORDS
        last = max(int(np.searchsorted(starts, most, side="right")) - 1, first + 1)
        own = starts[first : last + 1] - starts[first]
        lengths = np.diff(own)
        # Words, not bytes, follow each other.
        at = spread(addresses[first:last] // WORD_BYTES, lengths, own) * WORD_BYTES
        if (addresses[first:last] % WORD_BYTES).any():
            at += np.repeat(addresses[first:last] % WORD_BYTES, lengths)
        yield np.repeat(blocks.positions[first:last], lengths), at, blocks.payload[starts[first] : starts[last]], None
        first = last


def _addresses(group: OpcodeGroup) -> Indices:
    return group.fields["address"].astype(np.int64)


class RegisterChecks:
    """One stream on its way through the rules about registers; `take` is given what the DMAs get to know."""

    def __init__(self, stream: Stream, found: Collector):
        self.stream, self.found, self.registers = stream, found, found.registers

    def writes(self) -> Iterator[RegisterWrites]:
        """Check everything that is written; gives what is on a tile."""
        for positions, addresses, values, known in register_writes(self.stream):
            tiles, words = self.registers.find(addresses)
            writes = RegisterWrites(positions, addresses, values, known, tiles, words)
            there = self._on_tiles(positions, addresses, tiles)
            if not there.all():
                writes = writes.chosen(np.flatnonzero(there))
            self._check_writes(writes)
            yield writes

    def others(self) -> Iterator[tuple[int, Indices, Tiles, Indices]]:
        """Check polls, patches and updates; gives opcode, operations, tiles and words of those that are on a tile."""
        self._check_masks()
        for opcode in _ON_REGISTERS:
            if (group := self.stream.groups.get(opcode)) is None:
                continue
            addresses = _addresses(group)
            tiles, words = self.registers.find(addresses)
            at = np.flatnonzero(self._on_tiles(group.positions, addresses, tiles))
            if opcode == Opcode.DDR_PATCH:
                self._check_patches(group, at, tiles, words)
            elif opcode != Opcode.UPDATE_REG:
                self._check_polls(group, at, tiles, words)
            yield opcode, group.positions[at], tiles[at], words[at]

    def _name(self, address: SupportsInt) -> str:
        at = int(address)
        return name_address(self.registers.model, at & WORD_MASK) or f"{at:#010x}"

    def _on_tiles(self, positions: Indices, addresses: Indices, tiles: Tiles) -> Bools:
        """Note what is on no tile, and what is no whole word; gives what is on one."""
        there = tiles != NONE
        if not there.all():
            self._note_lost(positions[~there], addresses[~there])
        if (addresses & (WORD_BYTES - 1)).any():
            odd = np.flatnonzero(addresses & (WORD_BYTES - 1))
            text = "{:#010x} is not the address of a word"
            self.found.add("unaligned-address", positions[odd], lambda n: text.format(addresses[odd[n]]))
        return there

    def _note_lost(self, positions: Indices, addresses: Indices) -> None:
        """Headers may have fewer columns than the partition that the stream is for."""
        starts, which = np.unique(addresses >> self.registers.shift << self.registers.shift, return_inverse=True)
        known = [self.registers.is_beside(*self.registers.locate(it)) for it in starts.tolist()]
        is_beside = np.array(known)[which.reshape(-1)]
        for level, chosen in ((LintLevel.ERROR, ~is_beside), (LintLevel.WARNING, is_beside)):
            at = addresses[chosen]
            self.found.add(
                "no-such-tile", positions[chosen], lambda n, at=at: self._lost(int(at[n])), kind=level, level=level
            )

    def _lost(self, address: int) -> str:
        model = self.registers.model
        if address > WORD_MASK:
            return f"{address:#x} is beyond 32 bits of address"
        tile = self.registers.locate(address)
        return f"{address:#010x} would be on tile ({tile.column}, {tile.row}), which {model} does not have"

    def _check_writes(self, writes: RegisterWrites) -> None:
        access = self.registers.access[writes.words]
        for rule, kind, what in (
            ("reserved-register", RESERVED, "is written, where there is no register and no memory"),
            ("read-only-register", READ_ONLY, "is written, which can only be read"),
        ):
            wrong = writes.chosen(np.flatnonzero(access == kind))
            self.found.add(
                rule,
                wrong.positions,
                lambda n, it=wrong, what=what: f"{self._name(it.addresses[n])} {what}",
                tiles=wrong.tiles,
            )
        self._check_bits(writes)
        classes = self.registers.classes[writes.words]
        for number in np.flatnonzero(np.bincount(classes)).tolist():
            if self.registers.limits[number]:
                about = writes.chosen(np.flatnonzero(classes == number))
                for limit in self.registers.limits[number]:
                    self._check_limit(limit, about)
        roles = self.registers.roles[writes.words]
        if writes.known is None and (roles & FIRST).any():
            at = np.flatnonzero(roles & FIRST)
            for number, tile_type in enumerate(self.registers.types):
                if tile_type in (TileType.CoreTile, TileType.MemTile):
                    own = at[self.registers.tile_types[writes.tiles[at]] == number]
                    self._check_reach(tile_type, writes, own)

    def _check_bits(self, writes: RegisterWrites) -> None:
        bits = writes.values if writes.known is None else writes.values & writes.known
        beyond = bits & self.registers.reserved[writes.words]
        if not beyond.any():
            return
        at = np.flatnonzero(beyond)
        wrong, beyond = writes.chosen(at), beyond[at]
        is_enable = (beyond == AIE1_ENABLE) & (self.registers.roles[wrong.words] & CONTROL != 0)
        text = "{} is set to {:#010x}, of which no field has {:#x}"
        for level, which in ((LintLevel.WARNING, ~is_enable), (LintLevel.REMARK, is_enable)):
            own, lost = wrong.chosen(np.flatnonzero(which)), beyond[which]
            self.found.add(
                "reserved-bits",
                own.positions,
                lambda n, own=own, lost=lost: text.format(self._name(own.addresses[n]), own.values[n], lost[n]),
                tiles=own.tiles,
                kind=level,
                level=level,
            )

    def _check_limit(self, limit: FieldLimit, writes: RegisterWrites) -> None:
        bits, values = limit.bits, writes.values
        held = (values & np.uint32(bits.mask)) >> np.uint32(bits.lo)
        is_wrong = held >= limit.count
        if limit.when:
            flags = values & np.uint32(limit.when)
            is_wrong &= (flags != 0) if limit.then == NONE else (flags == limit.then)
        if writes.known is not None:
            needed = np.uint32(bits.mask | limit.when)
            is_wrong &= writes.known & needed == needed
        at = np.flatnonzero(is_wrong)
        wrong, held = writes.chosen(at), held[at]
        text = f"{{}}: {bits.name} is {{}}, and there are {limit.count} {limit.what}"
        self.found.add(
            "field-range",
            wrong.positions,
            lambda n: text.format(self._name(wrong.addresses[n]), held[n]),
            tiles=wrong.tiles,
            kind=bits.name,
        )

    def _check_reach(self, tile_type: TileType, writes: RegisterWrites, at: Indices) -> None:
        """Look at descriptors that are written as a whole: the words of one follow each other in a block."""
        layout = BD_LAYOUTS[tile_type]
        at = at[at + layout.words <= len(writes.values)]
        at = at[writes.positions[at] == writes.positions[at + layout.words - 1]]
        if not len(at):
            return
        columns = writes.values[at[:, None] + np.arange(layout.words)].astype(np.int64).T
        first, end = reach(layout, columns)
        size = self.registers.model.resources(tile_type).data_memory_bytes
        low, high = np.zeros(len(at), dtype=np.int64), np.full(len(at), size)
        if tile_type is TileType.MemTile:
            # First the memory of the tile to the west, then its own, then that to the east.
            west, east = self.registers.neighbours[writes.tiles[at]].T
            low, high = np.where(west, 0, size), np.where(east, 3 * size, 2 * size)
        valid = layout.fields["valid_bd"]
        is_valid = columns[valid.word] & valid.mask != 0
        wrong = np.flatnonzero(is_valid & (end > first) & ((first < low) | (end > high)))
        text = "{} begins a descriptor of bytes {:#x} to {:#x}; its tile reaches {:#x} to {:#x}"
        named = writes.addresses[at[wrong]]
        numbers = [column[wrong] for column in (first, end, low, high)]
        self.found.add(
            "outside-memory",
            writes.positions[at[wrong]],
            lambda n: text.format(self._name(named[n]), *(column[n] for column in numbers)),
            tiles=writes.tiles[at[wrong]],
        )

    def _check_patches(self, group: OpcodeGroup, at: Indices, tiles: Tiles, words: Indices) -> None:
        is_address = self.registers.roles[words] & ADDRESS != 0
        wrong = at[~is_address[at]]
        addresses = group.fields["address"][wrong]
        text = "{} is patched, which is not the address of a shim tile's descriptor"
        self.found.add(
            "patch-not-address",
            group.positions[wrong],
            lambda n: text.format(self._name(addresses[n])),
            tiles=tiles[wrong],
        )

    def _check_polls(self, group: OpcodeGroup, at: Indices, tiles: Tiles, words: Indices) -> None:
        values, masks, addresses = (group.fields[name] for name in ("value", "mask", "address"))
        access, wanted = self.registers.access[words], values & masks
        size = np.uint32(QUEUE_SIZE.mask)
        is_long = (masks & size == size) & ((values & size) >> np.uint32(QUEUE_SIZE.lo) > TASK_QUEUE_DEPTH)
        for text, wrong in {
            "is polled for bits outside of the mask": values & ~masks != 0,
            "is polled for bits that no field of it has": wanted & self.registers.reserved[words] != 0,
            "is polled, where there is no register and no memory": (access == RESERVED) & (wanted != 0),
            "is polled, which can only be written": (access == WRITE_ONLY) & (wanted != 0),
            f"is polled for a queue of more than {TASK_QUEUE_DEPTH} tasks": is_long
            & (self.registers.roles[words] & STATUS != 0),
        }.items():
            own = at[wrong[at]]
            self.found.add(
                "endless-poll",
                group.positions[own],
                lambda n, own=own, text=text: (
                    f"{self._name(addresses[own[n]])} {text}: value {values[own[n]]:#x}, mask {masks[own[n]]:#x}"
                ),
                tiles=tiles[own],
                kind=text,
            )

    def _check_masks(self) -> None:
        if (group := self.stream.groups.get(Opcode.MASKWRITE)) is None:
            return
        at = np.flatnonzero(group.fields["value"] & ~group.fields["mask"])
        values, masks, addresses = (group.fields[name][at] for name in ("value", "mask", "address"))
        text = "{} is set to {:#x} under the mask {:#x}"
        self.found.add(
            "value-outside-mask",
            group.positions[at],
            lambda n: text.format(self._name(addresses[n]), values[n], masks[n]),
        )


def reach(layout: type[Layout], columns: Indices) -> tuple[Indices, Indices]:
    """The first byte of each descriptor's transfer, and the one after the last; equal where all of it is padding."""
    count: int = columns.shape[1]

    def get(name: str) -> Indices:
        bits = layout.fields.get(name)
        if bits is None:
            return np.zeros(count, dtype=np.int64)
        value: Indices = (columns[bits.word] & bits.mask) >> bits.lo
        return value + bits.bias

    start = WORD_BYTES * (get("address") + get("iteration_current") * get("iteration_step"))
    length = get("buffer_length")
    # The number of the last word as digits, one for each level of the pattern: lowest first.
    left, is_open = np.maximum(length - 1, 0), np.ones(len(length), dtype=np.bool_)
    digits, befores, tops, steps = list[Indices](), list[Indices](), list[Indices](), list[Indices]()
    for level in range(LEVELS):
        if f"d{level}_step" not in layout.fields:
            break
        wrap, before = get(f"d{level}_wrap"), get(f"d{level}_zero_before")
        is_last = is_open & (wrap == 0)
        size = np.where(wrap == 0, 1, before + wrap + get(f"d{level}_zero_after"))
        digits.append(np.where(is_last, left, np.where(is_open, left % size, 0)))
        left = np.where(is_open & ~is_last, left // size, 0)
        # Production streams fill memory with a level that has padding in front and no wrap: all of it is padding.
        befores.append(np.where(is_open, before, 0))
        # A level that never wraps ends with the transfer, and those above it are not there.
        tops.append(np.where(is_last, digits[-1], np.where(is_open, before + wrap - 1, 0)))
        steps.append(get(f"d{level}_step"))
        is_open = is_open & ~is_last
    # The farthest word has the digits of the last one down to some level, one less there, and all that is below.
    best, is_real, sum_above = np.full(len(length), NONE), length > 0, np.zeros(len(length), dtype=np.int64)
    below = sum((top - before) * step for top, before, step in zip(tops, befores, steps, strict=True))
    for digit, before, top, step in zip(digits[::-1], befores[::-1], tops[::-1], steps[::-1], strict=True):
        below = below - (top - before) * step
        smaller = np.minimum(digit - 1, top)
        farthest = sum_above + (smaller - before) * step + below
        best = np.where(is_real & (smaller >= before), np.maximum(best, farthest), best)
        is_real = is_real & (digit >= before) & (digit <= top)
        sum_above = sum_above + (digit - before) * step
    best = np.where(is_real, np.maximum(best, sum_above), best)
    return start, start + WORD_BYTES * (best + 1)
