"""A device that runs the others: what a loader calls where a program is more than one configuration."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import DeviceName
from tilewright.dialects._ods import enum_value
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.configure import ConfigureOp, RunOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.passes.air.airrt_to_npu.devices import MainProgram, devices_in, sequence_name

MAIN = "main"


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
        empty = CoreOp.create(
            operands=[core.tile], result_types=[r.type for r in core.results], regions=[Region(Block([EndOp()]))]
        )
        Rewriter.insert_op(empty, InsertPoint.before(core))
        for old, new in zip(core.results, empty.results, strict=True):
            old.replace_all_uses_with(new)
        Rewriter.erase_op(core)
    Rewriter.insert_op(copy, InsertPoint.before(device))
    for op in device.walk():
        if isinstance(op, NpuLoadPdiOp) and op.device_ref == SymbolRefAttr(device.sym_name.data):
            op.properties["device_ref"] = SymbolRefAttr(name)
