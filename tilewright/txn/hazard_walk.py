"""Hazards of long streams, found by native code: the rules of `InFlight` and `HazardReader` in `device.hazards`.

Descriptors, channels and tasks are numbers here, and there is one way through a program, so that a task costs some
nanoseconds. What is unusual is left to the reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from tilewright.device import DEVICES, DeviceModel, DeviceName, DmaDirection, TileId, TileType
from tilewright.device.architecture import TASK_QUEUE_DEPTH
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.dma_registers import ChannelId, ChannelRegisterRole, dma_registers
from tilewright.device.hazards import (
    DESCRIPTOR_IN_FLIGHT,
    MAX_TOKENS,
    PATCHED_WORDS,
    QUEUE_OVERFLOW,
    QUEUE_SIZE,
    RUNNING,
    BdName,
    Finding,
    Hazard,
    QueuedTask,
    bd_text,
    next_bd_fields,
)
from tilewright.device.layout import WORD_BYTES, WORD_MASK, Field
from tilewright.device.registers import ChannelControl
from tilewright.native.compiled_python import CompiledFunctions, load32
from tilewright.native.shared_state import Column, Number
from tilewright.txn.codec import encode
from tilewright.txn.columns import OPCODES, StreamState, fill_layouts, operation_words
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import HEADER_WORDS, Stream, layouts_of

TILE_SHIFT, TILE_WORD_BITS = 20, 18
"""Of addresses: what stands above is the tile, the rest a register of it, in words."""
ADDRESSED_TILES = 1 << (32 - TILE_SHIFT)
COLUMN_SHIFT = 5
"""Of the number of a tile in addresses: what stands above is its column."""
CHANNELS, DIRECTIONS = 8, 2
"""Room for the channels of a tile."""
PLACES = 32
"""Room for the tasks of a channel that may be in flight, and for those whose tokens are kept."""
DESCRIPTORS = 64
NOTHING, QUEUE, CONTROL, STATUS, DESCRIPTOR = range(5)
KIND_BITS, NUMBER_BITS = 3, 8
NONE = -1
DONE, FULL, UNSURE = range(3)
"""How a walk ends: at the end of the stream, before an operation that there may be no room for, or at an odd one."""
ON_REGISTERS = (
    *(Opcode.WRITE, Opcode.BLOCKWRITE, Opcode.MASKWRITE, Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY),
    *(Opcode.DDR_PATCH, Opcode.UPDATE_REG),
)
"""Operations with the address of a register."""
LEFT, TOKEN = 1, 2
"""Flags of a task: it has left its queue, it issues a token."""
OVERFLOW, IN_FLIGHT = range(2)
TASK_NUMBERS = 4
"""Of a task in a row of what was found: origin, descriptors, flags, and the wait that paced it."""
RULE, CHANNEL, FILLED, ORIGIN, BD, TASKS, HEAD_NUMBERS = range(7)
"""Before the tasks: rule, channel, when its queue was last empty, origin, descriptor, number of tasks."""
ROW = HEAD_NUMBERS + TASK_NUMBERS * TASK_QUEUE_DEPTH
ROWS = 1 << 11
MOST_AT_ONCE = DESCRIPTORS * CHANNELS * DIRECTIONS
"""Hazards that one operation can have: a block may rewrite all descriptors of a tile, each used by all channels."""
QUEUE_SIZE_MASK, QUEUE_SIZE_SHIFT, RUNNING_MASK = QUEUE_SIZE.mask, QUEUE_SIZE.lo, RUNNING.mask


class HazardState(StreamState):
    """A stream, the device's registers, and what may be going on."""

    columns_of_device: Number
    rows_of_device: Number
    tiles: Number
    place: Number
    """The word that the walk has come to, and which operation that is."""
    origin: Number
    found: Number
    """Hazards that were found and not yet taken."""
    fillings: Number
    """How often a queue was empty and got a task."""
    hazards: Column
    tile_numbers: Column
    """By its bits in addresses: the number of a tile, or NONE."""
    tile_types: Column
    registers: Column
    """By type of tile and word: what it is to the DMA. Its kind in the lowest bits, then a number, then a word."""
    address_word: Column
    """By opcode, as the next two: which word of an operation it is."""
    value_word: Column
    mask_word: Column
    token_mask: Column
    """By type of tile, as all that follow up to `use_shift`: fields of queues, controls and descriptors."""
    start_mask: Column
    start_shift: Column
    reset_mask: Column
    next_word: Column
    next_mask: Column
    next_shift: Column
    use_mask: Column
    lengths: Column
    """By channel: how many tasks are followed."""
    descriptors: Column
    """By channel and place: a bit for each that the task uses."""
    flags: Column
    origins: Column
    paced_by: Column
    filled: Column
    """By channel: `fillings` when its queue was last empty."""
    following: Column
    """By tile and descriptor: the one after it, and 1 more; 0 for none."""
    in_use: Column
    """By tile: bits of descriptors that tasks may use. More may be set than are used, never fewer."""


