"""The TXN words of one lowered operation, where each word is a number or is packed from values at run time.

The layouts are those of `txn.opcodes`: what the decoder reads is what is written here. The interpreter, the native
generator and the static binary all take their words from this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import SymbolTable

from tilewright.device import DeviceModel
from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.dialects import memref
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.lookup import ancestors, device_model, symbol_name
from tilewright.dialects.aiex import firmware, instructions, operation, queue
from tilewright.dialects.aiex.resolution import TILE_OFFSET
from tilewright.dialects.aiex.runtime_fields import known_word
from tilewright.ir.diagnostics import fail_op
from tilewright.txn.fields import operation_words
from tilewright.txn.opcodes import FIRST_FOLDED_ARGUMENT, LAYOUTS, VERSION, Opcode, address_offset
from tilewright.txn.stream import Header, TxnError


@dataclass(frozen=True)
class WordPart:
    """Some low bits of a run-time value, shifted into a word."""

    value: SSAValue
    mask: int
    shift: int


@dataclass(frozen=True)
class PackedWord:
    """A word known only at run time: (constant | parts) + addend, in 32 bits."""

    constant: int
    parts: tuple[WordPart, ...]
    addend: int = 0
    addend_from: tuple[SSAValue, int] | None = None
    """A value, and what it must be at least, with its sign, for the addend to count."""


Word: TypeAlias = int | PackedWord
Number: TypeAlias = "int | SSAValue"


def compose(opcode: Opcode, payload: Sequence[Word] | None = None, **fields: Number | PackedWord) -> list[Word]:
    """An operation's words by its layout; run-time values are cut to their field, constants have been checked.

    A packed word is for a field that is a whole word.
    """
    layout = LAYOUTS[VERSION][opcode]
    constants = [0] * layout.fixed_words
    constants[0] = opcode
    parts: dict[int, list[WordPart]] = {}
    # Zeros up to the length that mlir-aie's compiler emits.
    data = payload if payload is not None else [0] * layout.default_payload_words
    if layout.size_word is not None:
        constants[layout.size_word] = (layout.fixed_words + len(data)) * WORD_BYTES
    whole = dict[int, Word]()
    for name, number in fields.items():
        field = layout.fields[name]
        if isinstance(number, PackedWord):
            whole[field.word] = number
            continue
        # A constant may stand in a value as well.
        known = number if isinstance(number, int) else known_word(number)
        if known is not None:
            constants[field.word] |= known << field.lo & field.mask
        else:
            parts.setdefault(field.word, []).append(WordPart(cast(SSAValue, number), field.mask >> field.lo, field.lo))
    words: list[Word] = [
        PackedWord(constant, tuple(parts[index])) if index in parts else whole.get(index, constant)
        for index, constant in enumerate(constants)
    ]
    return [*words, *data]


def is_emitted(op: Operation) -> bool:
    """Whether an operation becomes words of a stream."""
    return type(op) in _EMIT


class TxnEmitter:
    """Turns the lowered operations of one device into words."""

    def __init__(self, device: Operation, *, fold_ddr_offsets: bool = True):
        self.model: DeviceModel = device_model(device)
        self.fold_ddr_offsets = fold_ddr_offsets
        self._given_header = operation.header_numbers(device)
        self._symbols = _symbols_around(device)

    @property
    def header(self) -> Header:
        """The header that streams for the device have."""
        if self._given_header is not None:
            return Header(*self._given_header)
        return Header.of(self.model)

    def words(self, op: Operation) -> list[Word] | None:
        """The words of an operation; None for one that puts nothing into the stream."""
        emit = _EMIT.get(type(op))
        return emit(self, op) if emit else None

    def address(self, op: instructions.Placed, written: Number) -> Number | PackedWord:
        """The register that an operation means: relative to a buffer, to a tile, or absolute."""
        offset = written if isinstance(written, int) else known_word(written)
        if op.buffer is not None:
            buffer = self._symbols.get(op.buffer.root_reference.data)
            if not isinstance(buffer, BufferOp) or buffer.address is None or buffer.place is None or offset is None:
                fail_op(op, "Cannot translate symbolic address")
            return self.model.tile_address(*buffer.place, buffer.address.value.data + WORD_BYTES * offset)
        if op.column is not None and op.row is not None:
            base = self.model.tile_address(op.column.value.data, op.row.value.data)
            if isinstance(written, SSAValue) and offset is None:
                return PackedWord(base & WORD_MASK, (WordPart(written, TILE_OFFSET, 0),))
            return base | (offset or 0) & TILE_OFFSET
        return written if offset is None else offset & WORD_MASK

    def global_words(self, op: Operation, data: SSAValue) -> list[int]:
        """The numbers in the constant global that a block write copies."""
        source = data.owner
        if not isinstance(source, memref.GetGlobalOp):
            fail_op(op, "Only MemRefs from memref.get_global are supported")
        found = self._symbols.get(source.name_.root_reference.data)
        if not isinstance(found, memref.GlobalOp):
            fail_op(op, "Global symbol not found")
        words: Attribute | None = found.initial_value
        if not isinstance(words, DenseIntOrFPElementsAttr):
            fail_op(op, "Global symbol has no initial value")
        return [int(value) & WORD_MASK for value in words.get_values()]


def _symbols_around(device: Operation) -> dict[str, Operation]:
    """Everything that references in a sequence of this device can mean, looked up once."""
    symbols: dict[str, Operation] = {}
    # Inner tables come later, so that their symbols hide outer ones of the same name.
    for table in [*reversed([a for a in ancestors(device) if a.has_trait(SymbolTable)]), device]:
        symbols |= {name: op for op in table.regions[0].block.ops if (name := symbol_name(op)) is not None}
    return symbols


def _block_write(emitter: TxnEmitter, op: instructions.NpuBlockWriteOp) -> list[Word]:
    tile = {}
    if op.column is not None and op.row is not None:
        tile = {"column": op.column.value.data, "row": op.row.value.data}
    address = emitter.address(op, op.address.value.data)
    return compose(Opcode.BLOCKWRITE, emitter.global_words(op, op.data), address=address, **tile)


def _word(value: SSAValue) -> Word:
    known = known_word(value)
    return PackedWord(0, (WordPart(value, WORD_MASK, 0),)) if known is None else known & WORD_MASK


def _address_patch(emitter: TxnEmitter, op: queue.NpuAddressPatchOp) -> list[Word]:
    argument, address = op.number("arg_idx"), op.number("addr")
    words = compose(Opcode.DDR_PATCH, address=address, argument_index=argument, argument_offset=op.arg_plus)
    # The firmware translates the addresses of the first host buffers itself, but not those of the others.
    at = LAYOUTS[VERSION][Opcode.DDR_PATCH].fields["argument_offset"].word
    if isinstance(argument, SSAValue):
        if offset := address_offset(FIRST_FOLDED_ARGUMENT, fold=emitter.fold_ddr_offsets):
            word = words[at]
            packed = PackedWord(word, ()) if isinstance(word, int) else word
            words[at] = replace(packed, addend=offset, addend_from=(argument, FIRST_FOLDED_ARGUMENT))
    elif offset := address_offset(argument, fold=emitter.fold_ddr_offsets):
        word = words[at]
        words[at] = word + offset & WORD_MASK if isinstance(word, int) else replace(word, addend=offset)
    return words


def _load_pdi(emitter: TxnEmitter, op: firmware.NpuLoadPdiOp) -> list[Word]:
    address = _integer(op.address)
    return compose(
        Opcode.LOADPDI,
        id=_integer(op.id),
        pdi_bytes=_integer(op.size),
        address=address & WORD_MASK,
        address_high=address >> 32,
    )


def _operation(emitter: TxnEmitter, op: operation.NpuOperationOp) -> list[Word]:
    try:
        words = operation_words(emitter.header, op.opcode.data, op.fields, op.payload_words)
    except TxnError as error:
        fail_op(op, error.reason)
    return [word if isinstance(word, int) else _word(word) for word in words]


def _integer(attr: IntegerAttr | None) -> int:
    return attr.value.data if attr is not None else 0


_EMIT: dict[type[Operation], Callable[[TxnEmitter, Any], list[Word]]] = {
    instructions.NpuWrite32Op: lambda emitter, op: compose(
        Opcode.WRITE, address=emitter.address(op, op.address), value=op.value
    ),
    instructions.NpuMaskWrite32Op: lambda emitter, op: compose(
        Opcode.MASKWRITE, address=emitter.address(op, op.address), value=op.value, mask=op.mask
    ),
    instructions.NpuMaskPollOp: lambda emitter, op: compose(
        Opcode.MASKPOLL, address=emitter.address(op, op.address), value=op.value, mask=op.mask
    ),
    instructions.NpuBlockWriteOp: _block_write,
    instructions.NpuWriteWordsOp: lambda emitter, op: compose(
        Opcode.BLOCKWRITE, [_word(value) for value in op.values], address=emitter.address(op, op.address)
    ),
    instructions.NpuSyncOp: lambda emitter, op: compose(
        Opcode.TCT,
        column=op.column,
        row=op.row,
        direction=op.direction,
        channel=op.channel,
        column_count=op.column_num,
        row_count=op.row_num,
    ),
    operation.NpuOperationOp: _operation,
    queue.NpuAddressPatchOp: _address_patch,
    firmware.NpuPreemptOp: lambda emitter, op: compose(Opcode.PREEMPT, level=op.level.value.data),
    firmware.NpuLoadPdiOp: _load_pdi,
    firmware.NpuCreateScratchpadOp: lambda emitter, op: compose(
        Opcode.CREATE_SCRATCHPAD, usage_type=_integer(op.usage_type), scratchpad_bytes=op.size.value.data
    ),
    firmware.NpuUpdateFromScratchpadOp: lambda emitter, op: compose(
        Opcode.UPDATE_REG,
        state_table_index=op.state_table_idx.value.data,
        function=op.function.value,
        function_argument=_integer(op.func_arg),
        address=emitter.address(op, op.address.value.data),
    ),
}


def remedy(op: Operation) -> str:
    """What to do about an operation that does not become words."""
    if op.name.startswith(("aie.", "aiex.")):
        return "passes such as --aie-dma-tasks-to-npu and --aie-dma-to-npu lower it to operations that can"
    return "a sequence has instructions, arithmetic (arith) and control flow (scf): have a core or the host do this"
