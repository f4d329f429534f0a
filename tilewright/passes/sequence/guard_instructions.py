"""Has the generated code check the runtime values of instructions that the program itself spells out."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.device import DeviceModel, DmaDirection, TileId
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects import scf
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.lookup import lookup_symbol, parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.guards import signed_limits
from tilewright.dialects.aiex.instructions import (
    NpuBlockWriteOp,
    NpuMaskPollOp,
    NpuMaskWrite32Op,
    NpuSyncOp,
    NpuWrite32Op,
    NpuWriteRTPOp,
)
from tilewright.dialects.aiex.queue import NpuAddressPatchOp
from tilewright.dialects.aiex.resolution import TILE_OFFSET
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp, field_violation, offset_violation
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations
from tilewright.passes.sequence.limit_checks import Guards, LimitChecks
from tilewright.rewrite.emitter import Emitter, known
from tilewright.rewrite.exact_arithmetic import Numbers
from tilewright.rewrite.locating_rewriter import LocatingRewriter, Worklist
from tilewright.txn.opcodes import largest_offset

MAX_TOKEN_FIELD = 0xFF  # what the command processor has for each number of a wait


class GuardInstructionsPass(Pass):
    """Not one of mlir-aie's: run it before lowerings, whose own instructions need no checks."""

    name = "tilewright-guard-instructions"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in [child for child in op.body.ops if isinstance(child, RuntimeSequenceOp)]:
            # A list, because guards are inserted into what is being walked.
            for found in [inner for inner in all_operations(sequence) if isinstance(inner, Guarded)]:
                _guard(found, op.model, LocatingRewriter(found, Worklist(sequence.body)))


Guarded: TypeAlias = (
    NpuAddressPatchOp
    | NpuBlockWriteOp
    | NpuMaskPollOp
    | NpuMaskWrite32Op
    | NpuSyncOp
    | NpuWrite32Op
    | NpuWriteBdOp
    | NpuWriteRTPOp
    | scf.ForOp
)


def _guard(op: Guarded, model: DeviceModel, rewriter: PatternRewriter) -> None:
    emit = Emitter(rewriter)
    checks = LimitChecks(op, Numbers(emit), Guards.FULL)
    match op:
        case NpuAddressPatchOp():
            _guard_patch(op, checks)
        case NpuSyncOp():
            _guard_sync(op, checks, model)
        case scf.ForOp():
            # One that does not get on would never end.
            checks.within(op.step, 1, signed_limits(op.step.type)[1], "step of the loop")
        case NpuBlockWriteOp():
            checks.divisible(op.address.value.data, 1 if op.buffer is not None else WORD_BYTES, "address")
        case NpuWriteBdOp():
            _guard_descriptor(op, checks, model)
        case NpuWriteRTPOp():
            _guard_parameter(op, checks)
        case _:
            _guard_write(op, checks, model, emit)


def _guard_sync(op: NpuSyncOp, checks: LimitChecks, model: DeviceModel) -> None:
    """What is waited for fits its fields, and is a channel of the tile, where that is known: no other has tokens."""
    names = ("column", "row", "direction", "channel", "number of columns", "number of rows")
    for name, value in zip(names, op.operands, strict=True):
        checks.within(value, 0, 1 if name == "direction" else MAX_TOKEN_FIELD, name)
    column, row, direction = (known(value) for value in op.operands[:3])
    if column is not None and row is not None and direction is not None:
        checks.channel(model, TileId(column, row), DmaDirection(direction), op.channel)


def _guard_write(
    op: NpuWrite32Op | NpuMaskWrite32Op | NpuMaskPollOp, checks: LimitChecks, model: DeviceModel, emit: Emitter
) -> None:
    """An address is that of a word; one that is relative to a tile stays in it, and becomes absolute."""
    if op.buffer is not None:
        return
    if op.column is not None and op.row is not None:
        base, address = model.tile_address(op.column.value.data, op.row.value.data, 0), known(op.address)
        # Programs do give the whole address of a register besides the tile that it is in.
        if address is None or address & ~TILE_OFFSET != base:
            checks.within(op.address, 0, TILE_OFFSET, "address in the tile")
        if address is None:
            op.operands[0] = emit.add(emit.constant(base), op.address)
            op.column = op.row = None
    checks.divisible(op.address, WORD_BYTES, "address")


def _guard_descriptor(op: NpuWriteBdOp, checks: LimitChecks, model: DeviceModel) -> None:
    place = TileId(op.field("column"), op.field("row"))
    checks.channel(model, place, DmaDirection.MM2S, 0)
    checks.descriptor_number(op.field("bd_id"), range(model.num_bds(*place)))
    if text := field_violation(model, op.numbers, as_bits=True) or offset_violation(model, op.numbers):
        fail_op(op, text)
    if op.field("use_next_bd"):
        checks.descriptor_number(op.field("next_bd"), range(model.num_bds(*place)), "number of the next descriptor")


def _guard_parameter(op: NpuWriteRTPOp, checks: LimitChecks) -> None:
    """A parameter beyond the end of its buffer is some other one."""
    device, name = parent_of_type(op, DeviceOp), op.buffer.root_reference.data
    buffer = lookup_symbol(device, name) if device is not None else None
    if isinstance(buffer, BufferOp) and (elements := element_count(buffer.result_types[0])) is not None:
        words = elements * element_bytes(buffer.result_types[0]) // WORD_BYTES
        checks.within(op.index.value.data, 0, words - 1, f"index of a parameter in '{name}'")


def _guard_patch(op: NpuAddressPatchOp, checks: LimitChecks) -> None:
    if known(op.arg_plus) is None:  # a number that is known has all 32 bits
        checks.within(op.arg_plus, 0, largest_offset(op.arg_idx.value.data), "offset in bytes")
    checks.divisible(op.arg_plus, WORD_BYTES, "offset in bytes")