functions = CompiledFunctions(HazardState)
functions(operation_words)


@functions
def channel_of(state: HazardState, tile: int, number: int) -> int:
    """The number of a channel in the device; `number` has the direction in its lowest bit."""
    return tile * (CHANNELS * DIRECTIONS) + number


@functions
def move_task(state: HazardState, source: int, target: int) -> None:
    state.flags[target] = state.flags[source]
    state.descriptors[target] = state.descriptors[source]
    state.origins[target] = state.origins[source]
    state.paced_by[target] = state.paced_by[source]


@functions
def keep_from(state: HazardState, channel: int, first: int) -> None:
    """Drop the tasks before one, and the oldest tokens if there are too many."""
    left = 0
    for place in range(first, state.lengths[channel]):
        if state.flags[channel * PLACES + place] & LEFT:
            left += 1
    first += max(left - MAX_TOKENS, 0)
    count = max(state.lengths[channel] - first, 0)
    for place in range(count):
        move_task(state, channel * PLACES + first + place, channel * PLACES + place)
    state.lengths[channel] = count


@functions
def start(state: HazardState, channel: int, queued: int, is_running: int) -> None:
    """All tasks but the last `queued` have left their queue, and are done but for the last of these, if it runs."""
    count = state.lengths[channel]
    first = max(count - queued, 0)
    running = max(first - 1, 0) if is_running else first
    kept = 0
    for place in range(count):
        at = channel * PLACES + place
        if place < running and state.flags[at] & TOKEN == 0:
            continue
        to = channel * PLACES + kept
        move_task(state, at, to)
        if place < running:
            state.descriptors[to] = 0
        if place < first:
            state.flags[to] = state.flags[to] | LEFT
        kept += 1
    state.lengths[channel] = kept
    keep_from(state, channel, 0)


@functions
def pace(state: HazardState, channel: int) -> None:
    """Note a wait that says nothing about the tasks of other channels: the first one after a push counts."""
    for other in range(state.tiles * (CHANNELS * DIRECTIONS)):
        count = state.lengths[other]
        if count and other != channel and state.paced_by[other * PLACES + count - 1] == NONE:
            for place in range(count):
                if state.paced_by[other * PLACES + place] == NONE:
                    state.paced_by[other * PLACES + place] = state.origin


@functions
def report(state: HazardState, rule: int, channel: int, descriptor: int) -> int:
    """Begin a row about a hazard; gives where its tasks go."""
    row = state.found * ROW
    state.found += 1
    state.hazards[row + RULE] = rule
    state.hazards[row + CHANNEL] = channel
    state.hazards[row + FILLED] = state.filled[channel]
    state.hazards[row + ORIGIN] = state.origin
    state.hazards[row + BD] = descriptor
    state.hazards[row + TASKS] = 0
    return row


@functions
def report_task(state: HazardState, row: int, task: int) -> None:
    at = row + HEAD_NUMBERS + TASK_NUMBERS * state.hazards[row + TASKS]
    state.hazards[row + TASKS] = state.hazards[row + TASKS] + 1
    state.hazards[at] = state.origins[task]
    state.hazards[at + 1] = state.descriptors[task]
    state.hazards[at + 2] = state.flags[task]
    state.hazards[at + 3] = state.paced_by[task]


@functions
def chain(state: HazardState, tile: int, first: int) -> int:
    """The descriptors that a task goes through, a bit each."""
    found = 0
    at = first
    while found >> at & 1 == 0:
        found |= 1 << at
        following = state.following[tile * DESCRIPTORS + at]
        if following == 0:
            return found
        at = following - 1
    return found


