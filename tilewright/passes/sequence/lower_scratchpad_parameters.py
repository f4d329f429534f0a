"""Lowers parameters that the host passes through the firmware's scratchpad to cores and to addresses of descriptors.

Each parameter gets an entry of the scratchpad. A descriptor's address names the entry. A core reads a buffer of its
own, which the firmware fills from the entry when the sequence asks for it; until then the core waits for a lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BFloat16Type,
    BoolAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    SymbolRefAttr,
    i16,
    i32,
)
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import LockAction
from tilewright.dialects import arith
from tilewright.dialects._ods import enum_to_attr
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.lookup import parent_of_type, symbol_name
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.attributes import UI8, ParameterKind, StateTableFunction
from tilewright.dialects.aiex.control import SetLockOp
from tilewright.dialects.aiex.firmware import (
    STATE_TABLE_ENTRIES,
    NpuCreateScratchpadOp,
    NpuUpdateFromScratchpadOp,
)
from tilewright.dialects.aiex.instructions import NpuWrite32Op
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp
from tilewright.dialects.aiex.scratchpad import (
    ReadScratchpadParameterOp,
    ScratchpadParameterOp,
    SyncScratchpadParametersFromHostOp,
)
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.escapes import is_plain_word
from tilewright.ir.pass_manager import Pass
from tilewright.ir.shown import quoted, shown
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import ops_of
from tilewright.support.output_files import write_file

ENTRY_BYTES = 4
DONE = BoolAttr.from_bool(False)


@dataclass(frozen=True)
class LowerScratchpadParametersPass(Pass):
    name = "aie-lower-scratchpad-parameters"

    output_params_file: str = field(
        default="", metadata={"help": "write the name, entry, type and use of each parameter to this file"}
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        ops = all_operations(op)
        parameters = ops_of(ops, ScratchpadParameterOp)
        _assign_entries(op, parameters, ops)
        by_name = {parameter.sym_name.data: parameter for parameter in parameters}
        for transfer in _with(ops, "offset_parameter"):
            _name_entry(transfer, by_name)
        for device in ops_of(ops, DeviceOp):
            _lower_device(device, by_name)
        if self.output_params_file:
            _write_file(self.output_params_file, parameters_text(parameters))


def _assign_entries(module: ModuleOp, parameters: Sequence[ScratchpadParameterOp], ops: Sequence[Operation]) -> None:
    if len(parameters) > STATE_TABLE_ENTRIES:
        fail(
            module,
            f"Module declares {len(parameters)} parameters but the scratchpad supports at most {STATE_TABLE_ENTRIES}. "
            "The scratchpad is a single hardware resource shared by all PDIs loaded by a runtime sequence.",
            *((parameter, f"parameter '{parameter.sym_name.data}'") for parameter in parameters),
        )
    reads = {op.parameter.root_reference: op for op in ops_of(ops, ReadScratchpadParameterOp)}
    transfers = ((op, op.offset_parameter) for op in _with(ops, "offset_parameter"))
    offsets = {parameter.root_reference: op for op, parameter in transfers if parameter is not None}
    for index, parameter in enumerate(parameters):
        name = parameter.sym_name
        if name in reads and name in offsets:
            fail(
                parameter,
                f"parameter '{name.data}' is used both as an aiex.read_scratchpad_parameter source (core) and as a DMA "
                "offset_parameter (addr); a parameter must have a single kind",
                (reads[name], "a core reads it here"),
                (offsets[name], "it is an offset here"),
            )
        parameter.kind = enum_to_attr(ParameterKind.addr if name in offsets else ParameterKind.core)
        parameter.state_table_idx = IntegerAttr(index, UI8)


def _with(ops: Sequence[Operation], name: str) -> list[DmaBdOp | NpuDmaMemcpyNdOp]:
    """The transfers that have a property."""
    return ops_of([op for op in ops if name in op.properties], DmaBdOp, NpuDmaMemcpyNdOp)


def _name_entry(op: DmaBdOp | NpuDmaMemcpyNdOp, parameters: dict[str, ScratchpadParameterOp]) -> None:
    """Have a transfer name the scratchpad's entry instead of the parameter."""
    if op.offset_parameter is None:
        return
    name = op.offset_parameter.root_reference.data
    parameter = parameters.get(name)
    if parameter is None:
        fail_op(op, f"offset_parameter '{name}' not found. Declare it at module scope with aiex.scratchpad_parameter.")
    if parameter.type != i32:
        fail_op(
            op,
            f"offset_parameter '{name}' must have type i32, got {shown(parameter.type)}.",
            (parameter, "Parameter declared here."),
        )
    op.offset_state_table_idx = parameter.state_table_idx
    op.offset_parameter = None


def _lower_device(device: DeviceOp, parameters: dict[str, ScratchpadParameterOp]) -> None:
    ops = all_operations(device)
    reads = ops_of(ops, ReadScratchpadParameterOp)
    uses_parameters = bool(reads) or bool(_with(ops, "offset_state_table_idx"))
    # Before reads are lowered: after that no core is seen to read a parameter.
    waiting = [op for op in ops_of(ops, CoreOp) if _must_wait(op)]
    entries = lower_reads(device, reads, parameters)
    locks = [_wait_for_parameters(core) for core in waiting]
    for sequence in ops_of(ops, RuntimeSequenceOp):
        if _must_synchronize(sequence, uses_parameters and bool(parameters)):
            Emitter.at_start(sequence.body.block, sequence.location).insert(SyncScratchpadParametersFromHostOp())
            sequence.emit_parameter_sync_preamble = DONE
        _lower_synchronizations(sequence, len(parameters), entries, locks)


