"""Loading a herd: its cores get their parameters and are released."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, SymbolRefAttr, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.attributes import UI32
from tilewright.dialects.aiex.control import SetLockOp
from tilewright.dialects.aiex.instructions import NpuWriteRTPOp
from tilewright.dialects.airrt.loading import HerdLoadOp
from tilewright.dialects.airrt.metadata import HerdMetadataOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.airrt_to_npu.devices import device_named, devices_in
from tilewright.passes.air.shim.host_transfers import LAUNCH_WAVE
from tilewright.rewrite.folding.building import NO_OVERFLOW_FLAGS, create
from tilewright.rewrite.folding.constants import int_width, make_constant, number_attr, scalar_int, width_of
from tilewright.rewrite.insertion import building_before

PLACE = "loc_x", "loc_y", "size_x", "size_y"


def load_herd(op: HerdLoadOp, module: ModuleOp) -> None:
    """Write the values that a herd is loaded with to each of its cores, and set the lock that they wait for."""
    column, row, columns, rows = _place(op, module)
    segment = op.attributes.get("segment_name")
    name = getattr(segment, "data", None)
    device = None if name is None else device_named(module, name)
    build = building_before(op)
    for x in range(column, column + columns):
        for y in range(row, row + rows):
            _load_core(op, f"{x}_{y}", device, [device] if device else devices_in(module), build)
    Rewriter.erase_op(op)


def _place(op: HerdLoadOp, module: ModuleOp) -> list[int]:
    for found in module.walk():
        if isinstance(found, HerdMetadataOp) and found.sym_name == op.sym_name:
            numbers = [found.attributes.get(name) for name in PLACE]
            known = [number.value.data for number in numbers if isinstance(number, IntegerAttr)]
            if len(known) == len(PLACE):
                return known
    fail_op(
        op,
        "airrt.herd_metadata missing or incomplete.",
        (module, f"add an airrt.herd_metadata of this name with {', '.join(PLACE)}"),
    )


def _load_core(op: HerdLoadOp, place: str, device: DeviceOp | None, homes: list[DeviceOp], build: Builder) -> None:
    wave = op.attributes.get(LAUNCH_WAVE)

    def insert(new: Operation) -> None:
        if wave is not None:
            new.attributes[LAUNCH_WAVE] = wave
        build.insert(new)

    buffer = f"__air_herd_rtp_{place}"
    if any(home.lookup(buffer) is not None for home in homes):
        for slot, value in enumerate(value for value in op.rtp if width_of(value.type) is not None):
            word = _as_word(value, build)
            if word is not None:
                properties = {"buffer": SymbolRefAttr(buffer), "index": IntegerAttr(slot, UI32)}
                insert(NpuWriteRTPOp.create(operands=[word], properties=properties))
    lock = device.lookup(f"__air_herd_lock_{place}") if device is not None and op.rtp else None
    if isinstance(lock, LockOp):
        insert(SetLockOp(lock.result, 1))


def _as_word(value: SSAValue, build: Builder) -> SSAValue | None:
    """An integer as the 32 bits that a parameter has; None for numbers that are no integers."""
    if int_width(value.type) is None:
        return None
    number = scalar_int(value)
    if number is not None:
        return build.insert(make_constant(number_attr(number, i32))).results[0]
    if isinstance(value.type, IndexType):
        return build.insert(create("arith.index_cast", (value,), (i32,))).results[0]
    width = width_of(value.type) or 32
    if width == 32:
        return value
    flags = {"overflowFlags": NO_OVERFLOW_FLAGS} if width > 32 else {}
    return build.insert(create("arith.trunci" if width > 32 else "arith.extui", (value,), (i32,), flags)).results[0]