@functions
def push(state: HazardState, tile: int, number: int, value: int, known: int) -> None:
    tile_type = state.tile_types[tile]
    channel = channel_of(state, tile, number)
    start_mask = state.start_mask[tile_type]
    token_mask = state.token_mask[tile_type]
    descriptor = NONE
    used = 0
    if known & start_mask == start_mask:
        descriptor = (value & start_mask) >> state.start_shift[tile_type]
        used = chain(state, tile, descriptor)
    waiting = 0
    for place in range(state.lengths[channel]):
        if state.flags[channel * PLACES + place] & LEFT == 0:
            waiting += 1
    if waiting >= TASK_QUEUE_DEPTH:
        row = report(state, OVERFLOW, channel, descriptor)
        for place in range(state.lengths[channel]):
            if state.flags[channel * PLACES + place] & LEFT == 0:
                report_task(state, row, channel * PLACES + place)
        # What may be dropped is told once: from here on it is as if the push had waited for room.
        start(state, channel, TASK_QUEUE_DEPTH - 1, 0)
    count = state.lengths[channel]
    if count == 0:
        state.fillings += 1
        state.filled[channel] = state.fillings
    task = channel * PLACES + count
    # Where it is not known whether it issues a token, it may.
    state.flags[task] = TOKEN if known & token_mask != token_mask or value & token_mask else 0
    state.descriptors[task] = used
    state.origins[task] = state.origin
    state.paced_by[task] = NONE
    state.lengths[channel] = count + 1
    state.in_use[tile] = state.in_use[tile] | used


@functions
def touch(state: HazardState, tile: int, descriptor: int) -> None:
    """Change a descriptor."""
    bit = 1 << descriptor
    if state.in_use[tile] & bit == 0:
        return
    first = channel_of(state, tile, 0)
    used = 0
    for channel in range(first, first + CHANNELS * DIRECTIONS):
        row = NONE
        for place in range(state.lengths[channel]):
            task = channel * PLACES + place
            if state.descriptors[task] & bit:
                if row == NONE:
                    row = report(state, IN_FLIGHT, channel, descriptor)
                    report_task(state, row, task)
                # It is told once: what follows is about the descriptor as it is now.
                state.descriptors[task] = state.descriptors[task] & ~bit
            used |= state.descriptors[task]
    state.in_use[tile] = used


@functions
def link(state: HazardState, tile: int, descriptor: int, word: int, value: int, known: int) -> None:
    """Note which descriptor follows, if that is what a word says."""
    tile_type = state.tile_types[tile]
    use_mask = state.use_mask[tile_type]
    if word == state.next_word[tile_type] and known & use_mask == use_mask:
        next_mask = state.next_mask[tile_type]
        following = 0
        if value & use_mask and known & next_mask == next_mask:
            following = ((value & next_mask) >> state.next_shift[tile_type]) + 1
        state.following[tile * DESCRIPTORS + descriptor] = following


@functions
def reset(state: HazardState, tile: int, number: int, value: int, known: int) -> None:
    mask = state.reset_mask[state.tile_types[tile]]
    if mask and known & mask == mask and value & mask:
        state.lengths[channel_of(state, tile, number)] = 0


@functions
def register_at(state: HazardState, tile: int, address: int) -> int:
    return state.registers[(state.tile_types[tile] << TILE_WORD_BITS) + (address >> 2 & ((1 << TILE_WORD_BITS) - 1))]


@functions
def kind_of(state: HazardState, register: int) -> int:
    return register & ((1 << KIND_BITS) - 1)


@functions
def number_in(state: HazardState, register: int) -> int:
    """Of the descriptor, or of the channel with its direction."""
    return register >> KIND_BITS & ((1 << NUMBER_BITS) - 1)


@functions
def write_register(state: HazardState, tile: int, address: int, value: int, known: int) -> None:
    found = register_at(state, tile, address)
    kind = kind_of(state, found)
    number = number_in(state, found)
    if kind == QUEUE:
        push(state, tile, number, value, known)
    elif kind == CONTROL:
        reset(state, tile, number, value, known)
    elif kind == DESCRIPTOR:
        touch(state, tile, number)
        link(state, tile, number, found >> (KIND_BITS + NUMBER_BITS), value, known)


@functions
def words_in_tile(state: HazardState, address: int, count: int) -> int:
    """How many of some words belong to the tile of the first."""
    return min(count, ((address >> TILE_SHIFT) + 1 << TILE_SHIFT) - address >> 2)


@functions
def touch_between(state: HazardState, tile: int, address: int, count: int) -> int:
    """Change all descriptors of a tile that some words belong to; gives how many of the words do."""
    found = 0
    last = NONE
    for index in range(words_in_tile(state, address, count)):
        register = register_at(state, tile, address + WORD_BYTES * index)
        if kind_of(state, register) == DESCRIPTOR:
            found += 1
            number = number_in(state, register)
            if number != last:
                touch(state, tile, number)
                last = number
    return found


