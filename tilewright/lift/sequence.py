"""Lifted streams as MLIR: a runtime sequence whose arguments are the parameters, at the highest level that is exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, LocationAttr, StringAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import DEVICES, DeviceModel, TileType
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.dma_registers import ChannelRegister, ChannelRegisterRole, DescriptorWord, dma_register
from tilewright.device.layout import WORD_BITS, WORD_BYTES, WORD_MASK
from tilewright.device.registers import MemTileTaskQueue, TaskQueue
from tilewright.dialects import arith, scf
from tilewright.dialects.aie.sequence import ARGUMENT_NAMES, RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex import instructions, operation, queue
from tilewright.dialects.aiex.attributes import UI8, UI64
from tilewright.dialects.aiex.blockwrite_data import DataGlobalRef, make_data_global, words_to_bytes
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp, NpuPreemptOp
from tilewright.dialects.aiex.write_bd import (
    ALL_FIELDS,
    FOURTH_DIMENSION,
    NpuWriteBdOp,
    descriptor_words,
    field_violation,
)
from tilewright.dialects.builtin import ModuleOp
from tilewright.ir.interned import i32_number, integer_array
from tilewright.ir.printer import module_text
from tilewright.lift.decisions import Decision
from tilewright.lift.expressions import Scope, ShapeConstant, ShapeExpression
from tilewright.lift.model import Explained, ExplainedLoop, ExplainedOperation, FamilyModel
from tilewright.rewrite.emitter import Emitter, SharedConstants
from tilewright.rewrite.folding.constants import INDEX
from tilewright.txn.codec import lay_out
from tilewright.txn.fields import WHOLE_WORD
from tilewright.txn.opcodes import VERSION, Opcode, address_offset, largest_offset, opcode_name
from tilewright.txn.stream import Header, Stream, TxnError, Words, layouts_of
from tilewright.txn.text import model_of

SEQUENCE = "lifted"
Entry: TypeAlias = "SSAValue | int"


@dataclass(frozen=True)
class SequenceStyle:
    """Names in a sequence, and how high the level of its operations may be."""

    sequence: str
    data_prefix: str
    """Before the numbers of constant globals."""
    shares_data: bool = True
    """Whether blocks of the same words read one global."""
    has_instructions: bool = True
    """Whether instructions stand for operations of the stream, where they give the same words."""
    has_transfers: bool = True
    """Whether descriptors and pushes stand for writes of their words."""


LIFTED = SequenceStyle(SEQUENCE, "words_")
FIELD_BY_FIELD = replace(LIFTED, has_instructions=False)


def device_for(header: Header) -> DeviceModel:
    """The device of a header, or the closest of its generation: the header then says what differs."""
    found = model_of(header)
    if found is not None:
        return found
    known = [model for model in DEVICES.values() if model.txn_generation == header.device_generation]
    if not known:
        raise TxnError(0, f"the header names device generation {header.device_generation}, which is not known")
    return max(known, key=lambda model: (model.columns >= header.columns, -abs(model.columns - header.columns)))


class SequenceWriter:
    """Writes one sequence of one device."""

    def __init__(
        self, header: Header, parameters: Sequence[str], style: SequenceStyle, location: LocationAttr | None = None
    ):
        self.header, self.style = header, style
        self.model = device_for(header)
        self.device = DeviceOp(self.model.name)
        if header != Header.of(self.model):
            numbers = tuple(vars(header).values())
            given = numbers if header.long_patches else numbers[:-1]
            self.device.attributes[operation.TXN_HEADER] = integer_array(i64, given)
        self.sequence = RuntimeSequenceOp([i32 for _ in parameters], style.sequence)
        if location is not None:
            self.device.location = self.sequence.location = location
        if parameters:
            self.sequence.attributes[ARGUMENT_NAMES] = ArrayAttr([StringAttr(name) for name in parameters])
        for argument, name in zip(self.block.args, parameters, strict=True):
            argument.name_hint = name
        Rewriter.insert_op(self.sequence, InsertPoint.at_start(self.device.body))
        self._constants = SharedConstants()
        self._globals: dict[bytes, DataGlobalRef] = {}
        self._global_count = 0
        self.emitter = self._at_end(self.block)
        self.arguments = {
            name: self.emitter.cast(arith.ExtSIOp, argument, i64)
            for name, argument in zip(parameters, self.block.args, strict=True)
        }

    @property
    def block(self) -> Block:
        return self.sequence.body.block

    def _at_end(self, block: Block) -> Emitter:
        return Emitter(InsertPoint.at_end(block), self.sequence.location, constants=self._constants)

    # Groups, loops and operations

    def decide(self, decision: Decision, bodies: Sequence[Sequence[Explained]], emitter: Emitter) -> None:
        if isinstance(decision, int):
            self.write(bodies[decision], emitter)
            return
        condition = decision.condition.emit(Scope(emitter, self.arguments))
        regions = list[Block]()
        for side in (decision.then, decision.otherwise):
            block = Block()
            inner = self._at_end(block)
            self.decide(side, bodies, inner)
            inner.insert(scf.YieldOp())
            regions.append(block)
        emitter.insert(scf.IfOp(condition, [], [regions[0]], [regions[1]]))

    def write(self, body: Sequence[Explained], emitter: Emitter) -> None:
        scope = Scope(emitter, self.arguments)
        values = dict[ShapeExpression, SSAValue]()
        # all that depends on parameters is computed first, so that loops find it
        for part in body:
            for expression in part.expressions:
                if not isinstance(expression, ShapeConstant) and expression not in values:
                    values[expression] = emitter.cast(arith.TruncIOp, scope.value(expression), i32)
        _Body(self, values).write(body, emitter, ())

    def data(self, words: Sequence[int]) -> Operation:
        """What reads a constant global with these words."""
        data = words_to_bytes(words)
        if data not in self._globals or not self.style.shares_data:
            made = make_data_global(f"{self.style.data_prefix}{self._global_count}", data)
            made.location = self.sequence.location
            self.device.body.insert_op_before(made, self.sequence)
            self._global_count += 1
            self._globals[data] = DataGlobalRef.of(made)
        return self._globals[data].read()


class _Body:
    """The operations of one group."""

    def __init__(self, writer: SequenceWriter, values: Mapping[ShapeExpression, SSAValue]):
        self.writer, self.values = writer, values

    def write(self, body: Sequence[Explained], emitter: Emitter, turns: tuple[SSAValue, ...]) -> None:
        for part in body:
            if isinstance(part, ExplainedLoop):
                self._loop(part, emitter, turns)
            else:
                known = dict[object, Entry]()
                entries = [self._entry(part, word, emitter, turns, known) for word in range(len(part.words))]
                insert(self.writer, emitter, part.opcode, entries)

    def _loop(self, loop: ExplainedLoop, emitter: Emitter, turns: tuple[SSAValue, ...]) -> None:
        if isinstance(loop.count, ShapeConstant):
            end = emitter.index(loop.count.value)
        else:
            end = emitter.cast(arith.IndexCastOp, self.values[loop.count], INDEX)

        def fill(inner: Emitter, turn: SSAValue) -> None:
            self.write(loop.body, inner, (inner.cast(arith.IndexCastOp, turn, i32), *turns))

        emitter.loop(emitter.index(0), end, emitter.index(1), fill)

    def _entry(
        self,
        part: ExplainedOperation,
        word: int,
        emitter: Emitter,
        turns: tuple[SSAValue, ...],
        known: dict[object, Entry],
    ) -> Entry:
        steps = [step[word] for step in part.steps]
        key = part.words[word], *steps
        if key not in known:
            value = self._value(part.words[word])
            for turn, step in zip(turns, steps, strict=True):
                if step != ShapeConstant(0):
                    by = self._value(step)
                    added = emitter.product(turn, emitter.constant(_signed(by)) if isinstance(by, int) else by)
                    base = emitter.constant(_signed(value)) if isinstance(value, int) else value
                    value = emitter.folded_sum(base, added)
            known[key] = value
        return known[key]

    def _value(self, expression: ShapeExpression) -> Entry:
        return expression.value & WORD_MASK if isinstance(expression, ShapeConstant) else self.values[expression]


def _signed(word: int) -> int:
    word &= WORD_MASK
    return word - (1 << WORD_BITS) if word >> WORD_BITS - 1 else word


def insert(writer: SequenceWriter, emitter: Emitter, opcode: int, words: Sequence[Entry]) -> None:
    """One operation of the stream: as an instruction where that gives these very words, else field by field."""
    layout = layouts_of(writer.header)[opcode]
    fields, payload = dict[str, Entry](), list(words[layout.fixed_words :])
    by_word: dict[int, list[str]] = {}
    for name, bits in layout.fields.items():
        by_word.setdefault(bits.word, []).append(name)
    for number, word in enumerate(words[: layout.fixed_words]):
        names = by_word.get(number, [])
        if number == layout.size_word:
            continue
        if isinstance(word, int):
            for name in names:
                bits = layout.fields[name]
                fields[name] = (word & bits.mask) >> bits.lo
        elif len(names) == 1 and layout.fields[names[0]].width == WORD_BITS:
            fields[names[0]] = word
        else:
            fields[f"{WHOLE_WORD}{number}"] = word
    address = fields.get("address")
    is_aligned = not isinstance(address, int) or address % WORD_BYTES == 0  # the compiler refuses other registers
    is_plain = writer.style.has_instructions and writer.header.version == VERSION and is_aligned
    make = _INSTRUCTIONS.get(opcode) if is_plain else None
    if make is None or not make(writer, emitter, fields, payload):
        told = {name: value for name, value in fields.items() if not isinstance(value, int) or value}
        emitter.insert(operation.NpuOperationOp(opcode_name(opcode), told, payload))


Instruction: TypeAlias = "Callable[[SequenceWriter, Emitter, dict[str, Entry], list[Entry]], bool]"


def _only(fields: Mapping[str, Entry], *names: str) -> bool:
    """Whether all other fields are 0."""
    return all(value == 0 for name, value in fields.items() if name not in names) and all(n in fields for n in names)


def _number(emitter: Emitter, entry: Entry) -> SSAValue:
    return emitter.constant(_signed(entry)) if isinstance(entry, int) else entry


def _write(writer: SequenceWriter, emitter: Emitter, fields: dict[str, Entry], payload: list[Entry]) -> bool:
    if payload or not _only(fields, "address", "value"):
        return False
    if not _push(writer, emitter, fields["address"], fields["value"]):
        address, value = (_number(emitter, fields[name]) for name in ("address", "value"))
        emitter.insert(instructions.NpuWrite32Op(address, value))
    return True


def _push(writer: SequenceWriter, emitter: Emitter, address: Entry, value: Entry) -> bool:
    """A write to a queue is a push, unless it asks for a token: that sets the controller as well."""
    if not writer.style.has_transfers or not isinstance(address, int):
        return False
    register = dma_register(writer.model, address)
    if not isinstance(register, ChannelRegister) or register.role is not ChannelRegisterRole.QUEUE:
        return False
    if not isinstance(value, int):
        return False
    tile, direction, channel = register.channel
    layout = MemTileTaskQueue if writer.model.is_mem_tile(*tile) else TaskQueue
    task = layout.unpack([value])
    if task["enable_token_issue"] or layout.pack(**task) != [value]:
        return False
    emitter.insert(
        queue.NpuPushQueueOp(
            *tile,
            direction,
            channel,
            bd_id=emitter.constant(task["start_bd_id"]),
            repeat_count=emitter.constant(task["repeat_count"]),
            issue_token=False,
        )
    )
    return True


def _masked(kind: type[instructions.MaskedInstruction]) -> Instruction:
    def make(writer: SequenceWriter, emitter: Emitter, fields: dict[str, Entry], payload: list[Entry]) -> bool:
        if payload or not _only(fields, "address", "value", "mask"):
            return False
        address, value, mask = (_number(emitter, fields[name]) for name in ("address", "value", "mask"))
        emitter.insert(kind(address, value, mask))
        return True

    return make


def _block_write(writer: SequenceWriter, emitter: Emitter, fields: dict[str, Entry], payload: list[Entry]) -> bool:
    if not payload or not _only(fields, "address"):
        return False
    address = fields["address"]
    words = [word for word in payload if isinstance(word, int)]
    if len(words) < len(payload) or not isinstance(address, int):
        values = [_number(emitter, word) for word in payload]
        emitter.insert(instructions.NpuWriteWordsOp(_number(emitter, address), values))
    elif not _descriptor(writer, emitter, address, words):
        source = emitter.insert(writer.data(words))
        emitter.insert(instructions.NpuBlockWriteOp(source.results[0], address))
    return True


def _descriptor(writer: SequenceWriter, emitter: Emitter, address: int, words: list[int]) -> bool:
    """A block write of all words of one descriptor, where its fields give these words."""
    found = dma_register(writer.model, address)
    if not writer.style.has_transfers or not isinstance(found, DescriptorWord) or found.word:
        return False
    tile_type = writer.model.tile_type(*found.tile)
    layout = BD_LAYOUTS[tile_type]
    if len(words) != layout.words:
        return False
    held = layout.unpack(words)
    names = ALL_FIELDS | FOURTH_DIMENSION
    fields = {name: held[target] for name, target in names.items() if held.get(target)}
    fields |= {"column": found.tile.column, "row": found.tile.row, "bd_id": found.bd}
    is_shim = tile_type is TileType.ShimNOCTile
    fields["buffer_offset"] = held["address_low" if is_shim else "address"]
    if tile_type is TileType.CoreTile:
        fields["buffer_offset"] *= 4
    for burst in (0, *writer.model.burst_lengths) if is_shim else (0,):
        try:
            tried = fields | ({"burst_length": burst} if burst else {})
            if (
                field_violation(writer.model, tried) is None
                and descriptor_words(writer.model, tried, all_fields=True) == words
            ):
                emitter.insert(NpuWriteBdOp(**{name: _signed(value) for name, value in tried.items()}))
                return True
        except (KeyError, ValueError):
            continue
    return False


def _address_patch(writer: SequenceWriter, emitter: Emitter, fields: dict[str, Entry], payload: list[Entry]) -> bool:
    if payload != [0] or not _only(fields, "address", "argument_index", "argument_offset"):
        return False
    address, argument, offset = (fields[name] for name in ("address", "argument_index", "argument_offset"))
    if not isinstance(argument, int) or argument > 1 << 16:
        return False
    addend = address_offset(argument, fold=True)
    # the compiler refuses offsets of parts of words, and where it cannot know, so do its generators
    if isinstance(offset, int) and (not 0 <= offset - addend <= largest_offset(argument) or offset % 4):
        return False
    if not isinstance(offset, int) and addend:
        return False
    plus = emitter.constant(_signed(offset - addend)) if isinstance(offset, int) else offset
    register = None if isinstance(address, int) else address
    emitter.insert(queue.NpuAddressPatchOp(address if isinstance(address, int) else 0, argument, plus, register))
    return True


_TOKEN = ("column", "row", "direction", "channel", "column_count", "row_count")


def _sync(writer: SequenceWriter, emitter: Emitter, fields: dict[str, Entry], payload: list[Entry]) -> bool:
    if payload or not _only(fields, *_TOKEN):
        return False
    if isinstance(direction := fields["direction"], int) and direction not in (0, 1):
        return False
    emitter.insert(instructions.NpuSyncOp([_number(emitter, fields[name]) for name in _TOKEN]))
    return True


def _preempt(writer: SequenceWriter, emitter: Emitter, fields: dict[str, Entry], payload: list[Entry]) -> bool:
    level = fields.get("level")
    if payload or not _only(fields, "level") or not isinstance(level, int):
        return False
    emitter.insert(NpuPreemptOp.create(properties={"level": IntegerAttr(level, UI8)}))
    return True


def _load_pdi(writer: SequenceWriter, emitter: Emitter, fields: dict[str, Entry], payload: list[Entry]) -> bool:
    known = {name: entry for name, entry in fields.items() if isinstance(entry, int)}
    if payload or len(known) < len(fields) or not _only(fields, "id", "pdi_bytes", "address", "address_high"):
        return False
    properties: dict[str, Attribute] = {
        "id": i32_number(known["id"]),
        "size": i32_number(known["pdi_bytes"]),
        "address": IntegerAttr(known["address"] | known["address_high"] << WORD_BITS, UI64),
    }
    emitter.insert(NpuLoadPdiOp.create(properties=properties))
    return True


_INSTRUCTIONS: dict[int, Instruction] = {
    Opcode.WRITE: _write,
    Opcode.MASKWRITE: _masked(instructions.NpuMaskWrite32Op),
    Opcode.MASKPOLL: _masked(instructions.NpuMaskPollOp),
    Opcode.BLOCKWRITE: _block_write,
    Opcode.DDR_PATCH: _address_patch,
    Opcode.TCT: _sync,
    Opcode.PREEMPT: _preempt,
    Opcode.LOADPDI: _load_pdi,
}


def model_text(model: FamilyModel, style: SequenceStyle = LIFTED) -> str:
    """`lifted.mlir` of a family."""
    writer = SequenceWriter(model.header, model.names, style)
    writer.decide(model.decision, [group.body for group in model.groups], writer.emitter)
    return _text(writer.device)


def stream_text(stream: Stream, words: Words, style: SequenceStyle = LIFTED) -> str:
    """One stream as a sequence without arguments."""
    return _text(stream_device(stream, words, style))


def stream_device(stream: Stream, words: Words, style: SequenceStyle, location: LocationAttr | None = None) -> DeviceOp:
    """The same as a device, all at one location."""
    writer = SequenceWriter(stream.header, (), style, location)
    starts, end = lay_out(stream)
    numbers = words.tolist()
    for opcode, (start, stop) in zip(stream.opcodes.tolist(), pairwise([*starts.tolist(), end]), strict=True):
        insert(writer, writer.emitter, opcode, numbers[start:stop])
    return writer.device


def _text(device: DeviceOp) -> str:
    return f"{module_text(ModuleOp([device])).rstrip()}\n"
