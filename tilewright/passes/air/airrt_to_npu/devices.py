"""Devices of host functions: which one a function works with, and the main device that runs the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import DeviceName
from tilewright.dialects import affine
from tilewright.dialects._ods import enum_value
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.configure import ConfigureOp, RunOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.airrt.loading import HerdLoadOp, SegmentLoadOp
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.ir.diagnostics import fail
from tilewright.passes.air.shim.loops import constant_bounds
from tilewright.rewrite.folding.regions import only_block

LAUNCH_LABEL = "affine_opt_label"
MAIN = "main"


@dataclass(frozen=True)
class LaunchRegion:
    """A loop that a launch became, and the device that it loads."""

    loop: affine.ForOp
    device: DeviceOp


@dataclass(frozen=True)
class MainProgram:
    """The function that ran several devices: its name, and the devices in the order in which it ran them."""

    function: FuncOp
    name: str
    devices: Sequence[DeviceOp]


def devices_in(module: ModuleOp) -> list[DeviceOp]:
    return [op for op in module.walk() if isinstance(op, DeviceOp)]


def functions_in(op: Operation) -> list[FuncOp]:
    return [found for found in op.walk() if isinstance(found, FuncOp) and found.body.first_block is not None]


def device_named(module: ModuleOp, name: str) -> DeviceOp | None:
    return next((device for device in devices_in(module) if device.sym_name.data == name), None)


def place_functions(module: ModuleOp, *, always_split: bool) -> MainProgram | None:
    """Move each function that loads segments or herds into their device; one that loads several is split."""
    main: MainProgram | None = None
    for function in functions_in(module):
        loads = [op for op in function.walk() if isinstance(op, SegmentLoadOp | HerdLoadOp)]
        regions = list(_launch_regions(function, module))
        if not regions:
            for load in loads:
                device = device_named(module, load.sym_name.data)
                if device is not None:
                    _move_into(function, device)
        # one device needs no other to run it, unless an ELF is made
        elif len({region.device for region in regions}) == 1 and not always_split:
            _move_into(function, regions[0].device)
        else:
            main = _split(function, regions)
    return main


def _launch_regions(function: FuncOp, module: ModuleOp) -> Iterator[LaunchRegion]:
    for loop in function.walk():
        if isinstance(loop, affine.ForOp) and LAUNCH_LABEL in loop.attributes and constant_bounds(loop) == range(1):
            for op in loop.walk():
                if isinstance(op, SegmentLoadOp | HerdLoadOp):
                    device = device_named(module, op.sym_name.data)
                    if device is not None:
                        yield LaunchRegion(loop, device)


def _move_into(function: FuncOp, device: DeviceOp) -> None:
    function.detach()
    _add(function, device)


def _add(function: FuncOp, device: DeviceOp) -> None:
    end = device.body.last_op
    assert end is not None
    Rewriter.insert_op(function, InsertPoint.before(end))


def _split(function: FuncOp, regions: Sequence[LaunchRegion]) -> MainProgram:
    """A function for each device, with what comes before all launches and the launches that load the device."""
    devices = list(dict.fromkeys(region.device for region in regions))
    # upstream's words
    if len({device.device for device in devices}) > 1:
        fail(function, "Multiple devices with different device types are not supported")
    launches = {region.loop for region in regions}
    prologue = [op for op in only_block(function.body).ops if op not in launches and not isinstance(op, ReturnOp)]
    for device in devices:
        _part_for(function, device, [*prologue, *(region.loop for region in regions if region.device is device)])
    function.detach()
    return MainProgram(function, function.sym_name.data, [region.device for region in regions])


def _part_for(function: FuncOp, device: DeviceOp, ops: Sequence[Operation]) -> None:
    block = only_block(function.body)
    body = Block(arg_types=block.arg_types)
    copies: dict[SSAValue, SSAValue] = dict(zip(block.args, body.args, strict=True))
    for old, new in zip(block.args, body.args, strict=True):
        new.name_hint = old.name_hint
    # a launch with several loads of the device is in the list as often
    for op in dict.fromkeys(ops):
        body.add_op(op.clone(copies))
    body.add_op(ReturnOp())
    type = FunctionType.from_lists(list(block.arg_types), [])
    part = FuncOp(sequence_name(device), type, Region(body), StringAttr("public"))
    part.location = function.location
    _add(part, device)


def sequence_name(device: DeviceOp) -> str:
    return f"{device.sym_name.data}_sequence"


def sequences_in(device: DeviceOp) -> list[RuntimeSequenceOp]:
    return [op for op in device.body.ops if isinstance(op, RuntimeSequenceOp)]


def run_devices(module: ModuleOp, program: MainProgram) -> None:
    """A main device that configures and runs the devices of a program that was split."""
    runs = [(device, sequence) for device in program.devices for sequence in sequences_in(device)]
    runs = [(device, sequence) for device, sequence in runs if sequence.sym_name.data == sequence_name(device)]
    if runs:
        _add_main(module, program.name, runs)


def run_only_device(module: ModuleOp) -> None:
    """A main device around the one that there is."""
    devices = devices_in(module)
    sequences = sequences_in(devices[0]) if len(devices) == 1 else []
    if not sequences or devices[0].sym_name.data == MAIN:
        return
    device, sequence = devices[0], sequences[-1]
    name = sequence.sym_name.data
    sequence.properties["sym_name"] = StringAttr(sequence_name(device))
    _add_main(module, name, [(device, sequence)])


def _add_main(module: ModuleOp, name: str, runs: Sequence[tuple[DeviceOp, RuntimeSequenceOp]]) -> None:
    first, called = runs[0]
    main = RuntimeSequenceOp(called.body.block.arg_types, name)
    for device, sequence in runs:
        run = RunOp(sequence.sym_name.data, main.body.block.args)
        configure = ConfigureOp.create(
            properties={"symbol": SymbolRefAttr(device.sym_name.data)}, regions=[Region(Block([run]))]
        )
        main.body.block.add_op(configure)
    new = DeviceOp(enum_value(DeviceName, first.device), [main], MAIN)
    new.location = first.location
    Rewriter.insert_op(new, InsertPoint.at_end(module.body.block))


def add_reset_device(device: DeviceOp) -> None:
    """A copy of a device without programs, which loads faster and sets locks and DMAs back between launches."""
    name = f"{device.sym_name.data}_reset"
    copy = device.clone()
    copy.properties["sym_name"] = StringAttr(name)
    for sequence in sequences_in(copy):
        Rewriter.erase_op(sequence)
    for core in [op for op in copy.body.ops if isinstance(op, CoreOp)]:
        regions = [Region(Block([EndOp()]))]
        Rewriter.replace_op(core, CoreOp.create(operands=[core.tile], result_types=core.result_types, regions=regions))
    Rewriter.insert_op(copy, InsertPoint.before(device))
    # the loads between launches, which name the device itself until now
    for op in device.walk():
        if isinstance(op, NpuLoadPdiOp) and op.device_ref == SymbolRefAttr(device.sym_name.data):
            op.properties["device_ref"] = SymbolRefAttr(name)