@functions
def write_block(state: HazardState, address: int, words: int, count: int) -> None:
    """Blocks that have words of descriptors are about these alone; others may go on in the next tile."""
    tile = state.tile_numbers[address >> TILE_SHIFT]
    if tile != NONE and touch_between(state, tile, address, count):
        for index in range(words_in_tile(state, address, count)):
            register = register_at(state, tile, address + WORD_BYTES * index)
            if kind_of(state, register) == DESCRIPTOR:
                value = load32(words + WORD_BYTES * index)
                word = register >> (KIND_BITS + NUMBER_BITS)
                link(state, tile, number_in(state, register), word, value, WORD_MASK)
        return
    for index in range(count):
        at = address + WORD_BYTES * index
        home = state.tile_numbers[at >> TILE_SHIFT] if at >> TILE_SHIFT < ADDRESSED_TILES else NONE
        if home != NONE and kind_of(state, register_at(state, home, at)) != DESCRIPTOR:
            write_register(state, home, at, load32(words + WORD_BYTES * index), WORD_MASK)


@functions
def poll(state: HazardState, tile: int, address: int, value: int, mask: int) -> None:
    """Wait until a channel has few tasks in its queue, and maybe does not run; or for something else."""
    most = NONE
    channel = NONE
    if tile != NONE:
        found = register_at(state, tile, address)
        if kind_of(state, found) == STATUS:
            channel = channel_of(state, tile, number_in(state, found))
            bits = mask & QUEUE_SIZE_MASK
            for size in range(TASK_QUEUE_DEPTH + 1):
                if (size << QUEUE_SIZE_SHIFT) & bits == value & bits:
                    most = size
    if most < 0 or most == TASK_QUEUE_DEPTH:
        pace(state, NONE)
    else:
        may_run = mask & RUNNING_MASK != RUNNING_MASK or value & RUNNING_MASK != 0
        start(state, channel, most, most > 0 or may_run)
        pace(state, channel)


@functions
def wait(state: HazardState, channel: int) -> None:
    """Take the oldest token."""
    count = state.lengths[channel]
    left = 0
    done = count
    for place in range(count):
        if state.flags[channel * PLACES + place] & LEFT:
            left += 1
        if done == count and state.flags[channel * PLACES + place] & TOKEN:
            done = place + 1
    # With so many tokens there may be more than were kept, so that a wait says nothing.
    if left < MAX_TOKENS:
        keep_from(state, channel, done)


@functions
def wait_rectangle(state: HazardState, tiles: int, channels: int) -> None:
    """Wait for tokens of all tiles that the two words of the operation name."""
    direction = tiles & 255
    row = tiles >> 8 & 255
    column = tiles >> 16 & 255
    rows = max(channels >> 8 & 255, 1)
    columns = max(channels >> 16 & 255, 1)
    number = channels >> 24 & 255
    if direction >= DIRECTIONS:
        return
    for x in range(column, min(column + columns, state.columns_of_device)):
        for y in range(row, min(row + rows, state.rows_of_device)):
            channel = NONE
            if number < CHANNELS:
                tile = state.tile_numbers[(x << COLUMN_SHIFT) + y]
                channel = channel_of(state, tile, number * DIRECTIONS + direction)
                wait(state, channel)
            pace(state, channel)


@functions
def forget(state: HazardState) -> None:
    """Another image of the whole device is loaded."""
    for tile in range(state.tiles):
        state.in_use[tile] = 0
        for channel in range(CHANNELS * DIRECTIONS):
            state.lengths[channel_of(state, tile, channel)] = 0
        for descriptor in range(DESCRIPTORS):
            state.following[tile * DESCRIPTORS + descriptor] = 0


