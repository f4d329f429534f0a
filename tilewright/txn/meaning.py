"""What an operation's register words mean, field by field."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.device import DeviceModel
from tilewright.device.register_fields import fields_at
from tilewright.txn.opcodes import WORD_BYTES, Opcode
from tilewright.txn.stream import Operation


def register_writes(op: Operation) -> Iterator[tuple[int, int]]:
    """Address and value of every register that the operation sets (masked writes as their value)."""
    if op.opcode in (Opcode.WRITE, Opcode.MASKWRITE):
        yield op.address, op.value
    elif op.opcode == Opcode.BLOCKWRITE:
        for index, word in enumerate(op.payload.tolist()):
            yield op.address + WORD_BYTES * index, word


def explain(op: Operation, model: DeviceModel | None) -> str:
    """The fields that an operation sets, `name = value`, those of value 0 left out; empty if they are not known."""
    if model is None:
        return ""
    known: dict[str, int] = {}
    for address, value in register_writes(op):
        known |= fields_at(model, address, value)
    if op.opcode == Opcode.MASKWRITE:
        kept = fields_at(model, op.address, op.mask)
        known = {name: value for name, value in known.items() if kept.get(name)}
    return ", ".join(f"{name} = {value}" for name, value in known.items() if value)
