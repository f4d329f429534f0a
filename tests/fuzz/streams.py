"""TXN streams whose operations mean something: random ones, and those of designs with some operations damaged."""

from __future__ import annotations

from random import Random

import numpy as np

from tilewright import txn
from tilewright.device import DeviceModel, TileId
from tilewright.sim.register_roles import RegisterEffect, register_roles
from tilewright.txn.opcodes import LAYOUTS

WORDS = (0, 1, 2, 3, 4, 16, 0xFF, 0x80000000, 0x02000000, 0xFFFFFFFF, 0xFFFFFFFC, 0x7FFFFFFF)


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

    def with_role(self, role: RegisterEffect) -> tuple[TileId, int]:
        """A register of some kind, and its tile."""
        while True:
            place = self.random.choice(self.tiles)
            roles = register_roles(self.model.name, self.model.tile_type(*place))
            found = [offset for offset, it in roles.items() if it.effect is role]
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
        place, _ = self.with_role(RegisterEffect.QUEUE)
        bd = self.random.randrange(min(self.model.num_bds(*place), 4))
        start = self.model.bd_address(*place, bd)
        words = [self.random.choice((0, 0, word(self.random))) for _ in range(8)]
        words[0] = self.random.choice((1, 4, 64, 0x100, 1 << 14, word(self.random)))
        words[-1] |= 0x8200_0000 if self.random.random() < 0.8 else 0
        words[5] |= 0x0200_0000
        return [txn.block_write(start, words)]

    def push(self) -> list[txn.Operation]:
        value = self.random.randrange(4) | self.random.choice((0, 0, 0x8000_0000, 0x0003_0000, word(self.random)))
        return [txn.write(self.with_role(RegisterEffect.QUEUE)[1], value)]

    def route(self) -> list[txn.Operation]:
        """Something on switches and multiplexers."""
        mux = [
            txn.write(self.with_role(RegisterEffect.SHIM_MUX)[1], self.random.choice((0x4400, 0x50, word(self.random))))
        ]
        enable = self.random.choice((0x8000_0000, 0x8000_0000, 0xC000_0000, 0x4000_0000))
        ports = [self.with_role(RegisterEffect.SWITCH)[1] for _ in range(4)]
        return mux + [txn.write(port, enable | self.random.choice((0, 5, 9, word(self.random)))) for port in ports]

    def patch(self) -> list[txn.Operation]:
        place, _ = self.with_role(RegisterEffect.SHIM_MUX)
        start = self.model.bd_address(*place, self.random.randrange(4))
        offset = self.random.choice((0, 0, 64, 0x8000_0000, word(self.random)))
        return [txn.address_patch(start + self.random.choice((4, 4, 4, 0)), self.random.choice((0, 1, 2, 7)), offset)]

    def poll(self) -> list[txn.Operation]:
        fields = {"address": self.address(), "value": word(self.random), "mask": self.random.choice((0, 0, 1, 0xFF))}
        return [txn.Operation(txn.Opcode.MASKPOLL, **fields)]

    def sync(self) -> list[txn.Operation]:
        place, _ = self.with_role(RegisterEffect.QUEUE)
        extent = self.random.choice((0, 1, 1, 2, 255))
        return [txn.sync(*place, self.random.randrange(3), self.random.randrange(3), extent, 1)]

    def other(self) -> list[txn.Operation]:
        opcodes = (txn.Opcode.LOADPDI, txn.Opcode.PREEMPT, txn.Opcode.NOOP, txn.Opcode.CREATE_SCRATCHPAD)
        updates = (txn.Opcode.UPDATE_REG, txn.Opcode.UPDATE_STATE_TABLE, txn.Opcode.MERGE_SYNC, txn.Opcode.RECORD_TIMER)
        opcode = self.random.choice((*opcodes, *updates))
        layout = LAYOUTS[0, 1][opcode]
        return [txn.Operation(opcode, **{name: word(self.random) & field.mask >> field.lo
                                         for name, field in layout.fields.items()})]  # fmt: skip


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
    layout = LAYOUTS[0, 1][op.opcode]
    fields, payload = dict(op.fields), op.payload.copy()
    if len(payload) and random.random() < 0.5:
        payload[random.randrange(len(payload))] ^= np.uint32(1 << random.randrange(32))
    else:
        name = random.choice(list(fields))
        limit = layout.fields[name].mask >> layout.fields[name].lo
        changed = fields[name] ^ 1 << random.randrange(32) if random.random() < 0.7 else word(random)
        fields[name] = changed & limit
    return txn.Operation(op.opcode, payload, **fields)