@functions.entry
def walk(state: HazardState) -> int:
    """Go on through the stream."""
    while state.place < state.end:
        at = state.words + WORD_BYTES * state.place
        opcode = load32(at) & 255
        length = operation_words(state, state.place)
        payload = length - state.fixed[opcode]
        if state.found + MOST_AT_ONCE > ROWS:
            return FULL
        address = load32(at + WORD_BYTES * state.address_word[opcode])
        value = load32(at + WORD_BYTES * state.value_word[opcode])
        mask = load32(at + WORD_BYTES * state.mask_word[opcode])
        tile = NONE
        if state.address_word[opcode]:
            tile = state.tile_numbers[address >> TILE_SHIFT]
            # Parts of words.
            if address & 3:
                return UNSURE
        if opcode == Opcode.TCT:
            wait_rectangle(state, load32(at + 2 * WORD_BYTES), load32(at + 3 * WORD_BYTES))
        elif opcode == Opcode.MERGE_SYNC:
            pace(state, NONE)
        elif opcode == Opcode.LOADPDI:
            forget(state)
        elif opcode == Opcode.MASKPOLL or opcode == Opcode.MASKPOLL_BUSY:
            poll(state, tile, address, value, mask)
        elif opcode == Opcode.BLOCKWRITE:
            write_block(state, address, at + WORD_BYTES * state.fixed[opcode], payload)
        elif tile == NONE:
            pass
        elif opcode == Opcode.WRITE:
            write_register(state, tile, address, value, WORD_MASK)
        elif opcode == Opcode.MASKWRITE:
            write_register(state, tile, address, value, mask)
        else:
            touch_between(state, tile, address, PATCHED_WORDS)
        state.origin += 1
        state.place += length
    return DONE


def find_hazards(stream: Stream, model: DeviceModel) -> list[Hazard[int]] | None:
    """All hazards of a stream in order; None if something in it is for the reader alone."""
    rows = _rows(stream, model)
    tiles = [*model.tiles]
    return None if rows is None else [_hazard(tiles, row) for row in rows.tolist()]


def find_findings(stream: Stream, model: DeviceModel) -> list[Finding[int]] | None:
    """The same as `findings` of all hazards, of which few have to be made."""
    rows = _rows(stream, model)
    if rows is None:
        return None
    first_pacing = HEAD_NUMBERS + TASK_NUMBERS - 1
    kinds = (rows[:, CHANNEL] * 2 + rows[:, RULE]) * 2 + (rows[:, first_pacing] == NONE)
    # An operation counts once for each kind.
    places, firsts = np.unique(np.stack([kinds, rows[:, ORIGIN]]), axis=1, return_index=True)
    found, starts, counts = np.unique(places[0], return_index=True, return_counts=True)
    first_rows = [int(firsts[start : start + count].min()) for start, count in zip(starts, counts, strict=True)]
    tiles = [*model.tiles]
    ordered = sorted(zip(first_rows, counts.tolist(), strict=True)) if len(found) else []
    return [Finding(_hazard(tiles, rows[row].tolist()), count) for row, count in ordered]


def _rows(stream: Stream, model: DeviceModel) -> npt.NDArray[np.int64] | None:
    """A row for each hazard, in order."""
    tables = _tables(model.name)
    if tables is None:
        return None
    words = encode(stream)
    state = _state(stream, tables)
    state.words, state.end, state.place = words.ctypes.data, len(words), HEADER_WORDS
    state.columns_of_device, state.rows_of_device = model.columns, model.rows
    pieces: list[npt.NDArray[np.int64]] = []
    end = FULL
    while end == FULL:
        state.found = 0
        end = functions[walk](state.address)
        pieces.append(state.array("hazards")[: state.found * ROW].reshape(-1, ROW).copy())
    return None if end == UNSURE else _in_order(np.concatenate(pieces))


