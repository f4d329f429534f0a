"""Operations on the array, tile by tile: programs, memories, descriptors, locks, streams and cores that they set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tilewright import txn
from tilewright.device import DEVICES, DeviceModel, DeviceName, TileId
from tilewright.device.layout import WORD_BYTES
from tilewright.device.register_names import name_address
from tilewright.txn.analysis import register_writes

COLUMN_BITS = 25
START_BD = 0x3F
"""The descriptor that a task begins with, in what is written to a queue."""
PROGRAM, MEMORY = "Program", "Memory"
_WITH_ADDRESS = (txn.Opcode.WRITE, txn.Opcode.MASKWRITE, txn.Opcode.BLOCKWRITE, txn.Opcode.MASKPOLL)


@dataclass
class TileUse:
    """What operations set on one tile."""

    program: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    """Offset and bytes of each block that goes into program memory."""
    memory: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    descriptors: set[str] = field(default_factory=set[str])
    tasks: list[str] = field(default_factory=list[str])
    locks: dict[str, int] = field(default_factory=dict[str, int])
    ports: set[str] = field(default_factory=set[str])
    is_started: bool = False
    others: set[str] = field(default_factory=set[str])

    @property
    def program_bytes(self) -> int:
        return covered_bytes(self.program)

    @property
    def memory_bytes(self) -> int:
        return covered_bytes(self.memory)

    def image(self) -> bytes:
        """Program memory as the operations leave it, up to the last byte that they set."""
        made = bytearray(max((at + len(data) for at, data in self.program), default=0))
        for at, data in self.program:
            made[at : at + len(data)] = data
        return bytes(made)


def covered_bytes(blocks: Iterable[tuple[int, bytes]]) -> int:
    """Bytes that some block covers."""
    total = end = 0
    for at, size in sorted((at, len(data)) for at, data in blocks):
        total += max(0, at + size - max(at, end))
        end = max(end, at + size)
    return total


def model_of(operations: Iterable[txn.Operation]) -> DeviceModel:
    """The smallest NPU that has the columns of operations: files do not say which it is, and registers are alike."""
    last = max((op.address >> COLUMN_BITS for op in operations if op.opcode in _WITH_ADDRESS), default=0)
    npus = sorted((it for it in DEVICES.values() if it.is_npu), key=lambda it: (it.columns, it.name))
    return next((it for it in npus if it.columns > last), DEVICES[DeviceName.npu2])


def area_of(model: DeviceModel, address: int) -> str | None:
    """The memory that an address is in; None for a register."""
    register = (name_address(model, address) or "").partition(" ")[2]
    return next((area for area in (PROGRAM, MEMORY) if register.startswith(f"{area}+")), None)


def uses(operations: Iterable[txn.Operation], model: DeviceModel) -> dict[TileId, TileUse]:
    """What operations set on each tile, in the order of tiles."""
    found = dict[TileId, TileUse]()
    for op in operations:
        if op.opcode not in _WITH_ADDRESS or name_address(model, op.address) is None:
            continue
        tile, offset = model.locate(op.address)
        use = found.setdefault(tile, TileUse())
        area = area_of(model, op.address) if op.opcode == txn.Opcode.BLOCKWRITE else None
        if area is not None:
            start = offset - (model.registers(*tile).program_memory or 0) if area == PROGRAM else offset
            (use.program if area == PROGRAM else use.memory).append((start, op.payload.astype("<u4").tobytes()))
            continue
        for address, value in register_writes(op):
            _set(use, (name_address(model, address) or " ").partition(" ")[2], value, op)
    return dict(sorted(found.items()))


def _set(use: TileUse, register: str, value: int, op: txn.Operation) -> None:
    match register.split("."):
        case ["DMA", place, "queue"]:
            use.tasks.append(f"{place} BD{value & START_BD}")
        case ["DMA", place, *_] if place.startswith("BD"):
            use.descriptors.add(place)
        case ["Switch", "master", *port] if value:
            use.ports.add(".".join(port))
        case ["Core", "control"] if op.opcode != txn.Opcode.MASKWRITE or op.mask & 1:
            use.is_started = bool(value & 1)
        case [lock] if lock.startswith("Lock"):
            use.locks[lock] = value
        case _ if register.startswith(f"{MEMORY}+"):
            use.memory.append((int(register.partition("+")[2], 0), value.to_bytes(WORD_BYTES, "little")))
        case _:
            use.others.add(register)


def tile_blocks(use: TileUse) -> Iterator[str]:
    """What is on a tile, in a few lines."""
    if use.program:
        yield f"program, {use.program_bytes} B"
    if use.is_started:
        yield "core starts"
    if use.memory:
        yield f"memory, {use.memory_bytes} B"
    if use.locks:
        yield _counted(len(use.locks), "lock")
    if use.descriptors:
        yield _counted(len(use.descriptors), "descriptor")
    yield from sorted(set(use.tasks))[:8]
    if use.ports:
        yield _counted(len(use.ports), "stream")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
