"""Finds arguments of runtime sequences whose types are one tile of what the host gives, and so no bound of it."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.lookup import lookup_symbol
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.configure import RunOp
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskForOp
from tilewright.ir.pass_manager import Pass


class FindTileArgumentsPass(Pass):
    """Not one of mlir-aie's: run it while there are ObjectFifos.

    Objects go whole through an ObjectFifo. Where a buffer is declared as one object, and how much of it is moved or
    from where depends on a number of the run, all other numbers than one object from its start would be wrong: what is
    declared is an object, and the host has some number of them.
    """

    name = "tilewright-find-tile-arguments"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in [child for child in op.body.ops if isinstance(child, RuntimeSequenceOp)]:
            for fifo_name, buffer, numbers in _transfers(sequence):
                fifo = lookup_symbol(op, fifo_name)
                if buffer.owner is sequence.body.block and isinstance(fifo, ObjectFifoOp):
                    is_object = _size_bytes(buffer.type) == _size_bytes(fifo.fifo_type.element_type)
                    if is_object and any(map(_varies, numbers)):
                        sequence.add_tile(buffer)
            for run in [inner for inner in sequence.walk() if isinstance(inner, RunOp)]:
                _pass_on(run, sequence)


def _pass_on(run: RunOp, caller: RuntimeSequenceOp) -> None:
    """What is a tile to a sequence of a device before is one to those that run it."""
    callee = run.sequence
    for number in [] if callee is None else callee.tile_arguments:
        given = run.args[number]
        if isinstance(given, BlockArgument) and given.owner is caller.body.block:
            caller.add_tile(given)


def _transfers(sequence: RuntimeSequenceOp) -> Iterator[tuple[SymbolRefAttr, BlockArgument, list[SSAValue]]]:
    """The transfers of whole arguments: through which ObjectFifo, of which argument, and by which numbers."""
    for op in sequence.walk():
        match op:
            case NpuDmaMemcpyNdOp(memref=BlockArgument() as buffer):
                yield op.metadata, buffer, [*op.operands[1:]]
            case DmaConfigureTaskForOp():
                for bd in op.walk():
                    if isinstance(bd, DmaBdOp) and isinstance(bd.buffer, BlockArgument):
                        yield op.alloc, bd.buffer, [*bd.operands[1:]]
            case _:
                pass


def _size_bytes(type: Attribute) -> int | None:
    elements = element_count(type)
    return None if elements is None else elements * element_bytes(type)


def _varies(number: SSAValue) -> bool:
    """Whether it is computed from an argument of the sequence, or the number of a turn."""
    open, seen = [number], set[SSAValue]()
    while open:
        value = open.pop()
        if isinstance(value, BlockArgument):
            return True
        if value not in seen and isinstance(value.owner, Operation):
            seen.add(value)
            open += value.owner.operands
    return False
