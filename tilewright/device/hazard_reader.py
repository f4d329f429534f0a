"""What register writes, polls and waits mean for the tasks in flight: the part that IR and TXN words share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Generic, NamedTuple

from .bd import BD_LAYOUTS
from .dma_registers import ChannelRegister, DescriptorWord, DmaChannel, Role, descriptors_between, dma_register
from .enums import DmaDirection, TileType
from .hazards import BdName, Hazard, InFlight, O, Task
from .layout import WORD_BYTES, WORD_MASK, Field
from .model import DeviceModel, TileId
from .registers import ChannelControl, ChannelStatus

PATCHED_WORDS = 2  # an address patch, and an update from the scratchpad, change the low and the high part
QUEUE_SIZE, RUNNING = ChannelStatus.task_queue_size, ChannelStatus.channel_running


class Bits(NamedTuple):
    """A word of which the bits in `known` are known."""

    value: int
    known: int = WORD_MASK

    def get(self, field: Field) -> int | None:
        return (self.value & field.mask) >> field.lo if self.known & field.mask == field.mask else None


class HazardReader(Generic[O]):
    """Follows a program through the registers that it writes and waits for."""

    def __init__(self, model: DeviceModel):
        self.model, self.state = model, InFlight[O]()

    def write(self, origin: O, address: int, word: Bits, names: frozenset[BdName] = frozenset()) -> Iterator[Hazard[O]]:
        """Write a register. Where it starts a task whose descriptor is not known, `names` are what that may be."""
        match dma_register(self.model, address):
            case ChannelRegister(channel, Role.QUEUE):
                queue = self.model.registers(*channel.tile).queue
                issues_token = word.get(queue.enable_token_issue) != 0
                bd = word.get(queue.start_bd_id)
                yield from self.push(origin, channel, names if bd is None else frozenset({bd}), issues_token)
            case ChannelRegister(channel, Role.CONTROL) if self._resets(channel, word):
                self.state.reset(channel)
            case DescriptorWord() as found:
                yield from self.touch(origin, [found])
                self._link(found, word)
            case _:
                pass

    def write_block(self, origin: O, address: int, words: Sequence[int]) -> Iterator[Hazard[O]]:
        """Write consecutive registers."""
        found = [*descriptors_between(self.model, address, address + WORD_BYTES * len(words))]
        yield from self.touch(origin, found)
        for word in found:
            if word.word == _next_bd(self.model.tile_type(*word.tile))[0].word:
                at = self.model.bd_address(*word.tile, word.bd) + WORD_BYTES * word.word
                self._link(word, Bits(words[(at - address) // WORD_BYTES] & WORD_MASK))
        for index, value in enumerate(words) if not found else ():
            at = address + WORD_BYTES * index
            if isinstance(dma_register(self.model, at), ChannelRegister):
                yield from self.write(origin, at, Bits(value & WORD_MASK))

    def patch(self, origin: O, address: int) -> Iterator[Hazard[O]]:
        """Put another address into a descriptor."""
        end = address + WORD_BYTES * PATCHED_WORDS
        return self.touch(origin, descriptors_between(self.model, address, end))

    def touch(self, origin: O, words: Iterable[DescriptorWord]) -> Iterator[Hazard[O]]:
        """Change descriptors."""
        for tile, bd in dict.fromkeys((word.tile, word.bd) for word in words):
            yield from self.state.write(tile, frozenset({bd}), origin)

    def push(
        self,
        origin: O,
        channel: DmaChannel,
        first: frozenset[BdName],
        issues_token: bool,
        others: frozenset[BdName] = frozenset(),
    ) -> Iterator[Hazard[O]]:
        """Queue a task that starts with a descriptor, of whose names several are possible, and uses others."""
        (bd,) = first if len(first) == 1 else (None,)
        hazard = self.state.push(channel, Task(origin, first | others, issues_token), bd)
        if hazard is not None:
            yield hazard

    def poll(self, origin: O, address: int, value: int, mask: int) -> None:
        """Wait until a channel does not run, or has no task left in its queue; or for something else."""
        polled = Bits(value, mask)
        match dma_register(self.model, address):
            case ChannelRegister(channel, Role.STATUS) if polled.get(QUEUE_SIZE) == 0:
                self.state.wait_idle(channel, origin, running=0 if polled.get(RUNNING) == 0 else 1)
            case _:
                self.state.pace(origin)

    def wait(
        self, origin: O, *, column: int, row: int, direction: int, channel: int, columns: int = 1, rows: int = 1
    ) -> None:
        """Wait for a token of the same channel in one tile, or in all of a rectangle."""
        for x in range(column, min(column + max(columns, 1), self.model.columns)):
            for y in range(row, min(row + max(rows, 1), self.model.rows)):
                if direction in tuple(DmaDirection):
                    self.state.wait(DmaChannel(TileId(x, y), DmaDirection(direction), channel), origin)

    def forget(self) -> None:
        """Another image of the whole device is loaded."""
        self.state = InFlight[O]()

    def _link(self, word: DescriptorWord, bits: Bits) -> None:
        """Note where the DMA goes on to, if that is what the word says."""
        next_bd, use_next = _next_bd(self.model.tile_type(*word.tile))
        if word.word == next_bd.word and (has_next := bits.get(use_next)) is not None:
            self.state.link(word.tile, word.bd, bits.get(next_bd) if has_next else None)

    def _resets(self, channel: DmaChannel, word: Bits) -> bool:
        control = self.model.registers(*channel.tile).channel_control
        return issubclass(control, ChannelControl) and word.get(control.reset) == 1


@cache
def _next_bd(tile_type: TileType) -> tuple[Field, Field]:
    """The number of the next descriptor in a descriptor, and whether there is one; both are in the same word."""
    fields = BD_LAYOUTS[tile_type].fields
    return fields["next_bd"], fields["use_next_bd"]
