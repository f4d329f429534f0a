"""From the words of a stream back to the program: as JSON for tools, as a table for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from tilewright.codegen.static_words import StreamEntry
from tilewright.device import DeviceModel
from tilewright.device.layout import WORD_BYTES
from tilewright.device.register_names import name_address
from tilewright.device.vendor_registers import vendor_name
from tilewright.ir.diagnostics import place

VERSION = 1


def location_map_json(entries: Iterable[StreamEntry], model: DeviceModel, device_name: str, binary: str = "") -> str:
    """What upstream's tools write beside a binary; `device_name` is the name that the device was asked for by.

    Only the driver says which file the `binary` is.
    """
    operations = [_operation(place, model) for place in entries]
    document = {"version": VERSION, "device": device_name, "binary": binary, "operations": operations}
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _operation(entry: StreamEntry, model: DeviceModel) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "byte_offset": entry.start * WORD_BYTES,
        "byte_size": entry.count * WORD_BYTES,
        "opcode": entry.kind,
        "source_op": entry.op.name,
        "loc": location_json(entry.op.location),
    }
    if entry.address is not None:
        operation["address"] = f"0x{entry.address:X}"
        if (found := vendor_name(model, entry.address)) is not None:
            operation["register_module"], operation["register"] = found
    return operation


def location_json(location: Attribute) -> dict[str, Any]:
    """A location with everything that is inside it."""
    match location:
        case FileLineColLoc():
            line, column = location.line.data, location.column.data
            return {"kind": "file", "file": location.filename.data, "line": line, "col": column}
        # Locations nest: a name or a call stands around another one.
        case NameLoc():
            return {"kind": "name", "name": location.desc.data, "child": location_json(location.location)}
        case FusedLoc():
            parts = cast(Iterable[Attribute], location.locations)
            return {"kind": "fused", "children": [location_json(part) for part in parts]}
        case CallSiteLoc():
            return {
                "kind": "callsite",
                "callee": location_json(location.callee),
                "caller": location_json(location.caller),
            }
        case _:
            return {"kind": "unknown"}


def location_table(entries: Iterable[StreamEntry], model: DeviceModel) -> str:
    """One line for each operation of a stream: its words, what it is, the register it is about, its source."""
    rows = [("words", "operation", "register", "source"), *(_row(entry, model) for entry in entries)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    text = ""
    for *cells, last in rows:
        padded = [f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)]
        text += "  ".join([*padded, last]).rstrip() + "\n"
    return text


def _row(entry: StreamEntry, model: DeviceModel) -> tuple[str, str, str, str]:
    register = (name_address(model, entry.address) or f"{entry.address:#x}") if entry.address is not None else ""
    last = entry.start + entry.count - 1
    # Counted as disassemblers do, from the header's first word.
    words = str(last) if entry.count == 1 else f"{entry.start}-{last}"
    return words, entry.kind, register, place(entry.op.location).removesuffix(": ")
