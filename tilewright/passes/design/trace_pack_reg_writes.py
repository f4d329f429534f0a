"""Turns the fields that set up a trace into register words, and all writes to one register into one."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.rewriter import Rewriter

from tilewright.device import WireBundle
from tilewright.device.event_unit import EventUnit
from tilewright.device.layout import WORD_MASK
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aie.trace_config import TraceConfigOp, TraceRegOp
from tilewright.ir.diagnostics import emit_warning, fail
from tilewright.ir.interned import i32_number
from tilewright.passes.design.trace_units import event_number, unit_at
from tilewright.rewrite.pass_bases import DevicePass, ops_of

BUNDLES = {bundle.name.lower(): bundle for bundle in WireBundle} | {"ctrl": WireBundle.TileControl}
MASTER_SUFFIX, ID_SUFFIX = "_Master_Slave", "_ID"


class TracePackRegWritesPass(DevicePass):
    name = "aie-trace-pack-reg-writes"

    def apply_to(self, device: DeviceOp) -> None:
        for config in ops_of(device.body.ops, TraceConfigOp):
            _place_fields(config, unit_at(config, config.tile, memory=config.records_memory))
            _merge_writes(config)


def _place_fields(config: TraceConfigOp, unit: EventUnit) -> None:
    """Give each write of a field the mask of the field, and its value the place of it."""
    # Known before the first field: a port's number depends on whether another field makes it a master.
    masters = _master_ports(config)
    for write in config.writes:
        if write.field is None or write.mask is not None:  # a whole register, or packed already
            continue
        register, name = write.reg_name.data, write.field.data
        if unit.register(register) is None:
            fail(write, f"Register not found in database: {register}")
        field = unit.field(register, name)
        if field is None:
            fail(write, f"Field not found in register: {name} in {register}")
        value = _value(write, name, unit, masters)
        if value >> field.width:
            emit_warning(write, f"value {value} exceeds field width {field.width}; its upper bits are cut off")
        write.value = i32_number(value << field.lo & field.mask)
        write.mask = i32_number(field.mask)
        write.field = None


def _master_ports(config: TraceConfigOp) -> set[tuple[str, str]]:
    """Register and slot (`Port_1`) of the ports that are masters."""
    return {
        (write.reg_name.data, write.field.data.removesuffix(MASTER_SUFFIX))
        for write in config.writes
        if write.field is not None
        and write.field.data.endswith(MASTER_SUFFIX)
        and isinstance(write.value, IntegerAttr)
        and write.value.value.data != 0
    }


def _value(write: TraceRegOp, field: str, unit: EventUnit, masters: set[tuple[str, str]]) -> int:
    """The number that a field is to hold, whether it is given as such, as an event or as a port."""
    match write.value:
        case IntegerAttr() as number:
            return number.value.data & WORD_MASK
        case StringAttr(data=text) if ":" not in text or "::" in text:
            return event_number(write, unit, text.rpartition("::")[2])
        case StringAttr(data=text):
            port = _port_number(unit, text, master=(write.reg_name.data, field.removesuffix(ID_SUFFIX)) in masters)
            if port is None:
                fail(write, f"Failed to resolve port value: {text}")
            return port
        case _:
            fail(write, "Unsupported value type in pack pass")


def _port_number(unit: EventUnit, text: str, *, master: bool) -> int | None:
    """The number of a port such as `North:1` among the masters or the slaves of the tile's switch."""
    bundle, _, channel = text.partition(":")
    if bundle.lower() not in BUNDLES or not channel.isdecimal():
        return None
    switch = unit.model.architecture.switches[unit.tile_type]
    return switch.port_number(BUNDLES[bundle.lower()], int(channel), master=master)


def _merge_writes(config: TraceConfigOp) -> None:
    """Let the first masked write to a register take in the later ones."""
    firsts: dict[str, TraceRegOp] = {}
    for write in config.writes:
        if write.mask is not None:
            first = firsts.setdefault(write.reg_name.data, write)
            if first is not write:
                _absorb(first, write)
                Rewriter.erase_op(write)


def _absorb(first: TraceRegOp, write: TraceRegOp) -> None:
    ours, theirs = (op.mask.value.data & WORD_MASK for op in (first, write) if op.mask is not None)
    if ours & theirs:
        text = f"Overlapping masks for register {first.reg_name.data}: mask1={ours} mask2={theirs}"
        fail(first, text, (write, "this write sets some of the same bits"))
    if not (isinstance(first.value, IntegerAttr) and isinstance(write.value, IntegerAttr)):
        fail(first, "Expected integer values for packed register writes")
    first.value = i32_number(first.value.value.data | write.value.value.data)
    first.mask = i32_number(ours | theirs)
    comments = [op.comment.data for op in (first, write) if op.comment is not None and op.comment.data]
    first.comment = StringAttr(" + ".join(comments)) if comments else None
