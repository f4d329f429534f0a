"""Has the generated code check the runtime values of instructions that the program itself spells out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import SymbolRefAttr, i32
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
    NpuWriteWordsOp,
)
from tilewright.dialects.aiex.queue import NpuAddressPatchOp
from tilewright.dialects.aiex.resolution import TILE_OFFSET
from tilewright.dialects.aiex.runtime_fields import known_word
from tilewright.dialects.aiex.write_bd import NpuWriteBdOp
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations
from tilewright.passes.sequence.instruction_writes import check_descriptor, kinds_of_rows
from tilewright.passes.sequence.limit_checks import Guards, LimitChecks
from tilewright.rewrite.emitter import Emitter, known
from tilewright.rewrite.exact_arithmetic import Numbers
from tilewright.rewrite.locating_rewriter import LocatingRewriter, Worklist
from tilewright.rewrite.pass_bases import ops_of
from tilewright.txn.opcodes import FIRST_FOLDED_ARGUMENT, largest_offset

WORD_LIMITS = -(1 << 31), (1 << 32) - 1  # a word is written with a sign or without one
MAX_ARGUMENT = (1 << 31) - 1
MAX_TOKEN_FIELD = 0xFF  # what the command processor has for each number of a wait


class GuardInstructionsPass(Pass):
    """Not one of mlir-aie's: run it before lowerings, whose own instructions need no checks."""

    name = "tilewright-guard-instructions"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in ops_of(op.body.ops, RuntimeSequenceOp):
            # A list, because guards are inserted into what is being walked.
            for found in ops_of(all_operations(sequence), *GUARDED):
                # What is never executed is removed later, and does no harm.
                if _is_reached(found, sequence):
                    _guard(found, op.model, LocatingRewriter(found, Worklist(sequence.body)))


def _is_reached(op: Operation, sequence: RuntimeSequenceOp) -> bool:
    """Whether an operation may be executed, by what is known of the branches and loops around it."""
    while (parent := op.parent_op()) is not None and parent is not sequence:
        match parent:
            case scf.IfOp():
                condition = known(parent.cond)
                taken = parent.true_region if condition else parent.false_region
                if condition is not None and op.parent_region() is not taken:
                    return False
            case scf.ForOp():
                lower, upper = known(parent.lb), known(parent.ub)
                if lower is not None and upper is not None and lower >= upper:
                    return False
            case _:
                pass
        op = parent
    return True


Guarded: TypeAlias = (
    NpuAddressPatchOp
    | NpuBlockWriteOp
    | NpuMaskPollOp
    | NpuMaskWrite32Op
    | NpuSyncOp
    | NpuWrite32Op
    | NpuWriteBdOp
    | NpuWriteRTPOp
    | NpuWriteWordsOp
    | scf.ForOp
)

GUARDED: tuple[type[Guarded], ...] = get_args(Guarded)


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
            # The lowering checks those with values: which limits they have depends on the tile.
            if not op.values:
                place = TileId(op.field("column"), op.field("row"))
                check_descriptor(checks, model, place, {name: op.number(name) for name in op.RUNTIME_FIELDS})
        case NpuWriteRTPOp():
            _guard_parameter(op, checks)
            _check_words(op, checks, {"value": WORD_LIMITS})
        case NpuWriteWordsOp():
            _guard_write(op, checks, model, [f"word {number}" for number in range(len(op.values))], len(op.values))
        case _:
            _guard_write(op, checks, model, ["value", "mask"][: len(op.operands) - 1])


def _check_words(op: Operation, checks: LimitChecks, limits: Mapping[str, tuple[int, int]]) -> None:
    """Check the operands of an instruction against these limits, and have them be of 32 bits."""
    emit = checks.numbers.emit
    for value, (name, (low, high)) in zip(op.operands, limits.items(), strict=True):
        checks.within(emit.widened(value), low, high, name)
    _as_words(op, emit)


def _as_words(op: Operation, emit: Emitter) -> None:
    for index, value in enumerate(op.operands):
        if value.type != i32:
            op.operands[index] = emit.number(emit.widened(value))


