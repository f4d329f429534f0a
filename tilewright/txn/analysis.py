"""Analyses of TXN streams: statistics, differences and hazards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import zip_longest
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.device import DEVICES, DeviceModel, DeviceName, DmaDirection
from tilewright.device.dma_registers import dma_registers
from tilewright.device.hazards import PATCHED_WORDS, Bits, Finding, Hazard, HazardReader, findings
from tilewright.device.layout import WORD_BYTES
from tilewright.device.register_fields import fields_at
from tilewright.device.register_names import name_address
from tilewright.txn.codec import has_native
from tilewright.txn.opcodes import Opcode, opcode_name
from tilewright.txn.stream import Header, Indices, OpcodeGroup, Operation, Stream, Words, layouts_of
from tilewright.txn.text import model_of, operation_text

_WITH_REGISTER = (Opcode.WRITE, Opcode.BLOCKWRITE, Opcode.MASKWRITE, Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY)
_WAITS = (Opcode.TCT, Opcode.MERGE_SYNC, Opcode.LOADPDI, Opcode.MASKPOLL, Opcode.MASKPOLL_BUSY)
WALKED_WORDS = 1 << 15
"""Native code pays for itself from here on: the reader makes an object of each operation that a DMA has to do with."""
_WRITES = (Opcode.WRITE, Opcode.MASKWRITE, Opcode.BLOCKWRITE, Opcode.DDR_PATCH, Opcode.UPDATE_REG)


@dataclass(frozen=True)
class StreamStatistics:
    """Counts over one stream."""

    version: str
    device: str | None
    size_bytes: int
    operations: int
    by_opcode: dict[str, tuple[int, int]]
    """Name -> how many, and their bytes."""
    by_tile: dict[str, int]
    """`core(0,2)` -> register operations that go there."""
    queue_pushes: dict[str, int]
    """`shim(0,0) MM2S0` -> tasks pushed."""
    patched_arguments: dict[int, int]
    """Host buffer -> addresses patched with it."""

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {
            "by_opcode": {name: {"count": count, "bytes": size} for name, (count, size) in self.by_opcode.items()}
        }


def statistics(stream: Stream) -> StreamStatistics:
    """Count operations, bytes, tiles, pushes and patches."""
    model = model_of(stream.header)
    by_opcode: dict[str, tuple[int, int]] = {}
    tiles: Counter[str] = Counter()
    pushes: Counter[str] = Counter()
    for opcode, group in sorted(stream.groups.items()):
        words = group.layout.fixed_words * len(group.positions) + len(group.payload)
        by_opcode[opcode_name(opcode)] = len(group.positions), words * WORD_BYTES
        if opcode in _WITH_REGISTER:
            _count_registers(model, group.fields["address"], tiles, pushes)
    patches = stream.groups.get(Opcode.DDR_PATCH)
    return StreamStatistics(
        "{}.{}".format(*stream.header.version),
        str(model) if model else None,
        # and the header
        (sum(size for _, size in by_opcode.values())) + 16,
        len(stream.opcodes),
        by_opcode,
        dict(sorted(tiles.items())),
        dict(sorted(pushes.items())),
        dict(_counted(patches.fields["argument_index"])) if patches else {},
    )


def _counted(values: Words) -> Iterator[tuple[int, int]]:
    """Each value and how often it is there, in order."""
    found, counts = np.unique(values, return_counts=True)
    return zip(found.tolist(), counts.tolist(), strict=True)


def _count_registers(model: DeviceModel | None, addresses: Words, tiles: Counter[str], pushes: Counter[str]) -> None:
    """Add how often tiles and queues are addressed."""
    if model is None:
        tiles["elsewhere"] += len(addresses)
        return
    # By the bits of the tile: there are few of them, whereas nearly every address is another one.
    shift = model.architecture.row_shift
    for tile, count in enumerate(np.bincount(addresses >> np.uint32(shift)).tolist()):
        if count:
            tiles[_tile_name(model, tile << shift)] += count
    names, offsets = _queues(model.name)
    words = (addresses & np.uint32((1 << shift) - 1)) >> np.uint32(2)
    for address, count in _counted(addresses[offsets[words]]):
        if address in names:
            pushes[names[address]] += count


def _tile_name(model: DeviceModel, address: int) -> str:
    return (name_address(model, address) or "elsewhere ").partition(" ")[0]


@cache
def _queues(device: DeviceName) -> tuple[dict[int, str], npt.NDArray[np.bool_]]:
    """The queues of tasks by address, `shim(0,0) MM2S0`; and by word of a tile, whether some tile has one there."""
    model = DEVICES[device]
    names: dict[int, str] = {}
    offsets = np.zeros(1 << model.architecture.row_shift >> 2, dtype=np.bool_)
    for tile in model.tiles:
        for direction in DmaDirection:
            for channel in range(model.resources(model.tile_type(*tile)).channels(direction)):
                address = model.task_queue_address(*tile, direction, channel)
                names[address] = f"{_tile_name(model, address)} {direction.name}{channel}"
                offsets[model.locate(address)[1] >> 2] = True
    return names, offsets


@dataclass(frozen=True)
class Difference:
    """One operation (or header field) that is not the same; `meanings` say which fields of which registers differ."""

    index: int | None
    """Number of the operation, from 0; None for the header."""
    left: str
    right: str
    meanings: tuple[str, ...] = ()


MOST_ALIGNED = 1_000_000
"""Pairs up to which two sequences are aligned."""


def changes(left: Sequence[Hashable], right: Sequence[Hashable]) -> Iterator[tuple[int, int, int, int]]:
    """Ranges in which two sequences differ: start in each, end in each. What only moved is found again."""
    start = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    most = min(len(left), len(right)) - start
    back = next((n for n, (a, b) in enumerate(zip(reversed(left), reversed(right), strict=False)) if a != b), most)
    back = min(back, most)
    a, b = left[start : len(left) - back], right[start : len(right) - back]
    if len(a) * len(b) > MOST_ALIGNED:
        yield start, start, len(left) - back, len(right) - back
        return
    for tag, i, k, j, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield start + i, start + j, start + k, start + m


def operation_key(op: Operation) -> Hashable:
    """Equal for equal operations."""
    # fields that are not set are left out in commands that come from other formats
    return op.opcode, *sorted((name, value) for name, value in op.fields.items() if value), op.payload.tobytes()


def _aligned(left: Stream, right: Stream) -> Iterator[tuple[int, Operation | None, Operation | None]]:
    """Pairs of operations, and the number of the first; without those that are certainly the same."""
    a, b = left.operations, right.operations
    if np.array_equal(left.opcodes, right.opcodes):  # lazily: the first pair of large files is all that some want
        yield from ((index, x, y) for index, (x, y) in enumerate(zip(a, b, strict=True)))
        return
    for i, j, k, m in changes([*map(operation_key, a)], [*map(operation_key, b)]):
        for index, (x, y) in enumerate(zip_longest(a[i:k], b[j:m]), start=i):
            yield index, x, y


def differences(left: Stream, right: Stream) -> Iterator[Difference]:
    """Every difference in order: header first, then operations; where some are missing, the others are aligned."""
    for name, value in vars(left.header).items():
        other = getattr(right.header, name)
        if value != other:
            yield Difference(None, f"{name} {value}", f"{name} {other}")
    models = model_of(left.header), model_of(right.header)
    for index, a, b in _aligned(left, right):
        if a != b:
            texts = _text(a, left.header, models[0]), _text(b, right.header, models[1])
            yield Difference(index, *texts, tuple(_meanings(a, b, models[0])))


def _text(op: Operation | None, header: Header, model: DeviceModel | None) -> str:
    return "(no operation)" if op is None else operation_text(op, layouts_of(header)[op.opcode], model)


def _meanings(a: Operation | None, b: Operation | None, model: DeviceModel | None) -> Iterator[str]:
    if a is None or b is None:
        yield "only one of the streams has it"
        return
    if a.opcode != b.opcode:
        yield f"{a.name} against {b.name}: from here on the streams may only be shifted against each other"
        return
    for name, value in a.fields.items():
        # Streams of other versions have other fields; values of registers are told field by field below.
        other = b.fields.get(name, value)
        if value != other and name != "value":
            yield f"{name}: {value:#x} against {other:#x}"
    if len(a.payload) != len(b.payload):
        yield f"payload: {len(a.payload)} words against {len(b.payload)}"
    for (address, x), (_, y) in zip(register_writes(a), register_writes(b), strict=False):
        if x != y:
            yield from _word_meaning(model, address, x, y)


def _word_meaning(model: DeviceModel | None, address: int, x: int, y: int) -> Iterator[str]:
    place = (model and name_address(model, address)) or f"{address:#010x}"
    known, others = (fields_at(model, address, word) if model else {} for word in (x, y))
    if not known or known.keys() != others.keys():  # the bits of a switch's port depend on its kind
        yield f"{place}: {x:#010x} against {y:#010x}"
        return
    for name, value in known.items():
        if value != others[name]:
            yield f"{place}: {name} {value} against {others[name]}"


def hazards(stream: Stream, model: DeviceModel) -> Iterator[Hazard[int]]:
    """Each hazard in a stream, in order; origins are numbers of operations."""
    native = _native_walk(stream)
    if native is not None and (found := native.find_hazards(stream, model)) is not None:
        yield from found
        return
    reader, operations = HazardReader[int](model), stream.operations
    positions: list[int] = _relevant(stream, model).tolist()
    for position in positions:
        yield from _read(reader, position, operations[position])


def hazard_findings(stream: Stream, model: DeviceModel) -> list[Finding[int]]:
    """Hazards by rule and channel: the first of each kind, and how many places there are like it."""
    native = _native_walk(stream)
    found = None if native is None else native.find_findings(stream, model)
    return findings(hazards(stream, model)) if found is None else found


def _native_walk(stream: Stream) -> ModuleType | None:
    """The same rules in native code, where that is to be had and worth its while."""
    words = sum(len(group.payload) for group in stream.groups.values()) + len(stream.opcodes)
    if not has_native(words, WALKED_WORDS):
        return None
    from tilewright.txn import hazard_walk

    return hazard_walk


def _relevant(stream: Stream, model: DeviceModel) -> Indices:
    """The operations that a DMA has to do with: few among many thousands that set up memory and switches."""
    kept = [stream.groups[opcode].positions for opcode in _WAITS if opcode in stream.groups]
    kept += [_on_dma(stream.groups[opcode], model) for opcode in _WRITES if opcode in stream.groups]
    return np.sort(np.concatenate(kept)) if kept else np.empty(0, dtype=np.int64)


def _on_dma(group: OpcodeGroup, model: DeviceModel) -> Indices:
    registers = _dma_addresses(model.name)
    addresses = group.fields["address"].astype(np.int64)
    # The longest block of the stream for all of them: too many operations are looked at, never too few.
    longest = WORD_BYTES * max(int(np.diff(group.payload_starts).max(initial=0)), PATCHED_WORDS)
    # parts of words count for the whole
    first, last = (np.searchsorted(registers, at) for at in (addresses - WORD_BYTES + 1, addresses + longest))
    return group.positions[first < last]


@cache
def _dma_addresses(device: DeviceName) -> Indices:
    """The registers of all DMAs, in order."""
    model = DEVICES[device]
    found = [
        model.tile_address(*tile, offset)
        for tile in model.tiles
        for offset in dma_registers(device, model.tile_type(*tile))
    ]
    return np.array(sorted(found), dtype=np.int64)


def _read(reader: HazardReader[int], position: int, op: Operation) -> Iterator[Hazard[int]]:
    match op.opcode:
        case Opcode.WRITE:
            yield from reader.write(position, op.address, Bits(op.value))
        case Opcode.MASKWRITE:
            yield from reader.write(position, op.address, Bits(op.value, op.mask))
        case Opcode.BLOCKWRITE:
            yield from reader.write_block(position, op.address, op.payload.tolist())
        case Opcode.DDR_PATCH | Opcode.UPDATE_REG:
            yield from reader.patch(position, op.address)
        case Opcode.MASKPOLL | Opcode.MASKPOLL_BUSY:
            reader.poll(position, op.address, op.value, op.mask)
        case Opcode.TCT:
            place = {"column": op.column, "row": op.row, "columns": op.column_count, "rows": op.row_count}
            reader.wait(position, direction=op.direction, channel=op.channel, **place)
        case Opcode.MERGE_SYNC:  # waits for tokens of several tiles; which channel's is not documented
            reader.state.pace(position)
        case _:
            # A save, a restore or a custom operation may have done anything to the DMAs.
            reader.forget()


def register_writes(op: Operation) -> Iterator[tuple[int, int]]:
    """Address and value of every register that the operation sets (masked writes as their value)."""
    if op.opcode in (Opcode.WRITE, Opcode.MASKWRITE):
        yield op.address, op.value
    elif op.opcode == Opcode.BLOCKWRITE:
        for index, word in enumerate(op.payload.tolist()):
            yield op.address + WORD_BYTES * index, word
