"""Takes the programs of cores out of a device: each becomes a function, for LLVM to compile.

Buffers become globals, what a core says to the array becomes calls of intrinsics, and the device goes away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, i32
from xdsl.ir import Attribute, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import TileId
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.tiles import DEFAULT_DEVICE_NAME, DeviceOp
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.dialects.memref import GlobalOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import symbol_in
from tilewright.passes.design.standard_lowering.core_intrinsics import Intrinsics
from tilewright.passes.design.standard_lowering.core_operations import patterns_for
from tilewright.rewrite.folding.building import create
from tilewright.rewrite.insertion import building
from tilewright.rewrite.legalization import convert

ALIGNMENT_BYTES = 32
"""Where buffers begin, as far as vector code may rely on it."""
TRIPLE, DATA_LAYOUT = "llvm.target_triple", "dlti.dl_spec"
Choice: TypeAlias = "Callable[[TileId | None], bool]"


@dataclass(frozen=True)
class StandardLoweringPass(Pass):
    name = "aie-standard-lowering"

    device: str = field(default="", metadata={"help": "the device to take programs from, main unless given"})
    tilecol: int = field(default=-1, metadata={"help": "column of the one core to take"})
    tilerow: int = field(default=-1, metadata={"help": "row of the one core to take"})

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        device = _find_device(op, self.device)
        intrinsics = Intrinsics(device.model.arch)
        _describe_target(op, device, intrinsics)
        _insert_at_start(op, intrinsics.declarations())
        buffers = [child for child in device.walk() if isinstance(child, BufferOp)]
        functions = _outline(device, self._takes)
        for buffer in buffers:
            _make_global(op, device, buffer, self._takes)
        for function in functions:
            _refuse_leftovers(function, device)
        _erase_devices(op)
        convert(op, patterns_for(intrinsics.arch), add_error=False)

    def _takes(self, place: TileId | None) -> bool:
        return place is not None and self.tilecol in (-1, place.column) and self.tilerow in (-1, place.row)


def _find_device(module: ModuleOp, name: str) -> DeviceOp:
    device = symbol_in(module, name or DEFAULT_DEVICE_NAME)
    if not isinstance(device, DeviceOp):
        known = ", ".join(op.sym_name.data for op in module.ops if isinstance(op, DeviceOp)) or "none"
        text = f"No such device: {name}" if name else "No 'main' device in module"
        fail(module, text, (module, f"the option `device` chooses one of those that there are: {known}"))
    return device


def _describe_target(module: ModuleOp, device: DeviceOp, intrinsics: Intrinsics) -> None:
    layout = device.attributes.get(DATA_LAYOUT)
    if layout is not None:
        module.attributes[DATA_LAYOUT] = layout
    module.attributes[TRIPLE] = StringAttr(intrinsics.triple)


def _insert_at_start(module: ModuleOp, ops: Iterable[Operation]) -> None:
    Rewriter.insert_op(list(ops), InsertPoint.at_start(module.body.block))


def _outline(device: DeviceOp, takes: Choice) -> list[Operation]:
    """Move globals and functions before the device, and the programs of cores behind it; gives all functions."""
    moved = [op for kind in (GlobalOp, FuncOp) for op in device.body.ops if isinstance(op, kind)]
    for op in moved:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(device))
    cores = [op for op in device.body.ops if isinstance(op, CoreOp)]
    programs = [_function_of(core, place) for core in cores if takes(place := _place_of(core))]
    for function in programs:
        Rewriter.insert_op(function, InsertPoint.after(device))
    return [*moved, *programs]


def _place_of(core: CoreOp) -> TileId:
    if core.place is None:
        fail_op(core, "is on a tile that is not placed; run --aie-place-tiles first")
    return core.place


def _function_of(core: CoreOp, place: TileId) -> FuncOp:
    body = Region()
    core.body.move_blocks(body)
    for block in body.blocks:
        if isinstance(block.last_op, EndOp):
            end = ReturnOp()
            end.location = block.last_op.location
            Rewriter.replace_op(block.last_op, end)
    function = FuncOp(f"core_{place.column}_{place.row}", ((), ()), body)
    function.location = core.location
    return function


def _make_global(module: ModuleOp, device: DeviceOp, buffer: BufferOp, takes: Choice) -> None:
    """Put a global in place of a buffer; only the program of its own tile says what is in it at the start."""
    if buffer.sym_name is None:
        fail_op(buffer, "has no name; run --aie-assign-buffer-addresses first, which gives it one")
    properties: dict[str, Attribute] = {
        "sym_name": buffer.sym_name,
        "sym_visibility": StringAttr("public"),
        "type": buffer.buffer.type,
    }
    if buffer.initial_value is not None and takes(buffer.place):
        properties["initial_value"] = buffer.initial_value
    made = create("memref.global", properties=properties)
    made.location = buffer.location
    _insert_at_start(module, [made])
    for use in list(buffer.buffer.uses):
        if not device.is_ancestor(use.operation):
            _get_global(buffer, buffer.sym_name, use.operation, use.index)
    if not device.is_ancestor(buffer):
        Rewriter.erase_op(buffer)


def _get_global(buffer: BufferOp, name: StringAttr, user: Operation, index: int) -> None:
    build, type = building(InsertPoint.before(user), buffer.location), buffer.buffer.type
    found = build.insert(create("memref.get_global", (), [type], {"name": SymbolRefAttr(name)}))
    alignment = IntegerAttr(ALIGNMENT_BYTES, i32)
    build.insert(create("memref.assume_alignment", found.results, [type], {"alignment": alignment}))
    user.operands[index] = found.results[0]


def _refuse_leftovers(function: Operation, device: DeviceOp) -> None:
    """A function cannot use what stays behind in the device."""
    for op in function.walk():
        for operand in op.operands:
            owner = operand.owner
            if not isinstance(owner, Operation) or not device.is_ancestor(owner):
                continue
            if isinstance(owner, LockOp):
                text = "uses a lock that the core knows by a number; run --aie-localize-locks first"
                fail_op(op, text, (owner, "this is it"))
            fail_op(op, "uses a value of the device in the program of a core", (owner, "which is this one"))


def _erase_devices(module: ModuleOp) -> None:
    for child in list(module.ops):
        if isinstance(child, DeviceOp):
            child.detach()
            child.erase(safe_erase=False)
