"""Intent of a stream: which channel moves which pattern of which memory, in which order, with which waits.

Descriptors, addresses of arguments and pushes become transfers: a descriptor is what it was when its task was pushed.
All else stays a step of its own, such as data for the memory of a core, or a wait for a register.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.descriptors import BdLock, BufferDescriptor, read_descriptor
from tilewright.device.dma_registers import (
    ChannelId,
    ChannelRegister,
    ChannelRegisterRole,
    DescriptorWord,
    dma_register,
)
from tilewright.device.hazards import RUNNING, Bits, most_queued
from tilewright.device.layout import WORD_BYTES
from tilewright.device.register_names import name_address, short_tile_name
from tilewright.txn.codec import lay_out
from tilewright.txn.containers import Patch, PatchKind
from tilewright.txn.opcodes import FOLDED_OFFSET, Opcode, opcode_name
from tilewright.txn.register_text import MOST_ADDRESSES, Kept, level_text, register_texts
from tilewright.txn.stream import Operation, Stream, TxnError, layouts_of
from tilewright.txn.text import model_of, operation_text

UNKNOWN = "from before"
"""Said of a descriptor that the stream does not write."""
MORE_PARTS = "part "
"""The beginning of facts about descriptors after the first."""
MOST_LOOKED_AT = 1024
"""Words of a block: no DMA has more registers in a row."""


class StepKind(Enum):
    """What a step of a stream is for."""

    TRANSFER = "transfer"
    WAIT = "wait"
    DATA = "data"
    SETTING = "setting"
    OTHER = "other"


@dataclass(frozen=True)
class HostPlace:
    """A place in an argument of the stream."""

    argument: int
    offset: int

    def __str__(self) -> str:
        return f"argument {self.argument} + {self.offset}"


@dataclass(frozen=True)
class TransferPart:
    """One descriptor of a transfer, as it was when the task was pushed."""

    bd: int
    descriptor: BufferDescriptor | None
    """None where the stream does not write it."""
    host: HostPlace | None = None

    @property
    def words(self) -> int:
        return self.descriptor.length if self.descriptor else 0


@dataclass
class Step:
    """One thing that a stream does; `operation` is the number of the operation that brings it about."""

    operation: int
    kind: StepKind
    place: str
    """`core(0,2)`, or empty."""
    text: str
    """What is done there; `{}` stands for an offset into an argument."""
    key: tuple[Hashable, ...]
    """The same for steps of two streams that may be compared; what it is about comes last."""
    details: dict[str, int | str] = field(default_factory=dict[str, int | str])
    offset: int | None = None
    data: Sequence[int] = ()
    """The words of a block that goes somewhere else than to a DMA."""

    def facts(self) -> dict[str, int | str]:
        """What may differ between two steps of one key."""
        return self.details

    @property
    def sentence(self) -> str:
        said = self.text if self.offset is None else self.text.replace("{}", str(self.offset))
        return f"{self.place} {said}".strip()

    def to_json(self) -> dict[str, Any]:
        return {"operation": self.operation, "kind": self.kind.value, "text": self.sentence, **self.details}


@dataclass
class TransferStep(Step):
    """A task of a channel."""

    channel: ChannelId = field(kw_only=True)
    parts: tuple[TransferPart, ...] = field(kw_only=True)
    repeat: int = field(kw_only=True)
    has_token: bool = field(kw_only=True)
    done_by: int | None = field(default=None, kw_only=True)
    """The operation after which it is known to be done."""

    @property
    def words(self) -> int:
        return self.repeat * sum(part.words for part in self.parts)

    def facts(self) -> dict[str, int | str]:
        return dict(_transfer_facts(self.parts, self.repeat, self.has_token))

    def to_json(self) -> dict[str, Any]:
        column, row = self.channel.tile
        return super().to_json() | {
            "tile": [column, row],
            "channel": self.channel.short_name,
            "words": self.words,
            "descriptors": [_part_json(part) for part in self.parts],
            "repeat": self.repeat,
            "token": self.has_token,
            "done_by": self.done_by,
        }


@dataclass
class Intent:
    """A stream as steps."""

    model: DeviceModel
    steps: list[Step]
    unused: int
    """Descriptors that were written, and that no transfer of the stream uses."""

    @property
    def transfers(self) -> list[TransferStep]:
        return [step for step in self.steps if isinstance(step, TransferStep)]

    def to_json(self) -> dict[str, Any]:
        steps = [step.to_json() for step in self.steps]
        return {"device": str(self.model), "steps": steps, "unused_descriptors": self.unused}


def intent_of(stream: Stream, patches: Sequence[Patch] = ()) -> Intent:
    """What a stream is for; TxnError where its header names no device that is known.

    Args:
        stream: the operations
        patches: where a host puts addresses of buffers into the words of the stream, as ELF files say it
    """
    model = model_of(stream.header)
    if model is None:
        raise TxnError(0, "the header describes no device that is known, so its registers are not either")
    return _Reader(stream, model, patches).read()


class _Reader:
    """Keeps descriptors as a stream writes them, and follows the tasks of channels."""

    def __init__(self, stream: Stream, model: DeviceModel, patches: Sequence[Patch]):
        self.stream, self.model, self.layouts = stream, model, layouts_of(stream.header)
        self.texts = register_texts(model.name)
        self.found = Kept[int, DescriptorWord | ChannelRegister | None](
            lambda address: dma_register(model, address), MOST_ADDRESSES
        )
        self.registers: dict[int, int] = {}
        self.hosts: dict[tuple[TileId, int], HostPlace] = {}
        self.fresh: set[tuple[TileId, int]] = set()
        """Descriptors that were written and not used since."""
        self.unused = 0
        self.steps: list[Step] = []
        self.running = defaultdict[ChannelId, list[TransferStep]](list)
        """Tasks that may not be done."""
        self.loaded = defaultdict[int, list[tuple[int, HostPlace]]](list)
        """By operation: registers that get an address from the host that loads the stream."""
        for patch in patches:
            self._load(patch)

    def _load(self, patch: Patch) -> None:
        if patch.kind is not PatchKind.SHIM_DMA_48 or patch.argument is None:
            return
        starts, _ = lay_out(self.stream)
        word = patch.first_word
        number = int(np.searchsorted(starts, word, side="right")) - 1
        op = self.stream.operations[number] if number >= 0 else None
        if op is None or op.opcode != Opcode.BLOCKWRITE:
            return
        index = word - int(starts[number]) - self.layouts[op.opcode].fixed_words
        if 0 <= index < len(op.payload):
            place = HostPlace(patch.argument, int(op.payload[index]) + patch.addend)
            self.loaded[number].append((op.address + WORD_BYTES * index, place))

    def read(self) -> Intent:
        for number, op in enumerate(self.stream.operations):
            match op.opcode:
                case Opcode.WRITE:
                    self._write(number, op, op.address, op.value)
                case Opcode.MASKWRITE:
                    held = self.registers.get(op.address, 0)
                    self._write(number, op, op.address, held & ~op.mask | op.value & op.mask)
                case Opcode.BLOCKWRITE:
                    self._block(number, op)
                case Opcode.DDR_PATCH:
                    self._patch(number, op)
                case Opcode.TCT:
                    self._wait(number, op)
                case Opcode.MASKPOLL | Opcode.MASKPOLL_BUSY:
                    self._poll(number, op)
                case _:
                    self._other(number, op)
        return Intent(self.model, self.steps, self.unused + len(self.fresh))

    def _write(self, number: int, op: Operation, address: int, value: int) -> None:
        match self.found[address]:
            case DescriptorWord() as found:
                self._descriptor_word(found, address, value)
            case ChannelRegister(channel, ChannelRegisterRole.QUEUE):
                self._push(number, channel, value)
            case _:
                self.registers[address] = value
                self._setting(number, op)

    def _descriptor_word(self, found: DescriptorWord, address: int, value: int) -> None:
        self.registers[address] = value
        place = found.tile, found.bd
        if found.word == self.model.registers(*found.tile).bd_address_word:
            self.hosts.pop(place, None)
        self.fresh.add(place)

    def _block(self, number: int, op: Operation) -> None:
        payload: list[int] = op.payload.tolist()
        words = [self.found[op.address + WORD_BYTES * index] for index in range(min(len(payload), MOST_LOOKED_AT))]
        if any(isinstance(word, DescriptorWord) for word in words):
            for index, (found, value) in enumerate(zip(words, payload, strict=False)):
                if isinstance(found, DescriptorWord):
                    if found.word == 0 and (found.tile, found.bd) in self.fresh:
                        self.unused += 1
                    self._descriptor_word(found, op.address + WORD_BYTES * index, value)
            for address, place in self.loaded.get(number, ()):
                if isinstance(found := self.found[address], DescriptorWord):
                    self.hosts[found.tile, found.bd] = place
        elif any(isinstance(word, ChannelRegister) for word in words):
            for index, value in enumerate(payload):
                self._write(number, op, op.address + WORD_BYTES * index, value)
        else:
            self._data(number, op.address, payload)

    def _patch(self, number: int, op: Operation) -> None:
        found = self.found[op.address]
        if isinstance(found, DescriptorWord):
            self.hosts[found.tile, found.bd] = HostPlace(op.argument_index, op.argument_offset & ~FOLDED_OFFSET)
            self.fresh.add((found.tile, found.bd))
        else:
            self._other(number, op)

    def _push(self, number: int, channel: ChannelId, value: int) -> None:
        task = self.model.registers(*channel.tile).queue.decode([value])
        parts = tuple(self._chain(channel.tile, task["start_bd_id"]))
        repeat, has_token = task["repeat_count"], bool(task["enable_token_issue"])
        offset = next((part.host.offset for part in parts if part.host is not None), None)
        step = TransferStep(
            number,
            StepKind.TRANSFER,
            short_tile_name(self.model, channel.tile),
            _transfer_text(channel.direction, channel.number, parts, repeat, has_token),
            (StepKind.TRANSFER, channel),
            offset=offset,
            channel=channel,
            parts=parts,
            repeat=repeat,
            has_token=has_token,
        )
        self.steps.append(step)
        self.running[channel].append(step)

    def _chain(self, tile: TileId, first: int) -> Iterator[TransferPart]:
        at: int | None = first
        seen = set[int]()
        tile_type = self.model.tile_type(*tile)
        # a stream that is damaged may name a descriptor that a tile does not have
        while at is not None and at not in seen and at < self.model.num_bds(*tile):
            seen.add(at)
            self.fresh.discard((tile, at))
            start = self.model.bd_address(*tile, at)
            addresses = [start + WORD_BYTES * word for word in range(BD_LAYOUTS[tile_type].words)]
            if not any(address in self.registers for address in addresses):
                yield TransferPart(at, None, self.hosts.get((tile, at)))
                return
            found = read_descriptor(tile_type, [self.registers.get(address, 0) for address in addresses])
            yield TransferPart(at, found, self.hosts.get((tile, at)))
            at = found.next

    def _wait(self, number: int, op: Operation) -> None:
        text = next(self.texts.phrases(op.opcode, {n: [v] for n, v in op.fields.items()}, [[]]))
        if text is None:
            self._other(number, op)
            return
        done = list[int]()
        for column in range(op.column, min(op.column + max(op.column_count, 1), self.model.columns)):
            for row in range(op.row, min(op.row + max(op.row_count, 1), self.model.rows)):
                done += self._token(number, ChannelId(TileId(column, row), DmaDirection(op.direction), op.channel))
        _, place, channel = text.split(" ", 2)
        said = f"{channel}: wait for a token" + ("" if done else ", which nothing here has sent")
        key = (StepKind.WAIT, place, channel)
        self.steps.append(Step(number, StepKind.WAIT, place, said, key, {"awaits": len(done)}))

    def _token(self, number: int, channel: ChannelId) -> list[int]:
        """Tasks are done up to the first with a token."""
        tasks = self.running[channel]
        first = next((index for index, task in enumerate(tasks) if task.has_token), None)
        return [] if first is None else self._finish(number, channel, first + 1)

    def _finish(self, number: int, channel: ChannelId, count: int) -> list[int]:
        done, self.running[channel] = self.running[channel][:count], self.running[channel][count:]
        for task in done:
            task.done_by = number
        return [task.operation for task in done]

    def _poll(self, number: int, op: Operation) -> None:
        polled, said = Bits(op.value, op.mask), ""
        match self.found[op.address]:
            case ChannelRegister(channel, ChannelRegisterRole.STATUS) if (most := most_queued(polled)) is not None:
                is_running = most > 0 or polled.get(RUNNING) != 0
                self._finish(number, channel, max(len(self.running[channel]) - most - is_running, 0))
                place, name = short_tile_name(self.model, channel.tile), f"{channel.direction.name}{channel.number}"
                what = f"at most {most} tasks are queued" if most else "no task is queued"
                said = f"{name}: wait until {what}" + ("" if is_running else " or running")
            case _:
                place, name = self._place(op.address)
                bits = "all its bits" if op.mask == 0xFFFFFFFF else f"bits {op.mask:#x}"
                said = f"wait until {name} has {op.value:#x} in {bits}"
        key = (StepKind.WAIT, place, name)
        self.steps.append(Step(number, StepKind.WAIT, place, said, key, {"value": op.value, "mask": op.mask}))

    def _place(self, address: int) -> tuple[str, str]:
        name = name_address(self.model, address)
        if name is None:
            return "", f"{address:#010x}"
        place, _, register = name.partition(" ")
        return place, register

    def _data(self, number: int, address: int, words: list[int]) -> None:
        place, name = self._place(address)
        text, key = f"gets {len(words)} words at {name}", (StepKind.DATA, place, name)
        self.steps.append(Step(number, StepKind.DATA, place, text, key, {"words": len(words)}, data=words))

    def _setting(self, number: int, op: Operation) -> None:
        place, name = self._place(op.address)
        columns = {key: [value] for key, value in op.fields.items()}
        said = next(self.texts.phrases(op.opcode, columns, [[]]))
        fields = said.partition(": ")[2] if said else f"{op.value:#x}"
        facts: dict[str, int | str] = {"value": op.value, "mask": op.fields.get("mask", 0xFFFFFFFF)}
        self.steps.append(
            Step(number, StepKind.SETTING, place, f"{name} = {fields}", (StepKind.SETTING, place, name), facts)
        )

    def _other(self, number: int, op: Operation) -> None:
        text = operation_text(op, self.layouts[op.opcode], self.model).partition(" {")[0]
        facts: dict[str, int | str] = {name: value for name, value in op.fields.items() if "pad" not in name}
        key = (StepKind.OTHER, opcode_name(op.opcode))
        self.steps.append(Step(number, StepKind.OTHER, "", text, key, facts))


def _transfer_text(
    direction: DmaDirection, channel: int, parts: tuple[TransferPart, ...], repeat: int, has_token: bool
) -> str:
    verbs = ("writes", "receives") if direction is DmaDirection.S2MM else ("reads", "sends")
    said = list[str]()
    for part in parts:
        found, host = part.descriptor, part.host
        if found is None:
            said.append(f"{verbs[1]} what BD{part.bd} says ({UNKNOWN})")
            continue
        what = f"{found.length} words"
        if host is not None:
            # the first place of a transfer stands apart, so that transfers that differ in it alone are alike
            offset = "{}" if not said else str(host.offset)
            place = f"{verbs[0]} {what} of argument {host.argument} from byte {offset}"
        else:
            place = f"{verbs[1]} {what} at {found.base:#x}"
        said.append(place + _pattern_text(found))
    if not parts:
        said.append(f"{verbs[1]} what a descriptor says that there is none of")
    times = f", {repeat} times" if repeat > 1 else ""
    circle = ", round and round" if parts and parts[-1].descriptor and parts[-1].descriptor.next is not None else ""
    return f"{direction.name}{channel} {'; then '.join(said)}{circle}{times}{', with a token' if has_token else ''}"


@lru_cache(maxsize=4096)
def _pattern_text(found: BufferDescriptor) -> str:
    return "".join(f", {text}" for text in _pattern(found))


def _pattern(found: BufferDescriptor) -> Iterator[str]:
    """What is special about the words of a descriptor."""
    for number, level in enumerate(found.dimensions):
        if text := level_text(f"d{number}", level.wrap, level.step):
            yield text
        if level.pad_before or level.pad_after:
            yield f"padded by {level.pad_before} and {level.pad_after}"
    if found.iterations > 1:
        yield f"{found.iteration_step} words further each of {found.iterations} times"
    if found.packet:
        yield f"in packets {found.packet.id}"
    if found.acquire:
        yield f"after lock {found.acquire.number} {_wanted(found.acquire)}"
    if found.release:
        yield f"then lock {found.release.number} {found.release.value:+d}"
    if not found.valid:
        yield "invalid"


def _wanted(lock: BdLock) -> str:
    return f">= {-lock.value}" if lock.value < 0 else f"== {lock.value}"


def _transfer_facts(parts: tuple[TransferPart, ...], repeat: int, has_token: bool) -> Iterator[tuple[str, int | str]]:
    yield "repeat", repeat
    yield "token", int(has_token)
    yield "descriptors", len(parts)
    for number, part in enumerate(parts):
        prefix = f"{MORE_PARTS}{number} " if number else ""
        if part.host is not None:
            yield f"{prefix}argument", part.host.argument
            yield f"{prefix}offset", part.host.offset
        found = part.descriptor
        if found is None:
            yield f"{prefix}BD", f"{part.bd} {UNKNOWN}"
            continue
        yield f"{prefix}length", found.length
        if part.host is None:
            yield f"{prefix}address", found.base
        for level, dimension in enumerate(found.dimensions):
            for name in ("wrap", "step", "pad_before", "pad_after"):
                label = "stride" if name == "step" else "size" if name == "wrap" else name.replace("_", " ")
                yield f"{prefix}d{level} {label}", getattr(dimension, name)
        yield f"{prefix}iterations", found.iterations
        yield f"{prefix}iteration stride", found.iteration_step
        yield f"{prefix}packet", "none" if found.packet is None else found.packet.id
        for name, lock in (("acquire", found.acquire), ("release", found.release)):
            yield f"{prefix}{name}", "none" if lock is None else f"lock {lock.number} by {lock.value}"
        yield f"{prefix}valid", int(found.valid)


def _part_json(part: TransferPart) -> dict[str, Any]:
    found = part.descriptor
    json: dict[str, Any] = {"bd": part.bd, "host": None if part.host is None else vars(part.host)}
    if found is None:
        return json | {"known": False}
    return json | {
        "known": True,
        "words": found.length,
        "address": found.base,
        "pattern": [[level.wrap, level.step] for level in found.dimensions],
        "iterations": [found.iterations, found.iteration_step],
        "packet": None if found.packet is None else vars(found.packet),
        "acquire": None if found.acquire is None else vars(found.acquire),
        "release": None if found.release is None else vars(found.release),
        "next": found.next,
    }