def _in_order(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of several channels that one write concerns, the one that has been busy longest comes first."""
    same = (np.diff(rows[:, [RULE, ORIGIN, BD]], axis=0, prepend=NONE) == 0).all(axis=1) & (rows[:, RULE] == IN_FLIGHT)
    groups = np.cumsum(~same)
    return rows[np.lexsort((rows[:, FILLED], groups))]


def _state(stream: Stream, tables: Mapping[str, npt.NDArray[np.int64]]) -> HazardState:
    tiles = len(tables["tile_types"])
    channels = tiles * CHANNELS * DIRECTIONS
    tasks = dict.fromkeys(("descriptors", "flags", "origins", "paced_by"), channels * PLACES)
    state = HazardState(
        **dict.fromkeys(HazardState.columns(), OPCODES)
        | dict.fromkeys(tables, 0)
        | dict.fromkeys(("lengths", "filled"), channels)
        | tasks
        | {"following": tiles * DESCRIPTORS, "in_use": tiles, "hazards": ROWS * ROW}
    )
    for name, column in tables.items():
        state.replace(name, column)
    state.tiles = tiles
    layouts = layouts_of(stream.header)
    fill_layouts(state, layouts)
    for opcode in ON_REGISTERS:
        for name in ("address", "value", "mask"):
            bits = layouts[opcode].fields.get(name)
            state.array(f"{name}_word")[opcode] = 0 if bits is None else bits.word
    return state


def _hazard(tiles: Sequence[TileId], row: list[int]) -> Hazard[int]:
    rule, channel, _, origin, descriptor, count = row[:HEAD_NUMBERS]
    tile, number = divmod(channel, CHANNELS * DIRECTIONS)
    place = ChannelId(tiles[tile], DmaDirection(number % DIRECTIONS), number // DIRECTIONS)
    tasks = (_task(row[HEAD_NUMBERS + TASK_NUMBERS * it :]) for it in range(count))
    what = QUEUE_OVERFLOW if rule == OVERFLOW else DESCRIPTOR_IN_FLIGHT
    return Hazard(what, place, origin, bd_text(None if descriptor == NONE else descriptor), tuple(tasks))


def _task(numbers: list[int]) -> QueuedTask[int]:
    origin, used, flags, paced_by = numbers[:TASK_NUMBERS]
    descriptors = frozenset[BdName](bd for bd in range(DESCRIPTORS) if used >> bd & 1)
    paced = None if paced_by == NONE else paced_by
    return QueuedTask(origin, descriptors, bool(flags & TOKEN), paced, bool(flags & LEFT))


@cache
def _tables(device: DeviceName) -> dict[str, npt.NDArray[np.int64]] | None:
    """What a device's registers are; None for one whose DMAs are others."""
    model = DEVICES[device]
    shift = model.architecture
    if (shift.row_shift, shift.column_shift) != (TILE_SHIFT, TILE_SHIFT + COLUMN_SHIFT):
        return None
    tiles = [*model.tiles]
    types = [*dict.fromkeys(model.tile_type(*tile) for tile in tiles)]
    tile_numbers = np.full(ADDRESSED_TILES, NONE, dtype=np.int64)
    for number, tile in enumerate(tiles):
        tile_numbers[model.tile_address(*tile) >> TILE_SHIFT] = number
    tile_types = np.array([types.index(model.tile_type(*tile)) for tile in tiles], dtype=np.int64)
    registers = np.zeros(len(types) << TILE_WORD_BITS, dtype=np.int64)
    fields = {name: np.zeros(len(types), dtype=np.int64) for name in _FIELDS}
    for number, tile_type in enumerate(types):
        for offset, code in _codes(model, tile_type):
            registers[(number << TILE_WORD_BITS) + offset // WORD_BYTES] = code
        for name, value in _field_numbers(model, tile_type).items():
            fields[name][number] = value
    return {"tile_numbers": tile_numbers, "tile_types": tile_types, "registers": registers, **fields}


_FIELDS = ("token_mask", "start_mask", "start_shift", "reset_mask", "next_word", "next_mask", "next_shift", "use_mask")
_KINDS = {
    ChannelRegisterRole.QUEUE: QUEUE,
    ChannelRegisterRole.CONTROL: CONTROL,
    ChannelRegisterRole.STATUS: STATUS,
}


def _codes(model: DeviceModel, tile_type: TileType) -> list[tuple[int, int]]:
    found = list[tuple[int, int]]()
    for offset, register in dma_registers(model.name, tile_type).items():
        match register:
            case (DmaDirection() as direction, int(number), ChannelRegisterRole() as role):
                found.append((offset, _KINDS[role] | (number * DIRECTIONS + direction) << KIND_BITS))
            case (int(bd), int(word)):
                found.append((offset, DESCRIPTOR | bd << KIND_BITS | word << (KIND_BITS + NUMBER_BITS)))
    return found


def _field_numbers(model: DeviceModel, tile_type: TileType) -> dict[str, int]:
    if tile_type not in BD_LAYOUTS:
        return {}
    registers = model.registers(*model.representative_tile(tile_type))
    queue, control = registers.queue, registers.channel_control
    next_bd, use_next = next_bd_fields(tile_type)
    reset_field: Field | None = control.reset if issubclass(control, ChannelControl) else None
    return {
        "token_mask": queue.enable_token_issue.mask,
        "start_mask": queue.start_bd_id.mask,
        "start_shift": queue.start_bd_id.lo,
        "reset_mask": reset_field.mask if reset_field is not None else 0,
        "next_word": next_bd.word,
        "next_mask": next_bd.mask,
        "next_shift": next_bd.lo,
        "use_mask": use_next.mask,
    }
