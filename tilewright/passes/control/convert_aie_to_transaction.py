"""Turns the configuration of a device into register writes, in a runtime sequence of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.configure import ConfigureOp, RunOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.passes.control.configuration import configuration_of
from tilewright.passes.control.configuration.instructions import insert_transaction

SEQUENCE = "configure"


@dataclass(frozen=True)
class ConvertAieToTransactionPass(Pass):
    name = "convert-aie-to-transaction"
    anchor = "aie.device"

    elf_dir: str = field(default="", metadata={"help": "where the ELF files are that cores name"})
    device_name: str = field(default="", metadata={"help": "the device to configure (all if not given)"})
    load_elfs: bool = field(default=True, metadata={"help": "load those files; if false, cores keep their programs"})

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        if self.device_name in ("", op.sym_name.data):
            configuration = configuration_of(op, Path(self.elf_dir) if self.load_elfs else None)
            insert_transaction(op, configuration.writes, configuration_start(op))


def configuration_start(device: DeviceOp) -> InsertPoint:
    """Where the configuration of a device goes.

    That is in place of the first `aiex.configure`, before what that holds; else into a new sequence.
    """
    configure = next((op for op in _sequence_ops(device) if isinstance(op, ConfigureOp)), None)
    if configure is not None:
        return _dissolved(configure)
    sequence = RuntimeSequenceOp(name=_new_name(device))
    sequence.location = device.location
    Rewriter.insert_op(sequence, InsertPoint.at_start(device.body))
    return InsertPoint.at_end(sequence.body.block)


def _sequence_ops(device: DeviceOp) -> list[Operation]:
    sequences = [op for op in device.body.ops if isinstance(op, RuntimeSequenceOp)]
    return [op for sequence in sequences for op in sequence.walk()]


def _dissolved(configure: ConfigureOp) -> InsertPoint:
    """Put what is in it after it, and take it away; returns where it was."""
    block, following = configure.parent, configure.next_op
    assert block is not None
    inside = configure.inside
    for op in inside:
        # A run is verified to be inside of a configure, so it cannot be taken out of one.
        if isinstance(op, RunOp):
            remedy = (op, "run --aie-materialize-runtime-sequences first: it puts what is run in the place of this")
            fail_op(op, f"expects parent op '{ConfigureOp.name}'", remedy)
        op.detach()
    Rewriter.insert_op(inside, InsertPoint.after(configure))
    first = inside[0] if inside else following
    Rewriter.erase_op(configure)
    return InsertPoint.at_end(block) if first is None else InsertPoint.before(first)


def _new_name(device: DeviceOp) -> str:
    name, number = SEQUENCE, 0
    while device.lookup(name) is not None:
        name, number = f"{SEQUENCE}{number}", number + 1
    return name
