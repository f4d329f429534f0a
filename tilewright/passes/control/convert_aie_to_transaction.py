"""Turns the configuration of a device into register writes, in a runtime sequence of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path

from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.configure import ConfigureOp, RunOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.passes.control.configuration import configuration_of
from tilewright.passes.control.configuration.instructions import insert_transaction
from tilewright.rewrite.pass_bases import DevicePass, ops_of
from tilewright.rewrite.sequence_inlining import dissolve

SEQUENCE = "configure"  # where --aie-npu-to-cert looks for what a load of the device does


@dataclass(frozen=True)
class ConvertAieToTransactionPass(DevicePass):
    name = "convert-aie-to-transaction"

    elf_dir: str = field(default="", metadata={"help": "where the ELF files are that cores name"})
    device_name: str = field(default="", metadata={"help": "the device to configure (all if not given)"})
    load_elfs: bool = field(default=True, metadata={"help": "load those files; if false, cores keep their programs"})

    def apply_to(self, device: DeviceOp) -> None:
        if self.device_name in ("", device.sym_name.data):
            configuration = configuration_of(device, Path(self.elf_dir) if self.load_elfs else None)
            insert_transaction(device, configuration.writes, configuration_start(device))


def configuration_start(device: DeviceOp) -> InsertPoint:
    """Where the configuration of a device goes.

    That is in place of the first `aiex.configure`, before what that holds; else into a new sequence.
    """
    sequences = ops_of(device.body.ops, RuntimeSequenceOp)
    configures = [op for sequence in sequences for op in ops_of(all_operations(sequence), ConfigureOp)]
    if configures:
        return _dissolved(configures[0])
    names = chain([SEQUENCE], (f"{SEQUENCE}{number}" for number in count()))
    sequence = RuntimeSequenceOp(name=next(name for name in names if device.lookup(name) is None))
    sequence.location = device.location
    Rewriter.insert_op(sequence, InsertPoint.at_start(device.body))
    return InsertPoint.at_end(sequence.body.block)


def _dissolved(configure: ConfigureOp) -> InsertPoint:
    """Put what is in it in its place; returns where that begins."""
    block, inside = configure.parent, configure.inside
    assert block is not None
    for run in ops_of(inside, RunOp):
        # A run is verified to be inside of a configure, so it cannot be taken out of one.
        remedy = (run, "run --aie-materialize-runtime-sequences first: it puts what is run in the place of this")
        fail_op(run, f"expects parent op '{ConfigureOp.name}'", remedy)
    first = inside[0] if inside else configure.next_op
    dissolve(configure)
    return InsertPoint.at_end(block) if first is None else InsertPoint.before(first)