def _guard_sync(op: NpuSyncOp, checks: LimitChecks, model: DeviceModel) -> None:
    """What is waited for fits its fields, and is a channel of the tile, where that is known: no other has tokens."""
    names = ("column", "row", "direction", "channel", "number of columns", "number of rows")
    limits = {name: (0, 1 if name == "direction" else MAX_TOKEN_FIELD) for name in names}
    column, row, direction = (known_word(value) for value in op.operands[:3])
    limits |= {"column": (0, model.columns - 1)} if column is None else {}
    limits |= {"row": (0, model.rows - 1)} if row is None else {}
    _check_words(op, checks, limits)
    way = DmaDirection.S2MM if direction is None else DmaDirection(direction)  # tiles have as many channels both ways
    if row is not None:
        checks.channel(model, TileId(column or 0, row), way, op.channel)
        return
    most = max(model.num_dma_channels(*tile, way) for tile in model.tiles)
    checks.within(op.channel, 0, most - 1, f"{way.name} channel")
    for rows in kinds_of_rows(model):
        count = model.num_dma_channels(column or 0, rows[0], way)
        if count < most:
            numbers = checks.numbers
            is_here = numbers.all_of(numbers.greater(op.row, rows[0] - 1), numbers.at_most(op.row, rows[-1]))
            checks.within(numbers.select(is_here, op.channel, 0), 0, count - 1, f"{way.name} channel")


def _guard_write(
    op: NpuWrite32Op | NpuMaskWrite32Op | NpuMaskPollOp | NpuWriteWordsOp,
    checks: LimitChecks,
    model: DeviceModel,
    values: Sequence[str],
    count: int = 1,
) -> None:
    """An address is that of a word; one that is relative to a tile stays in it, and becomes absolute."""
    if op.buffer is not None:
        name, words = op.buffer.root_reference.data, _buffer_words(op, op.buffer)
        within = WORD_LIMITS if words is None else (0, words - count)
        _check_words(op, checks, {f"index of a word in '{name}'": within, **dict.fromkeys(values, WORD_LIMITS)})
        return
    _check_words(op, checks, dict.fromkeys(["address", *values], WORD_LIMITS))
    if op.column is not None and op.row is not None:
        base, address = model.tile_address(op.column.value.data, op.row.value.data, 0), known(op.address)
        # Programs do give the whole address of a register besides the tile that it is in.
        if address is None or address & ~TILE_OFFSET != base:
            checks.within(op.address, 0, TILE_OFFSET, "address in the tile")
        if address is None:
            emit = checks.numbers.emit
            op.operands[0] = emit.add(emit.constant(base), op.address)
            op.column = op.row = None
    checks.divisible(op.address, WORD_BYTES, "address")


def _buffer_words(op: Operation, buffer: SymbolRefAttr) -> int | None:
    """How many words there are in a buffer of the device."""
    device = parent_of_type(op, DeviceOp)
    found = lookup_symbol(device, buffer.root_reference.data) if device is not None else None
    if not isinstance(found, BufferOp) or (elements := element_count(found.result_types[0])) is None:
        return None
    return elements * element_bytes(found.result_types[0]) // WORD_BYTES


def _guard_parameter(op: NpuWriteRTPOp, checks: LimitChecks) -> None:
    """A parameter beyond the end of its buffer is some other one."""
    if (words := _buffer_words(op, op.buffer)) is not None:
        name = op.buffer.root_reference.data
        checks.within(op.index.value.data, 0, words - 1, f"index of a parameter in '{name}'")


def _guard_patch(op: NpuAddressPatchOp, checks: LimitChecks) -> None:
    """Any argument may be meant: a sequence need not declare all that its caller has."""
    numbers, emit = checks.numbers, checks.numbers.emit
    argument, offset = emit.widened(op.number("arg_idx")), emit.widened(op.arg_plus)
    checks.within(argument, 0, MAX_ARGUMENT, "number of the argument")
    if known(offset) is not None and op.arg_plus.type == i32:
        pass  # a number that is known has all 32 bits
    elif (number := known(argument)) is not None:
        checks.within(offset, 0, largest_offset(number), "offset in bytes")
    else:
        checks.within(offset, 0, largest_offset(0), "offset in bytes")
        is_folded = numbers.greater(argument, FIRST_FOLDED_ARGUMENT - 1)
        folded = numbers.select(is_folded, offset, 0)
        checks.within(folded, 0, largest_offset(FIRST_FOLDED_ARGUMENT), "offset in bytes")
    checks.divisible(offset, WORD_BYTES, "offset in bytes")
    register = op.addr.value.data if op.addr_val is None else emit.widened(op.addr_val)
    checks.within(register, *WORD_LIMITS, "address")
    checks.divisible(register, WORD_BYTES, "address")
    _as_words(op, emit)
