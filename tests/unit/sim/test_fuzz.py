"""Whatever is written into the array: a run ends, hangs, or faults with a message. No other exception, not for ever.

60 streams of each kind and model by default, more with TILEWRIGHT_FUZZ=20000; TILEWRIGHT_FUZZ_SEED=1234 runs that one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from bare_streams import loopback

import tilewright as tw
from tilewright import txn
from tilewright.device import DEVICES, DeviceModel, TileId
from tilewright.device.enums import DeviceName
from tilewright.sim.faults import FaultKind
from tilewright.sim.models import Model
from tilewright.sim.register_roles import Role, register_roles
from tilewright.sim.stops import Stopped
from tilewright.simulation import BareDevice

CASES = max(int(os.environ.get("TILEWRIGHT_FUZZ", "120")) // 2, 1)
BATCHES = 6
MAX_CYCLES = 6000
DESIGNS = Path(__file__).parents[2] / "e2e" / "designs"
MUTATED = ("dma_copy", "bd_chain", "packet_split", "control_write", "mem_tile_neighbour", "padding", "task_queue")
MODELS = [pytest.param(model, id=model.value) for model in Model]
WORDS = (0, 1, 2, 3, 4, 16, 0xFF, 0x80000000, 0x02000000, 0xFFFFFFFF, 0xFFFFFFFC, 0x7FFFFFFF)


def seeds(batch: int) -> Iterator[int]:
    chosen = os.environ.get("TILEWRIGHT_FUZZ_SEED")
    if chosen is not None:
        yield from [int(chosen)] if batch == 0 else []
    else:
        yield from range(batch, CASES, BATCHES)


def levels(random: Random) -> dict[str, str]:
    """Mostly as it is; else all hazards are let pass, so that a run goes on after them."""
    level = random.choice(("fault", "fault", "note", "off"))
    return {} if level == "fault" else {kind.option: level for kind in FaultKind}


def word(random: Random) -> int:
    match random.randrange(4):
        case 0:
            return random.choice(WORDS)
        case 1:
            return random.getrandbits(32)
        case 2:
            return random.getrandbits(6)
        case _:
            return random.getrandbits(4) << random.randrange(29)


class RandomStream:
    """Operations on the registers of a device: mostly such as mean something, with values that often do."""

    def __init__(self, model: DeviceModel, random: Random):
        self.model, self.random = model, random
        self.tiles = list(model.tiles)

    def operations(self) -> list[txn.Operation]:
        makers = (self.write, self.write, self.block, self.descriptor, self.push, self.route, self.route, self.patch,
                  self.mask, self.poll, self.sync, self.other)  # fmt: skip
        return [op for _ in range(self.random.randint(1, 60)) for op in self.random.choice(makers)()]

    def address(self) -> int:
        """A register that has a role, one that may have none, or anything."""
        place = self.random.choice(self.tiles)
        roles = register_roles(self.model.name, self.model.tile_type(*place))
        match self.random.randrange(8):
            case 0:
                return self.random.getrandbits(32)
            case 1:
                return self.model.tile_address(*place, self.random.getrandbits(20))
            case 2:
                return self.model.tile_address(*place, self.random.getrandbits(18) & ~3)
            case _:
                return self.model.tile_address(*place, self.random.choice(list(roles)))

    def with_role(self, role: Role) -> tuple[TileId, int]:
        """A register of some kind, and its tile."""
        while True:
            place = self.random.choice(self.tiles)
            roles = register_roles(self.model.name, self.model.tile_type(*place))
            found = [offset for offset, it in roles.items() if it.role is role]
            if found:
                return place, self.model.tile_address(*place, self.random.choice(found))

    def write(self) -> list[txn.Operation]:
        return [txn.write(self.address(), word(self.random))]

    def mask(self) -> list[txn.Operation]:
        return [txn.mask_write(self.address(), word(self.random), word(self.random))]

    def block(self) -> list[txn.Operation]:
        return [txn.block_write(self.address(), [word(self.random) for _ in range(self.random.randint(1, 12))])]

    def descriptor(self) -> list[txn.Operation]:
        """A descriptor that is marked valid, most of the time, and moves something."""
        place, _ = self.with_role(Role.QUEUE)
        bd = self.random.randrange(min(self.model.num_bds(*place), 4))
        start = self.model.bd_address(*place, bd)
        words = [self.random.choice((0, 0, word(self.random))) for _ in range(8)]
        words[0] = self.random.choice((1, 4, 64, 0x100, 1 << 14, word(self.random)))
        words[-1] |= 0x8200_0000 if self.random.random() < 0.8 else 0
        words[5] |= 0x0200_0000
        return [txn.block_write(start, words)]

    def push(self) -> list[txn.Operation]:
        value = self.random.randrange(4) | self.random.choice((0, 0, 0x8000_0000, 0x0003_0000, word(self.random)))
        return [txn.write(self.with_role(Role.QUEUE)[1], value)]

    def route(self) -> list[txn.Operation]:
        """Something on switches and multiplexers."""
        mux = [txn.write(self.with_role(Role.SHIM_MUX)[1], self.random.choice((0x4400, 0x50, word(self.random))))]
        enable = self.random.choice((0x8000_0000, 0x8000_0000, 0xC000_0000, 0x4000_0000))
        ports = [self.with_role(Role.SWITCH)[1] for _ in range(4)]
        return mux + [txn.write(port, enable | self.random.choice((0, 5, 9, word(self.random)))) for port in ports]

    def patch(self) -> list[txn.Operation]:
        place, _ = self.with_role(Role.SHIM_MUX)
        start = self.model.bd_address(*place, self.random.randrange(4))
        offset = self.random.choice((0, 0, 64, 0x8000_0000, word(self.random)))
        return [txn.address_patch(start + self.random.choice((4, 4, 4, 0)), self.random.choice((0, 1, 2, 7)), offset)]

    def poll(self) -> list[txn.Operation]:
        fields = {"address": self.address(), "value": word(self.random), "mask": self.random.choice((0, 0, 1, 0xFF))}
        return [txn.Operation(txn.Opcode.MASKPOLL, **fields)]

    def sync(self) -> list[txn.Operation]:
        place, _ = self.with_role(Role.QUEUE)
        extent = self.random.choice((0, 1, 1, 2, 255))
        return [txn.sync(*place, self.random.randrange(3), self.random.randrange(3), extent, 1)]

    def other(self) -> list[txn.Operation]:
        opcodes = (txn.Opcode.LOADPDI, txn.Opcode.PREEMPT, txn.Opcode.NOOP, txn.Opcode.CREATE_SCRATCHPAD)
        updates = (txn.Opcode.UPDATE_REG, txn.Opcode.UPDATE_STATE_TABLE, txn.Opcode.MERGE_SYNC, txn.Opcode.RECORD_TIMER)
        opcode = self.random.choice((*opcodes, *updates))
        layout = txn.opcodes.LAYOUTS[0, 1][opcode]
        return [txn.Operation(opcode, **{name: word(self.random) & field.mask >> field.lo
                                         for name, field in layout.fields.items()})]  # fmt: skip


def check(error: Exception) -> None:
    """What a run may end with has something to say."""
    assert isinstance(error, tw.Fault | tw.Hang | Stopped), repr(error)
    assert str(error).strip() and error.diagnostics


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("model", MODELS)
def test_any_registers_can_be_written(model: Model, batch: int) -> None:
    for seed in seeds(batch):
        random = Random(seed)
        device = DEVICES[random.choice((DeviceName.npu1_1col, DeviceName.npu1_2col, DeviceName.npu2_2col))]
        words = txn.encode(txn.Stream.of(txn.Header(columns=device.columns), RandomStream(device, random).operations()))
        arrays = {number: np.arange(size, dtype=np.int32) for number, size in ((0, 1024), (1, 64), (2, 0))}
        try:
            BareDevice(device, levels(random), model).run(words, arrays, max_cycles=MAX_CYCLES)
        except (tw.Fault, tw.Hang, Stopped) as error:
            check(error)


@cache
def compiled(name: str) -> tuple[tw.Design, np.ndarray[Any, np.dtype[np.uint32]]]:
    design = tw.compile(DESIGNS / f"{name}.mlir")
    return design, design.txn()


def mutated(stream: txn.Stream, random: Random) -> txn.Stream:
    """Some operations changed, repeated, moved or missing."""
    operations = list(stream.operations)
    for _ in range(random.randint(1, 5)):
        at = random.randrange(len(operations))
        match random.randrange(5):
            case 0:
                operations[at] = damaged(operations[at], random)
            case 1:
                del operations[at]
            case 2:
                operations.insert(at, operations[random.randrange(len(operations))])
            case 3:
                operations[at:at] = operations[at : at + 6]
            case _:
                operations.append(operations.pop(at))
        if not operations:
            break
    return txn.Stream.of(stream.header, operations)


def damaged(op: txn.Operation, random: Random) -> txn.Operation:
    """An operation with a bit or a field changed."""
    layout = txn.opcodes.LAYOUTS[0, 1][op.opcode]
    fields, payload = dict(op.fields), op.payload.copy()
    if len(payload) and random.random() < 0.5:
        payload[random.randrange(len(payload))] ^= np.uint32(1 << random.randrange(32))
    else:
        name = random.choice(list(fields))
        limit = layout.fields[name].mask >> layout.fields[name].lo
        changed = fields[name] ^ 1 << random.randrange(32) if random.random() < 0.7 else word(random)
        fields[name] = changed & limit
    return txn.Operation(op.opcode, payload, **fields)


def arguments(design: tw.Design) -> Sequence[np.ndarray[Any, Any]]:
    return [np.arange(argument.type.element_count(), dtype=np.int32) for argument in design.operation().body.block.args]


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("model", MODELS)
def test_streams_of_designs_can_be_damaged(model: Model, batch: int) -> None:
    for seed in seeds(batch):
        random = Random(seed)
        design, words = compiled(random.choice(MUTATED))
        stream = mutated(txn.decode(words), random)
        loaded = design.load(levels=levels(random), model=model.value)
        try:
            loaded.run(*arguments(design), txn=txn.encode(stream), max_cycles=4 * MAX_CYCLES)
        except (tw.Fault, tw.Hang, Stopped) as error:
            check(error)


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("model", MODELS)
def test_streams_for_a_bare_device_can_be_damaged(model: Model, batch: int) -> None:
    for seed in seeds(batch):
        random = Random(seed)
        operations = loopback(random.choice((16, 64)), for_ever=random.random() < 0.2)
        stream = mutated(txn.Stream.of(txn.Header(device_generation=4, columns=1), operations), random)
        arrays = {number: np.zeros(64, dtype=np.int32) for number in (0, 2)}
        try:
            BareDevice(DEVICES[DeviceName.npu2_1col], levels(random), model).run(
                txn.encode(stream), arrays, max_cycles=MAX_CYCLES
            )
        except (tw.Fault, tw.Hang, Stopped) as error:
            check(error)
