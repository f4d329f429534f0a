"""Where two TXN streams part, and what that means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from tilewright.device import DeviceModel
from tilewright.device.register_fields import fields_at
from tilewright.device.register_names import name_address
from tilewright.txn.meaning import register_writes
from tilewright.txn.stream import Header, Operation, Stream, layouts_of
from tilewright.txn.text import model_of, operation_text


@dataclass(frozen=True)
class Difference:
    """One operation (or header field) that is not the same; `meanings` say which fields of which registers differ."""

    index: int | None
    """Number of the operation, from 0; None for the header."""
    left: str
    right: str
    meanings: tuple[str, ...] = ()


def differences(left: Stream, right: Stream) -> Iterator[Difference]:
    """Every difference in order: header first, then operation by operation."""
    for name, value in vars(left.header).items():
        other = getattr(right.header, name)
        if value != other:
            yield Difference(None, f"{name} {value}", f"{name} {other}")
    models = model_of(left.header), model_of(right.header)
    for index, (a, b) in enumerate(zip_longest(left.operations, right.operations)):
        if a != b:
            texts = _text(a, left.header, models[0]), _text(b, right.header, models[1])
            yield Difference(index, *texts, tuple(_meanings(a, b, models[0])))


def _text(op: Operation | None, header: Header, model: DeviceModel | None) -> str:
    return "(no operation)" if op is None else operation_text(op, layouts_of(header)[op.opcode], model)


def _meanings(a: Operation | None, b: Operation | None, model: DeviceModel | None) -> Iterator[str]:
    if a is None or b is None:
        yield "one stream ends here, the other goes on"
        return
    if a.opcode != b.opcode:
        yield f"{a.name} against {b.name}: from here on the streams may only be shifted against each other"
        return
    for name, value in a.fields.items():
        if value != b.fields[name] and name != "value":
            yield f"{name}: {value:#x} against {b.fields[name]:#x}"
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
