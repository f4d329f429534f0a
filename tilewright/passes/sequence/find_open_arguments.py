"""Finds arguments of runtime sequences whose types are the size of one problem, and no bound of what the host gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import ops_of


class FindOpenArgumentsPass(Pass):
    """Not one of mlir-aie's: run it while there are ObjectFifos.

    How many objects go through an ObjectFifo may be a number of the run. Then one design serves problems of many sizes,
    and what is declared is one of them. Where it is a single object, a number that says from where is enough: another
    part of it would be no object.
    """

    name = "tilewright-find-open-arguments"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in ops_of(op.body.ops, RuntimeSequenceOp):
            for transfer in _transfers(sequence):
                fifo = lookup_symbol(op, transfer.fifo)
                if transfer.buffer.owner is sequence.body.block and isinstance(fifo, ObjectFifoOp):
                    is_object = _size_bytes(transfer.buffer.type) == _size_bytes(fifo.fifo_type.element_type)
                    numbers = [*transfer.extent, *(transfer.offset if is_object else ())]
                    if any(map(_varies, numbers)):
                        sequence.make_open(transfer.buffer)
            for run in ops_of(all_operations(sequence), RunOp):
                _pass_on(run, sequence)


def _pass_on(run: RunOp, caller: RuntimeSequenceOp) -> None:
    """What is open in a sequence of a device before is open in those that run it."""
    callee = run.sequence
    for number in [] if callee is None else callee.open_arguments:
        given = run.args[number]
        if isinstance(given, BlockArgument) and given.owner is caller.body.block:
            caller.make_open(given)


class _Transfer(NamedTuple):
    """A transfer of an argument: through which ObjectFifo, and by which numbers."""

    fifo: SymbolRefAttr
    buffer: BlockArgument
    extent: Sequence[SSAValue]
    offset: Sequence[SSAValue]


def _transfers(sequence: RuntimeSequenceOp) -> Iterator[_Transfer]:
    for op in ops_of(all_operations(sequence), NpuDmaMemcpyNdOp, DmaConfigureTaskForOp):
        match op:
            case NpuDmaMemcpyNdOp(memref=BlockArgument() as buffer):
                yield _Transfer(op.metadata, buffer, [*op.sizes, *op.strides], op.offsets)
            case DmaConfigureTaskForOp():
                for bd in ops_of(all_operations(op), DmaBdOp):
                    if isinstance(bd.buffer, BlockArgument):
                        extent = [*bd.sizes, *bd.strides, *([bd.len] if bd.len else [])]
                        yield _Transfer(op.alloc, bd.buffer, extent, [bd.offset] if bd.offset else [])
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