def _must_wait(core: CoreOp) -> bool:
    """Whether a core waits for its parameters: as it says, by default if it has some."""
    if core.emit_parameter_sync_preamble is not None:
        return bool(core.emit_parameter_sync_preamble)
    return any(isinstance(op, ReadScratchpadParameterOp) for op in core.walk())


def _wait_for_parameters(core: CoreOp) -> SSAValue:
    """Have a core begin by waiting for a new lock."""
    tile = core.tile_like
    assert tile is not None, "the verifier asks for a tile"
    lock = Emitter(InsertPoint.after(tile), core.location).insert(LockOp(core.tile, init=0))
    first = core.body.first_block
    assert first is not None, "the verifier asks for a body"
    build = Emitter.at_start(first, core.location)
    build.insert(UseLockOp(lock.result, LockAction.Acquire, build.constant(1)))
    core.emit_parameter_sync_preamble = DONE
    return lock.result


def _must_synchronize(sequence: RuntimeSequenceOp, uses_parameters: bool) -> bool:
    """Whether a sequence begins by passing parameters: as it says, by default if there are some and it never does."""
    if sequence.emit_parameter_sync_preamble is not None:
        return bool(sequence.emit_parameter_sync_preamble)
    return uses_parameters and not any(isinstance(op, SyncScratchpadParametersFromHostOp) for op in sequence.walk())


def _lower_synchronizations(
    sequence: RuntimeSequenceOp, parameters: int, entries: Sequence[Entry], locks: Sequence[SSAValue]
) -> None:
    """Have the firmware fill the buffers of the cores, and let the cores go on."""
    markers = ops_of(all_operations(sequence), SyncScratchpadParametersFromHostOp)
    for marker in markers:
        build = Emitter.before(marker)
        if parameters and marker is markers[0]:  # a sequence has one scratchpad, however often it is read
            build.insert(NpuCreateScratchpadOp(ENTRY_BYTES * parameters))
        for index, buffer in entries:
            address, zero = build.constants(0, 0)
            clear = NpuWrite32Op(address, zero)  # the firmware adds to what is there
            update = NpuUpdateFromScratchpadOp(StateTableFunction.incr, 0, state_table_idx=index, address=0)
            clear.buffer = update.buffer = SymbolRefAttr(buffer)
            build.insert(clear)
            build.insert(update)
        for lock in locks:
            build.insert(SetLockOp(lock, 1))
        Rewriter.erase_op(marker)


def parameters_text(parameters: Sequence[ScratchpadParameterOp]) -> str:
    """The file that tells a host program which entry of the scratchpad each parameter has."""
    lines = [str(len(parameters))]
    for parameter in parameters:
        assert parameter.state_table_idx is not None, "every parameter has been given an entry"
        entry = parameter.state_table_idx.value.data
        if not is_plain_word(parameter.sym_name.data):
            fail_op(parameter, "has a name that is not one word in the file of parameters")
        lines.append(f"{parameter.sym_name.data} {entry} {shown(parameter.type)} {parameter.usage}")
    return "".join(f"{line}\n" for line in lines)


def _write_file(path: str, text: str) -> None:
    try:
        write_file(path, text.encode())
    except (OSError, ValueError) as error:
        fail(None, f"failed to open params output file '{path}': {getattr(error, 'strerror', None) or error}")


BUFFER = MemRefType(i32, [2])  # the firmware writes pairs of words
SHIFT = 2  # it forces the low bits of the first word to zero, so the host shifts what it passes


class Entry(NamedTuple):
    """An entry of the scratchpad, and the buffer that it is for."""

    number: int
    buffer: str


def lower_reads(
    device: DeviceOp, reads: Sequence[ReadScratchpadParameterOp], parameters: dict[str, ScratchpadParameterOp]
) -> list[Entry]:
    """Give each core a buffer for each parameter that it reads, and read that. Returns how to fill the buffers."""
    names, numbers = {symbol_name(op) for op in device.body.ops}, count()
    buffers: dict[tuple[str, TileOp], BufferOp] = {}
    entries: list[Entry] = []
    for read in reads:
        parameter, tile = read.parameter.root_reference.data, _tile_of(read)
        if (parameter, tile) not in buffers:
            prefix = f"__param_{parameter}_{tile.place.column}_{tile.place.row}_"
            name = next(name for number in numbers if (name := f"{prefix}{number}") not in names)
            buffer = BufferOp(tile.result, BUFFER, name)
            buffers[parameter, tile] = Emitter(InsertPoint.after(tile), read.location).insert(buffer)
            index = parameters[parameter].state_table_idx
            assert index is not None, "every parameter has been given an entry"
            entries.append(Entry(index.value.data, name))
        _lower_read(read, buffers[parameter, tile])
    return entries


def _tile_of(read: ReadScratchpadParameterOp) -> TileOp:
    core = parent_of_type(read, CoreOp)
    tile = core.tile.owner if core is not None else None
    if not isinstance(tile, TileOp):
        fail_op(read, "cannot be lowered in a core whose tile is not placed; run placement first")
    return tile


def _lower_read(read: ReadScratchpadParameterOp, buffer: BufferOp) -> None:
    build = Emitter.before(read)
    loaded = build.load(buffer.buffer, [build.index(0)])
    value = build.value(arith.ShRUIOp(loaded, build.constant(SHIFT)))
    match read.result.type:
        case IntegerType() as type if type.bitwidth < 32:
            value = build.value(arith.TruncIOp(value, type))
        case BFloat16Type() as type:
            value = build.value(arith.BitcastOp(build.value(arith.TruncIOp(value, i16)), type))
        case type if type == i32:
            pass
        case type:
            text = f"parameters of type {quoted(type)} are not supported; use bf16 or an integer of up to 32 bits"
            fail_op(read, text)
    read.result.replace_all_uses_with(value)
    Rewriter.erase_op(read)
