"""Checks of what a stream does to DMAs in order: tasks, the descriptors they run, patches, tokens and waits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, SupportsInt

import numpy as np
import numpy.typing as npt

from tilewright.device import DmaDirection, TileType
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.dma_registers import ChannelId, tile_name
from tilewright.device.hazards import next_bd_fields
from tilewright.device.registers import TaskQueue
from tilewright.txn.lint.register_checks import Bools, Collector, RegisterWrites, Tiles
from tilewright.txn.lint.register_map import ADDRESS, CHANNELS, DESCRIPTORS, LINK, LOCK_REQUEST, QUEUE, STATUS, VALID
from tilewright.txn.lint.rules import LintLevel
from tilewright.txn.opcodes import Opcode, opcode_name
from tilewright.txn.stream import Indices, Stream

UNDERSTOOD = {
    *(Opcode.WRITE, Opcode.BLOCKWRITE, Opcode.MASKWRITE, Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY, Opcode.NOOP),
    *(Opcode.PREEMPT, Opcode.LOADPDI, Opcode.CREATE_SCRATCHPAD, Opcode.UPDATE_REG, Opcode.UPDATE_STATE_TABLE),
    *(Opcode.UPDATE_SCRATCH, Opcode.TCT, Opcode.DDR_PATCH, Opcode.READ_REGS, Opcode.RECORD_TIMER, Opcode.MERGE_SYNC),
}
"""Operations whose effect on DMAs is known."""
_SYNC_FIELDS = ("column", "row", "direction", "channel", "column_count", "row_count")


class _Events:
    """Things that happen, piece by piece: columns of numbers, the first of them the operation."""

    def __init__(self, columns: int):
        self.pieces: list[list[Indices]] = [[np.empty(0, dtype=np.int64)] for _ in range(columns)]

    def add(self, *columns: npt.NDArray[np.integer[Any]]) -> None:
        for piece, column in zip(self.pieces, columns, strict=True):
            piece.append(column.astype(np.int64, copy=False))

    def in_order(self) -> list[Indices]:
        """All of them, in the order of the stream."""
        whole = [np.concatenate(pieces) for pieces in self.pieces]
        order = np.argsort(whole[0], kind="stable")
        return [column[order] for column in whole]


class TaskChecks:
    """One stream on its way through the rules about tasks: first it is told of all registers, then it checks."""

    def __init__(self, stream: Stream, found: Collector):
        self.stream, self.found, self.registers = stream, found, found.registers
        self.pushes, self.patches = _Events(4), _Events(2)
        self.words = {role: _Events(4) for role in (LINK, VALID, ADDRESS)}
        self.polls, self.lock_polls = _Events(2), _Events(2)
        self.most = len(stream.opcodes) + 1
        """More than any operation's number, so that a place and an operation make one number."""

    def take_writes(self, writes: RegisterWrites) -> None:
        roles = self.registers.roles[writes.words]
        own = writes.chosen(np.flatnonzero(roles & QUEUE))
        places = own.tiles.astype(np.int64) * CHANNELS + self.registers.numbers[own.words]
        self.pushes.add(own.positions, places, own.values, own.mask())
        for role, events in self.words.items():
            own = writes.chosen(np.flatnonzero(roles & role))
            places = own.tiles.astype(np.int64) * DESCRIPTORS + self.registers.numbers[own.words]
            events.add(own.positions, places, own.values, own.mask())

    def take(self, opcode: int, positions: Indices, tiles: Tiles, words: Indices) -> None:
        """Another operation on registers."""
        role, room, events = (ADDRESS, DESCRIPTORS, self.patches)
        if opcode in (Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY):
            role, room, events = (STATUS, CHANNELS, self.polls)
            asked = np.flatnonzero(self.registers.roles[words] & LOCK_REQUEST)
            self.lock_polls.add(positions[asked], tiles[asked])
        elif opcode != Opcode.DDR_PATCH:
            return
        at = np.flatnonzero(self.registers.roles[words] & role)
        events.add(positions[at], tiles[at].astype(np.int64) * room + self.registers.numbers[words[at]])

    def check(self) -> None:
        positions, channels, values, known = self._in_order
        waits = self._waits()
        self._check_tokens(positions, channels, values, known, waits)
        self._check_ends(positions, channels, waits)
        self._check_patches(positions, channels)
        if len(positions):
            self._check_descriptors(positions, channels, values, known)
        for opcode, group in self.stream.groups.items():
            if opcode not in UNDERSTOOD:
                text = f"what {opcode_name(opcode)} does is not known"
                self.found.add("unknown-operation", group.positions, lambda _, text=text: text, kind=opcode)

    def loads_at_once(self, channel: ChannelId, origin: int) -> bool:
        """Whether a task finds its channel idle and runs one descriptor once, so that it is through with that."""
        positions, places, values, known = self._in_order
        place = self.registers.channel_place(*channel.tile, channel.direction, channel.number)
        mine = np.flatnonzero(places == place)
        if not len(mine) or positions[mine[0]] != origin:
            return False
        repeats = TaskQueue.repeat_count.mask
        return bool(known[mine[0]] & repeats == repeats and values[mine[0]] & repeats == 0)

    @cached_property
    def _in_order(self) -> list[Indices]:
        """Operation, channel, word and known bits of all pushes."""
        return self.pushes.in_order()

    def _channel_name(self, place: SupportsInt) -> str:
        return self.registers.channel(int(place)).name(self.registers.model)

    def _waits(self) -> tuple[Indices, Indices]:
        """Operation and channel of each token that is waited for, in order."""
        found = _Events(2)
        if (group := self.stream.groups.get(Opcode.TCT)) is not None:
            kinds, which = np.unique(
                np.stack([group.fields[name] for name in _SYNC_FIELDS]), axis=1, return_inverse=True
            )
            for number, kind in enumerate(kinds.T.tolist()):
                positions = group.positions[which.reshape(-1) == number]
                for place in self._awaited(kind, positions):
                    found.add(positions, np.full(len(positions), place))
        positions, places = found.in_order()
        return positions, places

    def _awaited(self, kind: list[int], positions: Indices) -> Iterator[int]:
        """The channels that a wait is about."""
        column, row, direction, channel, columns, rows = kind
        for x in range(column, column + max(columns, 1)):
            for y in range(row, row + max(rows, 1)):
                place = self.registers.channel_place(x, y, direction, channel)
                if place is not None:
                    yield place
                    continue
                name = DmaDirection(direction).name if direction in tuple(DmaDirection) else f"direction {direction}"
                text = f"waits for a token of {name} {channel} of tile ({x}, {y}), "
                text += f"which {self.registers.model} does not have"
                level = LintLevel.WARNING if self.registers.is_beside(x, y) else LintLevel.ERROR
                self.found.add("no-such-channel", positions, lambda _, text=text: text, kind=tuple(kind), level=level)
                return

    def _check_tokens(
        self, positions: Indices, channels: Indices, values: Indices, known: Indices, waits: tuple[Indices, Indices]
    ) -> None:
        """Waits for more tokens than the tasks before them issue."""
        token = TaskQueue.enable_token_issue.mask
        # Where it is not known whether a task issues one, it may.
        issues = (values & token != 0) | (known & token != token)
        text = "waits for token {} of {}, and {} of its tasks before that issue one"
        for place in np.unique(waits[1]).tolist():
            asked = waits[0][waits[1] == place]
            given = np.searchsorted(positions[issues & (channels == place)], asked)
            worst = np.maximum.accumulate(np.maximum(np.arange(1, len(asked) + 1) - given, 0))
            # Where there is one too few, all later waits lack the same one.
            at = np.flatnonzero(np.diff(worst, prepend=0))
            self.found.add(
                "wait-without-token",
                asked[at],
                lambda n, at=at, given=given, place=place: text.format(
                    at[n] + 1, self._channel_name(place), given[at[n]]
                ),
                channels=np.full(len(at), place),
            )

    def _check_ends(self, positions: Indices, channels: Indices, waits: tuple[Indices, Indices]) -> None:
        """Tasks that bring data to the host, and that the stream does not wait for."""
        polls, polled = self.polls.in_order()
        # A descriptor may release a lock when it is through, which a poll then takes.
        lock_polls, lock_tiles = self.lock_polls.in_order()
        group = self.stream.groups.get(Opcode.MERGE_SYNC)
        merges = np.empty(0, dtype=np.int64) if group is None else group.positions
        text = "the last task on {} is pushed, and nothing waits for it"
        for place in np.unique(channels).tolist():
            if place & 1 != DmaDirection.S2MM or not self.registers.is_shim[place // CHANNELS]:
                continue
            last = positions[channels == place][-1:]
            ends = (
                waits[0][waits[1] == place],
                polls[polled == place],
                lock_polls[lock_tiles == place // CHANNELS],
                merges,
            )
            if not any((end > last).any() for end in ends):
                self.found.add(
                    "unfinished-transfer",
                    last,
                    lambda _, place=place: text.format(self._channel_name(place)),
                    channels=np.full(1, place),
                )

    def _check_patches(self, pushes: Indices, channels: Indices) -> None:
        """Addresses that are written again before anything is pushed on the tile."""
        positions, places = self.patches.in_order()
        keys, (writes, *_) = self._by_place[ADDRESS]
        if not len(writes) or not len(positions):
            return
        after = np.searchsorted(keys, places * self.most + positions, side="right")
        inside = np.minimum(after, len(writes) - 1)
        is_again = (after < len(writes)) & (keys[inside] // self.most == places)
        again, homes = writes[inside], places // DESCRIPTORS
        tasks = np.sort(channels // CHANNELS * self.most + pushes)
        between = np.searchsorted(tasks, homes * self.most + again)
        between -= np.searchsorted(tasks, homes * self.most + positions)
        lost = np.flatnonzero(is_again & (between == 0))
        text = "the address in BD {} of {} is patched, and operation {} writes it again before a task is pushed"

        def said(n: int) -> str:
            place = int(places[lost[n]])
            tile = tile_name(self.registers.model, self.registers.tiles[place // DESCRIPTORS])
            return text.format(place % DESCRIPTORS, tile, again[lost[n]])

        self.found.add("lost-patch", positions[lost], said, tiles=homes[lost])

    def _check_descriptors(self, positions: Indices, channels: Indices, values: Indices, known: Indices) -> None:
        """The descriptors that tasks begin with, and those that follow."""
        model, types = self.registers.model, self.registers.tile_types[channels // CHANNELS]
        for number, tile_type in enumerate(self.registers.types):
            tile = model.representative_tile(tile_type)
            start, count = model.registers(*tile).queue.start_bd_id, model.num_bds(*tile)
            bds = (values & start.mask) >> start.lo
            at = np.flatnonzero((types == number) & (known & start.mask == start.mask) & (bds < count))
            if not len(at):
                continue
            usable = np.array(
                [[model.is_bd_channel_accessible(*tile, bd, odd) for bd in range(count)] for odd in (0, 1)]
            )
            wrong = at[~usable[channels[at] >> 1 & 1, bds[at]]]
            self.found.add(
                "unreachable-descriptor",
                positions[wrong],
                lambda n, wrong=wrong, bds=bds: (
                    f"BD {bds[wrong[n]]} is pushed on {self._channel_name(channels[wrong[n]])}, which cannot use it"
                ),
                channels=channels[wrong],
            )
            self._check_valid(tile_type, positions[at], channels[at], bds[at])

    def _check_valid(self, tile_type: TileType, positions: Indices, channels: Indices, first: Indices) -> None:
        """Follow the chains of all tasks at once, a descriptor at a time."""
        (next_bd, use_next), valid = next_bd_fields(tile_type), BD_LAYOUTS[tile_type].fields["valid_bd"]
        count = self.registers.model.resources(tile_type).bds
        bds = first
        for _ in range(count):
            if not len(positions):
                break
            places = channels // CHANNELS * DESCRIPTORS + bds
            is_known, values = self._last_written(VALID, valid.mask, positions, places)
            wrong = np.flatnonzero(is_known & (values & valid.mask == 0))
            self.found.add(
                "invalid-descriptor",
                positions[wrong],
                lambda n, it=(channels[wrong], first[wrong], bds[wrong]): self._invalid(*(int(of[n]) for of in it)),
                channels=channels[wrong],
            )
            is_known, values = self._last_written(LINK, next_bd.mask | use_next.mask, positions, places)
            following = (values & next_bd.mask) >> next_bd.lo
            # A chain that comes back to where it began goes round in a circle.
            on = is_known & (values & use_next.mask != 0) & (following != first) & (following < count)
            positions, channels, first, bds = positions[on], channels[on], first[on], following[on]

    def _invalid(self, channel: int, first: int, bd: int) -> str:
        way = "" if bd == first else f", which leads to BD {bd},"
        return f"BD {first}{way} is pushed on {self._channel_name(channel)}, and BD {bd} is not marked valid"

    @cached_property
    def _by_place(self) -> dict[int, tuple[Indices, list[Indices]]]:
        """By role, what is written to words of descriptors: sorted by descriptor, then in order."""
        found = dict[int, tuple[Indices, list[Indices]]]()
        for role, events in self.words.items():
            columns = events.in_order()
            keys = columns[1] * self.most + columns[0]
            order = np.argsort(keys, kind="stable")
            found[role] = keys[order], [column[order] for column in columns]
        return found

    @cached_property
    def _unknown(self) -> Indices:
        """Operations after which descriptors may be anything: other images, and what is not known."""
        groups = self.stream.groups.items()
        kept = [group.positions for opcode, group in groups if opcode not in UNDERSTOOD or opcode == Opcode.LOADPDI]
        return np.sort(np.concatenate(kept)) if kept else np.empty(0, dtype=np.int64)

    def _last_written(self, role: int, mask: int, positions: Indices, places: Indices) -> tuple[Bools, Indices]:
        """What a word of a descriptor was last set to before an operation, and whether that is known."""
        keys, (written, _, values, known) = self._by_place[role]
        if not len(written):
            return np.zeros(len(positions), dtype=np.bool_), np.zeros(len(positions), dtype=np.int64)
        at = np.searchsorted(keys, places * self.most + positions) - 1
        inside = np.maximum(at, 0)
        is_known = (at >= 0) & (keys[inside] // self.most == places) & (known[inside] & mask == mask)
        if len(self._unknown):
            is_known &= np.searchsorted(self._unknown, written[inside]) == np.searchsorted(self._unknown, positions)
        return is_known, values[inside]
