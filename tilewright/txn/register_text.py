"""Registers by name and field, as text that says the same as their words, and back.

    shim(0,0) BD3: length 4096, d0 4x64, next BD4, acquire lock 2 >= 1
    shim(0,0) BD3: address is argument 0 + 128
    shim(0,0) MM2S0: push BD3, 4 times, token
    wait shim(0,0) S2MM0
    maskpoll shim(0,0) DMA.MM2S0.status: task_queue_size 0, channel_running 0

Lengths and steps count 32-bit words, addresses bytes. `d0 4x64` is 4 steps of 64; without the 4 it never wraps. Bits
that have no name stand behind as `word5 0x20000`. What has no such form stays an operation with numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeVar

from tilewright.device import DEVICES, DeviceModel, DeviceName, DmaDirection, TileId, TileType
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.dma_registers import ChannelRegister, ChannelRegisterRole, DescriptorWord, dma_register
from tilewright.device.layout import WORD_BYTES, WORD_MASK, Field, Layout
from tilewright.device.register_fields import layout_at
from tilewright.device.register_names import find_address, name_address, read_tile, short_tile_name
from tilewright.device.registers import MasterPort, PacketMasterPort, TaskQueue
from tilewright.txn.opcodes import Opcode

K = TypeVar("K")
V = TypeVar("V")
MOST_VALUES, MOST_ADDRESSES = 1 << 12, 1 << 16
"""Of a register, and of a device, whose text is kept."""
PIECE = ", "
NEXT_DESCRIPTOR = "; "


class Kept(dict[K, V]):
    """What a function gives, kept for so many keys: streams repeat few, and one that does not must not fill memory."""

    def __init__(self, make: Callable[[K], V], most: int):
        super().__init__()
        self.make, self.most = make, most

    def __missing__(self, key: K) -> V:
        found = self.make(key)
        if len(self) >= self.most:
            self.clear()  # what comes next is more like what came last
        self[key] = found
        return found


Values: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class FieldPhrase:
    """Fields that are said together: how, and the pattern that reads them back."""

    fields: tuple[str, ...]
    say: Callable[[Values], str | None]
    """The empty text where all of them are as they are without; None where each has to be said for itself."""
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], dict[str, int]]


_N = r"(\d+|0x[0-9a-f]+)"


def _phrase(
    fields: Sequence[str],
    pattern: str,
    say: Callable[[Values], str | None],
    read: Callable[[re.Match[str]], dict[str, int]],
) -> FieldPhrase:
    return FieldPhrase(tuple(fields), say, re.compile(pattern), read)


def _number(text: str | None) -> int:
    return int(text or "0", 0)


def level_text(level: str, wrap: int, step: int) -> str:
    """`d0 4x64`; empty for a level that goes on word by word."""
    return f"{level} {wrap or ''}x{step}" if (wrap, step) != (0, 1) else ""


def _level(level: str) -> FieldPhrase:
    """Steps of one level of an address pattern."""
    wrap, step = f"{level}_wrap", f"{level}_step"

    def say(values: Values) -> str:
        return level_text(level, values.get(wrap, 0), values[step])

    def read(found: re.Match[str]) -> dict[str, int]:
        return ({wrap: _number(found[1])} if found[1] else {}) | {step: _number(found[2])}

    return _phrase((wrap, step), rf"{level} (\d*)x(\d+)", say, read)


def _padding(level: str) -> FieldPhrase:
    names = f"{level}_zero_before", f"{level}_zero_after"

    def say(values: Values) -> str:
        before, after = (values[name] for name in names)
        return f"pad {level} {before}+{after}" if before or after else ""

    def read(found: re.Match[str]) -> dict[str, int]:
        return {names[0]: _number(found[1]), names[1]: _number(found[2])}

    return _phrase(names, rf"pad {level} (\d+)\+(\d+)", say, read)


def _iteration(values: Values) -> str:
    count, step, at = (values[f"iteration_{name}"] for name in ("wrap", "step", "current"))
    if (count, step, at) == (1, 1, 0):
        return ""
    return f"iteration {count}x{step}" + (f" at {at}" if at else "")


def _acquire(values: Values) -> str | None:
    if not values["lock_acq_enable"]:
        return None
    value = values["lock_acq_value"]
    return f"acquire lock {values['lock_acq_id']} {'>=' if value < 0 else '=='} {abs(value)}"


def _release(values: Values) -> str | None:
    value = values["lock_rel_value"]
    return f"release lock {values['lock_rel_id']} {'-' if value < 0 else '+'} {abs(value)}" if value else None


def _host_address(values: Values) -> str:
    address = values["address_high"] << 32 | values["address_low"]
    return f"address {address:#x}" if address else ""


def _tile_address(values: Values) -> str:
    return f"address {values['address'] * WORD_BYTES:#x}" if values["address"] else ""


def _read_tile_address(found: re.Match[str]) -> dict[str, int]:
    if _number(found[1]) % WORD_BYTES:
        raise ValueError(f"addresses inside tiles are multiples of {WORD_BYTES}, got {found[1]}")
    return {"address": _number(found[1]) // WORD_BYTES}


_SIGNS = {"+": 1, "-": -1, "==": 1, ">=": -1}
_DESCRIPTOR_PHRASES = (
    _phrase(
        ["buffer_length"],
        f"length {_N}",
        lambda values: f"length {values['buffer_length']}",
        lambda found: {"buffer_length": _number(found[1])},
    ),
    _phrase(["address"], f"address {_N}", _tile_address, _read_tile_address),
    _phrase(
        ["address_low", "address_high"],
        f"address {_N}",
        _host_address,
        lambda found: {"address_low": _number(found[1]) & WORD_MASK, "address_high": _number(found[1]) >> 32},
    ),
    _phrase(
        ["enable_packet", "packet_id", "packet_type"],
        r"packet (\d+) type (\d+)",
        lambda v: f"packet {v['packet_id']} type {v['packet_type']}" if v["enable_packet"] else None,
        lambda found: {"enable_packet": 1, "packet_id": _number(found[1]), "packet_type": _number(found[2])},
    ),
    *(_level(f"d{number}") for number in range(4)),
    *(_padding(f"d{number}") for number in range(3)),
    _phrase(
        ["iteration_wrap", "iteration_step", "iteration_current"],
        r"iteration (\d+)x(\d+)(?: at (\d+))?",
        _iteration,
        lambda found: {
            f"iteration_{name}": _number(found[group])
            for group, name in enumerate(("wrap", "step", "current"), start=1)
        },
    ),
    _phrase(
        ["use_next_bd", "next_bd"],
        r"next BD(\d+)",
        lambda values: f"next BD{values['next_bd']}" if values["use_next_bd"] else None,
        lambda found: {"use_next_bd": 1, "next_bd": _number(found[1])},
    ),
    _phrase(
        ["lock_acq_enable", "lock_acq_id", "lock_acq_value"],
        r"acquire lock (\d+) (==|>=) (\d+)",
        _acquire,
        lambda found: {
            "lock_acq_enable": 1,
            "lock_acq_id": _number(found[1]),
            "lock_acq_value": _SIGNS[found[2]] * _number(found[3]),
        },
    ),
    _phrase(
        ["lock_rel_id", "lock_rel_value"],
        r"release lock (\d+) ([-+]) (\d+)",
        _release,
        lambda found: {"lock_rel_id": _number(found[1]), "lock_rel_value": _SIGNS[found[2]] * _number(found[3])},
    ),
    _phrase(
        ["valid_bd"],
        "invalid",
        lambda values: "" if values["valid_bd"] else "invalid",
        lambda found: {"valid_bd": 0},
    ),
)
_QUEUE_PHRASES = (
    _phrase(
        ["start_bd_id"],
        r"push BD(\d+)",
        lambda values: f"push BD{values['start_bd_id']}",
        lambda found: {"start_bd_id": _number(found[1])},
    ),
    _phrase(
        ["repeat_count"],
        r"(\d+) times",
        lambda values: f"{values['repeat_count']} times" if values["repeat_count"] > 1 else "",
        lambda found: {"repeat_count": _number(found[1])},
    ),
    _phrase(
        ["enable_token_issue"],
        "token",
        lambda values: "token" if values["enable_token_issue"] else "",
        lambda found: {"enable_token_issue": 1},
    ),
)


class PieceBits(NamedTuple):
    """The bits of a word that a piece of text gives."""

    word: int
    mask: int
    bits: int


class LayoutText:
    """The words of a layout as text. A piece depends on few words, so texts of these few are kept."""

    def __init__(self, layout: type[Layout], phrases: Sequence[FieldPhrase] = (), only: int | None = None):
        self.layout, self.only = layout, only
        """With `only`, the text is of one word of the layout."""
        self.fields = {name: field for name, field in _leaves(layout).items() if only is None or field.word == only}
        self.phrases = [p for p in phrases if p.fields[-1] in self.fields]
        self.spoken = {name for phrase in self.phrases for name in phrase.fields}
        masks = [0] * layout.words
        for field in self.fields.values():
            masks[field.word] |= field.mask
        self.masks = masks
        self.defaults = layout.pack(**({"valid_bd": 1} if "valid_bd" in self.spoken else {}))
        self._units: list[tuple[tuple[int, ...], Kept[tuple[int, ...], str]]] = [
            (words, Kept(self._saying(words), MOST_VALUES)) for words in self._word_groups()
        ]
        self._pieces = Kept[str, tuple[PieceBits, ...]](self._read_piece, MOST_ADDRESSES)

    def _word_groups(self) -> list[tuple[int, ...]]:
        """Words that some phrase wants to see together."""
        groups = [{word} for word in range(self.layout.words)]
        wishes = [phrase.fields for phrase in self.phrases]
        # levels of a pattern stand beside each other, whatever words they are in
        wishes.append(tuple(name for name in self.spoken if re.match(r"d\d_", name)))
        for names in wishes:
            wanted = {self.fields[name].word for name in names if name in self.fields}
            joined = set[int]().union(*(group for group in groups if group & wanted))
            groups = [group for group in groups if not group & wanted] + [joined]
        return sorted(tuple(sorted(group)) for group in groups)

    def _saying(self, group: tuple[int, ...]) -> Callable[[tuple[int, ...]], str]:
        fields = {name: field for name, field in self.fields.items() if field.word in group}
        phrases = [p for p in self.phrases if p.fields[-1] in fields]

        def say(held: tuple[int, ...]) -> str:
            words = [0] * self.layout.words
            for word, value in zip(group, held, strict=True):
                words[word] = value
            return PIECE.join(self._pieces_of(words, group, fields, phrases))

        return say

    def _pieces_of(
        self, words: list[int], group: tuple[int, ...], fields: Mapping[str, Field], phrases: Sequence[FieldPhrase]
    ) -> Iterator[str]:
        values = {name: field.get(words) for name, field in fields.items()}
        left = {name: field for name, field in fields.items() if words[field.word] & field.mask}
        for phrase in phrases:
            if (text := phrase.say(values)) is not None:
                for name in phrase.fields:
                    left.pop(name, None)
                if text:
                    yield text
        for name, field in left.items():
            yield name if field.width == 1 else f"{name} {values[name]}"
        for word in group:
            if rest := words[word] & ~self.masks[word]:
                yield f"word{word} {rest:#x}"

    def say(self, words: Sequence[int]) -> str:
        """What the words say."""
        units = [texts[tuple([words[word] for word in group])] for group, texts in self._units]
        return PIECE.join(filter(None, units))

    def read(self, text: str) -> list[int]:
        """The words that say this; ValueError where nothing is said like that."""
        words, taken = [*self.defaults], [0] * self.layout.words
        for piece in text.split(PIECE):
            for word, mask, bits in self._pieces[piece]:
                if taken[word] & mask:
                    raise ValueError(f"{piece.strip()!r}: its bits were given before")
                taken[word] |= mask
                words[word] = words[word] & ~mask | bits
        return words

    def mask_of(self, text: str) -> int:
        """The bits of the only word that are said."""
        return sum(part.mask for piece in text.split(PIECE) for part in self._pieces[piece])

    def _read_piece(self, piece: str) -> tuple[PieceBits, ...]:
        text = " ".join(piece.split())
        for phrase in self.phrases:
            if found := phrase.pattern.fullmatch(text):
                return tuple(self._bits(name, value) for name, value in phrase.read(found).items())
        if found := re.fullmatch(r"word(\d+) (0x[0-9a-f]+|\d+)", text):
            return (self._unnamed(_number(found[1]), _number(found[2])),)
        name, _, value = text.partition(" ")
        if name in self.fields and (not value or re.fullmatch(r"-?\d+", value)):
            return (self._bits(name, int(value or "1")),)
        known = PIECE.join(sorted(self.fields))
        raise ValueError(f"nothing is called {piece.strip()!r} here; its fields are {known}")

    def _bits(self, name: str, value: int) -> PieceBits:
        if name not in self.fields:
            raise ValueError(f"there is no {name} here")
        field = self.fields[name]
        return PieceBits(field.word, field.mask, field.place(value))

    def _unnamed(self, word: int, bits: int) -> PieceBits:
        if word >= self.layout.words or bits & ~WORD_MASK or bits & self.masks[word]:
            raise ValueError(f"word{word} {bits:#x}: these bits have names, or are no bits of a word here")
        return PieceBits(word, bits, bits)

    def said_bits(self, value: int, mask: int) -> str | None:
        """All fields that a mask covers, those of value 0 too; None if it covers parts, or if the value has more."""
        covered = {name: field for name, field in self.fields.items() if mask & field.mask}
        if value & ~mask or not mask or sum(field.mask for field in covered.values()) != mask:
            return None
        words = [0] * self.layout.words
        if self.only is not None:
            words[self.only] = value
        return PIECE.join(f"{name} {field.get(words)}" for name, field in covered.items())


def _leaves(layout: type[Layout]) -> dict[str, Field]:
    """Fields that are not divided into others."""
    fields = layout.fields.values()
    return {
        name: field
        for name, field in layout.fields.items()
        if not any(it.word == field.word and it.mask & field.mask and it.width < field.width for it in fields)
    }


@cache
def descriptor_text(tile_type: TileType) -> LayoutText:
    """Descriptors of a kind of tile."""
    return LayoutText(BD_LAYOUTS[tile_type], _DESCRIPTOR_PHRASES)


@cache
def _queue_text(layout: type[TaskQueue]) -> LayoutText:
    return LayoutText(layout, _QUEUE_PHRASES)


@cache
def _word_text(layout: type[Layout], word: int) -> LayoutText:
    return LayoutText(layout, only=word)


class DescriptorBlock(NamedTuple):
    """Whole descriptors that a block of words covers."""

    name: str
    text: LayoutText
    descriptors: int


class RegisterTexts:
    """Operations on the registers of one device."""

    def __init__(self, model: DeviceModel):
        self.model = model
        self._blocks = Kept[tuple[int, int], DescriptorBlock | None](self._find_block, MOST_ADDRESSES)
        self._writes = Kept[tuple[int, int], str | None](self._write, MOST_ADDRESSES)
        self._masked = Kept[tuple[int, int, int], str | None](self._masked_text, MOST_ADDRESSES)
        self._patched = Kept[int, str | None](self._patched_descriptor, MOST_ADDRESSES)
        self._waits = Kept[tuple[int, ...], str | None](self._wait, MOST_VALUES)
        self._addresses = Kept[str, int](lambda name: find_address(model, name), MOST_ADDRESSES)
        self._lines = Kept[str, RegisterOperation | None](self._read, MOST_ADDRESSES)

    def phrases(self, opcode: int, columns: Mapping[str, list[int]], payloads: list[list[int]]) -> Iterator[str | None]:
        """What operations of an opcode say, None for those that have numbers only."""
        match opcode:
            case Opcode.BLOCKWRITE:
                return map(self._block, columns["address"], payloads)
            case Opcode.WRITE:
                return map(self._writes.__getitem__, zip(columns["address"], columns["value"], strict=True))
            case Opcode.MASKWRITE | Opcode.MASKPOLL | Opcode.MASKPOLL_BUSY:
                mnemonic = Opcode(opcode).name.lower()
                parts = zip(columns["address"], columns["value"], columns["mask"], strict=True)
                found = map(self._masked.__getitem__, parts)
                return (None if text is None else f"{mnemonic} {text}" for text in found)
            case Opcode.DDR_PATCH:
                names = map(self._patched.__getitem__, columns["address"])
                parts = zip(names, columns["argument_index"], columns["argument_offset"], strict=True)
                return (
                    None if name is None else f"{name}: address is argument {index} + {offset}"
                    for name, index, offset in parts
                )
            case _:
                names = ("column", "row", "direction", "channel", "column_count", "row_count")
                return map(self._waits.__getitem__, zip(*(columns[name] for name in names), strict=True))

    def _block(self, address: int, words: list[int]) -> str | None:
        found = self._blocks[address, len(words)]
        if found is None:
            return None
        name, text, count = found
        if count == 1:
            return f"{name}: {text.say(words)}"
        size = len(words) // count
        return f"{name}: {NEXT_DESCRIPTOR.join(text.say(words[n * size : n * size + size]) for n in range(count))}"

    def _find_block(self, block: tuple[int, int]) -> DescriptorBlock | None:
        address, words = block
        found = dma_register(self.model, address)
        if not isinstance(found, DescriptorWord) or found.word:
            return None
        tile_type = self.model.tile_type(*found.tile)
        layout, count = BD_LAYOUTS[tile_type], words // BD_LAYOUTS[tile_type].words
        bds = self.model.registers(*found.tile).bds
        is_whole = words == count * layout.words and found.bd + count <= self.model.num_bds(*found.tile)
        if not count or not is_whole or (count > 1 and bds.stride != WORD_BYTES * layout.words):
            return None
        last = f"..{found.bd + count - 1}" if count > 1 else ""
        name = f"{short_tile_name(self.model, found.tile)} BD{found.bd}{last}"
        return DescriptorBlock(name, descriptor_text(tile_type), count)

    def _write(self, write: tuple[int, int]) -> str | None:
        address, value = write
        match dma_register(self.model, address):
            case ChannelRegister(channel, ChannelRegisterRole.QUEUE):
                text = _queue_text(self.model.registers(*channel.tile).queue)
                place = f"{short_tile_name(self.model, channel.tile)} {channel.direction.name}{channel.number}"
                return f"{place}: {text.say([value])}"
            case _:
                found = self._register(address, value)
        if found is None or not value:
            return None
        name, text = found
        words = [0] * text.layout.words
        words[text.only or 0] = value
        return f"write {name}: {text.say(words)}"

    def _register(self, address: int, value: int) -> tuple[str, LayoutText] | None:
        """The name of a register, and its fields when it holds a value."""
        (column, row), offset = self.model.locate(address)
        if not self.model.is_valid_tile(column, row):
            return None
        found = layout_at(self.model, self.model.tile_type(column, row), offset)
        name = name_address(self.model, address)
        if found is None or name is None:
            return None
        layout, word = found
        # a bit of the register says which of two layouts it has
        if layout is MasterPort and MasterPort.packet_enable.get([value]):
            layout = PacketMasterPort
        return name, _word_text(layout, word)

    def _masked_text(self, masked: tuple[int, int, int]) -> str | None:
        address, value, mask = masked
        found = self._register(address, value)
        if found is None or (said := found[1].said_bits(value, mask)) is None:
            return None
        return f"{found[0]}: {said}"

    def _patched_descriptor(self, address: int) -> str | None:
        found = dma_register(self.model, address)
        if not isinstance(found, DescriptorWord) or not self.model.is_shim_noc(*found.tile):
            return None
        is_address = found.word == self.model.registers(*found.tile).bd_address_word
        return f"{short_tile_name(self.model, found.tile)} BD{found.bd}" if is_address else None

    def _wait(self, fields: tuple[int, ...]) -> str | None:
        column, row, direction, channel, columns, rows = fields
        if direction not in tuple(DmaDirection) or not self.model.is_valid_tile(column, row):
            return None
        name = f"{short_tile_name(self.model, TileId(column, row))} {DmaDirection(direction).name}{channel}"
        return f"wait {name}" + (f" columns {columns} rows {rows}" if (columns, rows) != (1, 1) else "")

    def read(self, text: str) -> RegisterOperation | None:
        """The operation that a line says; None if it is none of these. ValueError if something is wrong in it."""
        return self._lines[text]

    def _read(self, text: str) -> RegisterOperation | None:
        for pattern, read in _LINES:
            if found := pattern.fullmatch(text):
                return read(self, found)
        return None

    def read_block(self, found: re.Match[str]) -> RegisterOperation:
        tile = read_tile(self.model, found["tile"])
        first, last = int(found["bd"]), int(found["last"] or found["bd"])
        tile_type = self.model.tile_type(*tile)
        parts = found["pieces"].split(NEXT_DESCRIPTOR)
        if tile_type not in BD_LAYOUTS or not first <= last < self.model.num_bds(*tile):
            raise ValueError(f"{found['tile']} has no BD{last}")
        if len(parts) != last - first + 1:
            raise ValueError(f"{last - first + 1} descriptors need as many texts, set apart by ';', got {len(parts)}")
        text = descriptor_text(tile_type)
        words = [*chain.from_iterable(map(text.read, parts))]
        return RegisterOperation(Opcode.BLOCKWRITE, {"address": self.model.bd_address(*tile, first)}, words)

    def read_patch(self, found: re.Match[str]) -> RegisterOperation:
        tile, bd = read_tile(self.model, found["tile"]), int(found["bd"])
        if not self.model.is_shim_noc(*tile) or bd >= self.model.num_bds(*tile):
            raise ValueError(f"{found['tile']} has no BD{bd} with a host address")
        address = self.model.bd_address(*tile, bd) + WORD_BYTES * self.model.registers(*tile).bd_address_word
        fields = {"argument_index": _number(found["argument"]), "argument_offset": _number(found["offset"])}
        return RegisterOperation(Opcode.DDR_PATCH, {"address": address, **fields})

    def read_push(self, found: re.Match[str]) -> RegisterOperation:
        tile, direction, channel = self._channel(found)
        if channel >= self.model.num_dma_channels(*tile, direction):
            raise ValueError(f"{found['tile']} has no channel {direction.name}{channel}")
        (value,) = _queue_text(self.model.registers(*tile).queue).read(found["pieces"])
        address = self.model.task_queue_address(*tile, direction, channel)
        return RegisterOperation(Opcode.WRITE, {"address": address, "value": value})

    def read_wait(self, found: re.Match[str]) -> RegisterOperation:
        tile, direction, channel = self._channel(found)
        counts = {"column_count": int(found["columns"] or 1), "row_count": int(found["rows"] or 1)}
        place = {"column": tile.column, "row": tile.row, "direction": int(direction), "channel": channel}
        return RegisterOperation(Opcode.TCT, {**place, **counts})

    def _channel(self, found: re.Match[str]) -> tuple[TileId, DmaDirection, int]:
        return read_tile(self.model, found["tile"]), DmaDirection[found["direction"]], int(found["channel"])

    def read_register(self, found: re.Match[str]) -> RegisterOperation:
        address, pieces = self._addresses[found["register"]], found["pieces"]
        is_packet = PacketMasterPort.packet_enable.place(1) if "packet_enable" in pieces else 0
        register = self._register(address, is_packet)
        if register is None:
            raise ValueError(f"the fields of {found['register']} are not known: give it a number, with ' = '")
        text = register[1]
        value = text.read(pieces)[text.only or 0]
        opcode = Opcode[found["mnemonic"].upper()]
        mask = {"mask": text.mask_of(pieces)} if opcode is not Opcode.WRITE else {}
        return RegisterOperation(opcode, {"address": address, "value": value, **mask})


class RegisterOperation(NamedTuple):
    """An operation as a line says it."""

    opcode: int
    fields: Mapping[str, int]
    payload: list[int] | None = None


PHRASED = (
    Opcode.WRITE,
    Opcode.BLOCKWRITE,
    Opcode.MASKWRITE,
    Opcode.MASKPOLL,
    Opcode.MASKPOLL_BUSY,
    Opcode.DDR_PATCH,
    Opcode.TCT,
)
"""Operations that may have a text of this kind."""
_TILE = r"(?P<tile>\w+\(\d{1,9},\d{1,9}\))"
_CHANNEL = r"(?P<direction>S2MM|MM2S)(?P<channel>\d{1,3})"
_REGISTER = r"(?P<register>\w+\(\d{1,9},\d{1,9}\) [\w.+]+)"
_SHORT = r"\d{1,12}|0x[0-9a-f]{1,9}"
_LINES: tuple[tuple[re.Pattern[str], Callable[[RegisterTexts, re.Match[str]], RegisterOperation]], ...] = (
    (re.compile(rf"{_TILE} {_CHANNEL}: (?P<pieces>.+)"), RegisterTexts.read_push),
    (
        re.compile(rf"{_TILE} BD(?P<bd>\d{{1,3}}): address is argument (?P<argument>{_SHORT}) \+ (?P<offset>{_SHORT})"),
        RegisterTexts.read_patch,
    ),
    (
        re.compile(rf"{_TILE} BD(?P<bd>\d{{1,3}})(?:\.\.(?P<last>\d{{1,3}}))?: (?P<pieces>.+)"),
        RegisterTexts.read_block,
    ),
    (
        re.compile(rf"wait {_TILE} {_CHANNEL}(?: columns (?P<columns>\d{{1,3}}) rows (?P<rows>\d{{1,3}}))?"),
        RegisterTexts.read_wait,
    ),
    (
        re.compile(rf"(?P<mnemonic>write|maskwrite|maskpoll|maskpoll_busy) {_REGISTER}: (?P<pieces>.+)"),
        RegisterTexts.read_register,
    ),
)


@cache
def register_texts(device: DeviceName) -> RegisterTexts:
    """The texts of a device, with what they keep."""
    return RegisterTexts(DEVICES[device])
