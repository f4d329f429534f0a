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
    """The fields that an operation sets, `name = value`, those of value 0 left out; empty if they are not known.

    A block that covers several descriptors has the fields of each, set apart by `;`.
    """
    if model is None:
        return ""
    groups: list[dict[str, int]] = [{}]
    for address, value in register_writes(op):
        fields = fields_at(model, address, value)
        if groups[-1].keys() & fields.keys():
            groups.append({})
        groups[-1] |= fields
    if op.opcode == Opcode.MASKWRITE:
        kept = fields_at(model, op.address, op.mask)
        groups = [{name: value for name, value in groups[0].items() if kept.get(name)}]
    texts = (", ".join(f"{name} = {value}" for name, value in known.items() if value) for known in groups)
    return "; ".join(text for text in texts if text)
