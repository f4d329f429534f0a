"""Lowered NPU instructions as calls of the functions in `aie/Runtime/TxnEncoding.h`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from tilewright.device import DeviceModel, DmaDirection
from tilewright.device.layout import WORD_BITS, WORD_MASK
from tilewright.device.register_names import TILE_WORDS, name_address
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aiex import firmware, guards, instructions, operation, queue, tasks
from tilewright.dialects.aiex.instructions import Placed
from tilewright.dialects.aiex.resolution import TILE_OFFSET, absolute_address, block_words
from tilewright.dialects.aiex.runtime_fields import known_word
from tilewright.dialects.arith import AddiOp, AndIOp, OrIOp, ShLIOp
from tilewright.dialects.emitc.calls import COMMENT, CallOpaqueOp
from tilewright.dialects.emitc.operators import AddOp, BitwiseAndOp, BitwiseOrOp, CastOp, ConditionalOp, Predicate
from tilewright.dialects.emitc.types import ArrayType, OpaqueType, PointerType, is_integral, width_of
from tilewright.dialects.emitc.variables import ConstantOp, LiteralOp, VariableOp, opaque
from tilewright.ir.diagnostics import (
    CompileError,
    DiagnosedError,
    Severity,
    diagnose,
    emit_warning,
    fail,
    fail_op,
    op_text,
)
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import SIZE, WORD, CppBuilder, signed, unsigned
from tilewright.txn.fields import operation_words
from tilewright.txn.opcodes import FIRST_FOLDED_ARGUMENT, address_offset
from tilewright.txn.stream import Header, TxnError

NAMESPACE = "aie_runtime"
BD_REGISTER = "DMA.BD"
# A descriptor's registers lie as far behind those of the first as it does.
FIRST_BD, ANY_BD = f"{BD_REGISTER}0.", f"{BD_REGISTER}*."


def opaque_type(text: str) -> OpaqueType:
    return OpaqueType(StringAttr(text))


VECTOR, POOL = opaque_type("std::vector<uint32_t>"), opaque_type(f"{NAMESPACE}::BdPool")
UINT32, UINT64, INT32 = opaque_type("uint32_t"), opaque_type("uint64_t"), opaque_type("int32_t")


def pool_name(op: tasks.PoolUser, model: DeviceModel) -> str:
    """The variable with the pool that an operation uses."""
    (first, *more), count = _runs(op.numbers(model)), model.num_bds(*op.place)
    name = "bd_pool_{}_{}".format(*op.place)
    if first == range(count):
        return name
    if not more and (not first.start or first.stop == count):
        return f"{name}_from_{first.start}" if first.start else f"{name}_to_{first[-1]}"
    return f"{name}_from_{'_and_'.join(f'{run.start}_to_{run[-1]}' for run in (first, *more))}"


def pool_declaration(op: tasks.PoolUser, model: DeviceModel) -> list[str]:
    """Statements that make the pool."""
    (run, *more), name = _runs(op.numbers(model)), pool_name(op, model)
    first = f", {run.start}" if run.start else ""
    declared = f"{NAMESPACE}::BdPool {name} = {NAMESPACE}::bd_pool_init({len(run)}{first});"
    push = f"{NAMESPACE}::bd_pool_push_last({name}, id);"
    return [declared, *(f"for (uint32_t id = {each.start}; id <= {each[-1]}; ++id) {push}" for each in more)]


def _runs(numbers: Sequence[int]) -> list[range]:
    """Numbers as ranges, one after the other."""
    if isinstance(numbers, range):
        return [numbers]
    runs = list[range]()
    for number in numbers:
        if runs and runs[-1].stop == number:
            runs[-1] = range(runs[-1].start, number + 1)
        else:
            runs.append(range(number, number + 1))
    return runs


class Instructions:
    """Lowers the instructions of one sequence, and counts those that are in the stream."""

    def __init__(
        self,
        builder: CppBuilder,
        model: DeviceModel,
        stream: SSAValue,
        *,
        fold_ddr_offsets: bool,
        expects_checks: bool,
        header: Header,
    ):
        self.builder, self.style, self.model, self.header = builder, builder.style, model, header
        self.stream, self.fold_ddr_offsets, self.expects_checks = stream, fold_ddr_offsets, expects_checks
        self.counter: SSAValue | None = None
        """Where operations are counted at run time; None if their number is known."""
        self.count = self._taken = 0
        # By block, for a name is in scope only there.
        self._arrays: dict[tuple[Block, tuple[int, ...]], SSAValue] = {}

    def lower(self, op: Operation) -> bool:
        """False if the operation is no instruction."""
        lower = _LOWER.get(type(op))
        if lower is None:
            return False
        lower(self, op)
        return True

    # Pieces of calls

    def append(self, function: str, *arguments: SSAValue, comment: str | None = None) -> None:
        """Call a function that appends one operation to the stream."""
        call = self.builder.emit(CallOpaqueOp(f"{NAMESPACE}::txn_append_{function}", [self.stream, *arguments]))
        if comment and self.style.readable:
            call.attributes[COMMENT] = StringAttr(comment)
        self.count += 1
        if self.counter is not None:
            self.builder.statement(self.style.increment, self.counter)

    def refuse_if(self, op: guards.Guard, condition: str, *arguments: SSAValue) -> None:
        self.builder.refuse_if(op.subject and op.subject.rstrip(","), condition, *arguments)

    def array(self, words: Sequence[int]) -> SSAValue:
        """An array with these numbers; for people the same one again, where it is in scope."""
        key = self.builder.block, tuple(words)
        if not self.style.readable or key not in self._arrays:
            text = ", ".join(f"0x{word:08x}u" for word in words)
            variable = VariableOp(opaque(f"{{{text}}}"), ArrayType.of([len(words)], UINT32))
            self._arrays[key] = self.builder.value(variable)
        return self._arrays[key]

    def literal(self, number: int, type: OpaqueType = UINT32, suffix: str = "u") -> SSAValue:
        return self.builder.value(ConstantOp(opaque(f"{number}{suffix}"), type))

    def address_literal(self, address: int) -> SSAValue:
        if not self.style.readable:
            return self.literal(address)
        return self.builder.value(ConstantOp(opaque(f"{address:#x}u"), UINT32))

    def word(self, value: SSAValue) -> SSAValue:
        """A value of the program as it goes into a word of the stream."""
        made = self.builder[value]
        if 1 < width_of(value.type) < WORD_BITS:  # has no sign there
            return self.builder.cast(self.builder.without_sign(made, width_of(value.type)), WORD)
        return self.builder.cast(made, WORD) if self.style.cast_words or value.type != i32 else made

    def address(self, op: Placed, written: SSAValue, what: str) -> tuple[SSAValue, int | None]:
        """The register that an instruction means, and its number if that is known."""
        offset = known_word(written)
        if offset is not None:
            return self.known_address(op, offset)
        if op.buffer is not None or not (isinstance(written.owner, Operation) or self.style.any_address):
            fail_op(op, f"cannot convert a symbolic/unresolved {what} address to the C++ TXN target")
        address = self.word(written)
        if op.column is not None and op.row is not None:
            base = self.builder.constant(absolute_address(op, 0), WORD)
            offset = self.builder.constant(TILE_OFFSET, WORD)
            inside = self.builder.value(BitwiseAndOp(self.builder.cast(address, WORD), offset, WORD))
            address = self.builder.value(BitwiseOrOp(inside, base, WORD))
        return address, None

    def known_address(self, op: Placed, offset: int) -> tuple[SSAValue, int]:
        address = absolute_address(op, offset) & WORD_MASK
        return self.address_literal(address), address

    def register_name(self, address: int | None, written: SSAValue | None = None) -> str | None:
        """What a register is called; where its address is `written`, that of some descriptor if it is one's."""
        if address is not None:
            return name_address(self.model, address)
        first = _constant_term(written) if written is not None else None
        name = name_address(self.model, first & WORD_MASK) if first is not None else None
        return name.replace(FIRST_BD, ANY_BD) if name is not None and FIRST_BD in name else None

    def warn_of_cut(self, op: Operation) -> None:
        """Say, once, that the program was lowered with fewer checks than `compile` makes."""
        if self.expects_checks:
            self.expects_checks = False
            text = "puts numbers into a descriptor of which nothing says that they fit: what does not is cut"
            way_out = "--aie-dma-to-npu and --aie-dma-tasks-to-npu check with guards=full"
            emit_warning(op, text).note(op, f"{way_out}, or where they run in one command with --convert-aiex-to-emitc")

    def take_bd(self, op: tasks.DmaBdPoolPopOp) -> None:
        name = f"bd_{self._taken}"
        self._taken += 1
        separator = "\n" if self.style.readable else " "
        taken = f"{NAMESPACE}::bd_pool_pop({pool_name(op, self.model)}, {name})"
        self.builder.statement(f"uint32_t {name};{separator}if (!{taken}) {self.style.refuse}")
        self.builder.define(op.bd_id, self.builder.cast(self.builder.value(LiteralOp(name, WORD)), i32))


def _constant_term(sum: SSAValue) -> int | None:
    """The number that something is added to."""
    operands = sum.owner.operands if isinstance(sum.owner, AddiOp) else ()
    return next((number for operand in operands if (number := constant_value(operand)) is not None), None)


def _write(to: Instructions, op: instructions.NpuWrite32Op) -> None:
    address, known = to.address(op, op.address, "write32")
    name = to.register_name(known, op.address)
    if name is not None and BD_REGISTER in name and _is_cut(op.value):
        to.warn_of_cut(op)
    to.append("write32", address, to.word(op.value), comment=name)


def _is_cut(word: SSAValue) -> bool:
    """Whether a word is put together from numbers that are not known, of which only some bits go into it."""
    match word.owner:
        case AndIOp(lhs=lhs, rhs=rhs):
            return (constant_value(lhs) is None) != (constant_value(rhs) is None)
        case OrIOp(lhs=lhs, rhs=rhs):
            return _is_cut(lhs) or _is_cut(rhs)
        case ShLIOp(lhs=lhs):
            return _is_cut(lhs)
        case _:
            return False


def _masked(to: Instructions, op: instructions.NpuMaskWrite32Op | instructions.NpuMaskPollOp) -> None:
    what = op.name.removeprefix("aiex.npu.")
    address, known = to.address(op, op.address, what)
    value, mask = to.word(op.value), to.word(op.mask)
    to.append(what, address, value, mask, comment=to.register_name(known))


def _sync(to: Instructions, op: instructions.NpuSyncOp) -> None:
    to.append("sync", *map(to.word, op.operands), comment=_awaited(to, op))


def _awaited(to: Instructions, op: instructions.NpuSyncOp) -> str | None:
    """The channel whose token is awaited, if it is known."""
    column, row, direction, channel = map(constant_value, (op.column, op.row, op.direction, op.channel))
    if column is None or row is None or direction not in tuple(DmaDirection) or not to.model.is_valid_tile(column, row):
        return None
    tile = TILE_WORDS[to.model.tile_type(column, row)]
    return f"wait for {tile}({column},{row}) {DmaDirection(direction).name} {channel}"


def _address_patch(to: Instructions, op: queue.NpuAddressPatchOp) -> None:
    argument = op.number("arg_idx")
    known = None if op.addr_val is not None else op.addr.value.data
    address = to.word(op.addr_val) if op.addr_val is not None else to.address_literal(op.addr.value.data)
    if isinstance(argument, int):
        number = to.literal(argument, INT32, "")
        offset = _folded(to, op.arg_plus, address_offset(argument, fold=to.fold_ddr_offsets))
    else:
        number = to.builder.cast(to.word(argument), i32)
        offset = to.builder.cast(to.word(op.arg_plus), WORD)
        addend = address_offset(FIRST_FOLDED_ARGUMENT, fold=to.fold_ddr_offsets)
        if addend and guards.value_limits(argument)[1] >= FIRST_FOLDED_ARGUMENT:
            first, zero = to.builder.constant(FIRST_FOLDED_ARGUMENT, i32), to.builder.constant(0, WORD)
            counts = to.builder.compare(Predicate.ge, number, first)
            added = ConditionalOp(counts, to.builder.constant(addend, WORD), zero)
            offset = to.builder.value(AddOp(offset, to.builder.value(added)))
    to.append("address_patch", address, number, offset, comment=to.register_name(known, op.addr_val))


def _folded(to: Instructions, offset: SSAValue, addend: int) -> SSAValue:
    if not addend:
        return to.word(offset)
    value = known_word(offset)
    if value is not None:
        return to.builder.constant(value + addend & WORD_MASK, WORD)
    word = to.builder.cast(to.word(offset), WORD)
    return to.builder.value(AddOp(word, to.builder.constant(addend, WORD)))


def _block_write(to: Instructions, op: instructions.NpuBlockWriteOp) -> None:
    words = _payload(op)
    address, known = to.known_address(op, op.address.value.data)
    data = to.array(words) if words else to.builder.value(LiteralOp("nullptr", PointerType(UINT32)))
    place = (op.column.value.data, op.row.value.data) if op.column is not None and op.row is not None else (0, 0)
    numbers = (len(words), *place) if not to.style.readable or any(place) else (len(words),)
    to.append("blockwrite", address, data, *map(to.literal, numbers), comment=to.register_name(known))


def _write_words(to: Instructions, op: instructions.NpuWriteWordsOp) -> None:
    address, known = to.address(op, op.address, "write_words")
    to.append("words", address, *map(to.word, op.values), comment=to.register_name(known, op.address))


def _operation(to: Instructions, op: operation.NpuOperationOp) -> None:
    try:
        words = operation_words(to.header, op.opcode.data, op.fields, op.payload_words)
    except TxnError as error:
        fail_op(op, error.reason)
    numbers = [to.address_literal(word) if isinstance(word, int) else to.word(word) for word in words]
    to.append("operation", *numbers, comment=op.opcode.data)


def _payload(op: instructions.NpuBlockWriteOp) -> list[int]:
    try:
        words = block_words(op)
        if not all(isinstance(word, int) for word in words):
            fail(op, "Global symbol initial value is not a dense int array")
    except DiagnosedError as error:
        text = "cannot convert blockwrite without a constant address and data to the C++ TXN target"
        raise CompileError([*error.diagnostics, diagnose(Severity.ERROR, op, op_text(op, text))]) from error
    return [word & WORD_MASK for word in words]


def _load_pdi(to: Instructions, op: firmware.NpuLoadPdiOp) -> None:
    id, size = (to.literal(_number(attr) & WORD_MASK) for attr in (op.id, op.size))
    to.append("loadpdi", id, size, to.literal(_number(op.address), UINT64, "ull"))


def _preempt(to: Instructions, op: firmware.NpuPreemptOp) -> None:
    to.append("preempt", to.literal(op.level.value.data))


def _create_scratchpad(to: Instructions, op: firmware.NpuCreateScratchpadOp) -> None:
    to.append("create_scratchpad", to.literal(_number(op.usage_type)), to.literal(op.size.value.data))


def _update_from_scratchpad(to: Instructions, op: firmware.NpuUpdateFromScratchpadOp) -> None:
    numbers = (op.state_table_idx.value.data, op.function.value, _number(op.func_arg))
    arguments = [to.literal(number) for number in numbers]
    address, known = to.known_address(op, op.address.value.data)
    to.append("update_reg", *arguments, address, comment=to.register_name(known))


def _number(attr: IntegerAttr | None) -> int:
    return attr.value.data if attr is not None else 0


def _give_back(to: Instructions, op: tasks.DmaBdPoolPushOp) -> None:
    name = pool_name(op, to.model)
    # The header's pool has room for all ids of a tile, and would not notice one too many of a smaller pool.
    to.builder.statement(f"if ({name}.head >= {len(op.numbers(to.model))}) {to.style.refuse}")
    pool = to.builder.value(LiteralOp(name, POOL))
    push = "bd_pool_push" if op.last is None else "bd_pool_push_last"
    to.builder.emit(CallOpaqueOp(f"{NAMESPACE}::{push}", [pool, to.word(op.bd_id)]))


def _assert_field(to: Instructions, op: guards.NpuAssertBdFieldOp) -> None:
    """Upstream lets negative numbers pass, which have bits outside of every field; compared without sign none does."""
    limit = op.max.value.data & WORD_MASK
    value = to.builder[op.value]
    if to.style.readable or limit > WORD_MASK >> 1:
        outside = to.builder.compare(Predicate.gt, to.builder.cast(value, WORD), to.builder.constant(limit, WORD))
        to.refuse_if(op, "{}", outside)
    else:
        to.refuse_if(op, f"{{}} > {limit}", value)
        to.refuse_if(op, "{} < 0", value)


def _assert_divisible(to: Instructions, op: guards.NpuAssertBdDivisibleOp) -> None:
    divisor, value = abs(op.divisor.value.data), to.builder[op.value]
    if op.allow_unit is not None:
        to.refuse_if(op, f"{{}} != 1 && {{}} % {divisor} != 0", value, value)
        return
    if to.style.readable and divisor & divisor - 1 == 0:  # a power of two looks at low bits only
        value = _before_casts(value, divisor)
    to.refuse_if(op, f"{{}} % {divisor} != 0", value)


def _before_casts(value: SSAValue, divisor: int) -> SSAValue:
    """What a value was cast from, if the low bits that a power of two divides by are the same."""
    while isinstance(value.owner, CastOp) and is_integral(source := value.owner.source.type):
        if min(width_of(source), width_of(value.type)) < divisor.bit_length():
            break
        value = value.owner.source
    return value


def _assert_range(to: Instructions, op: guards.NpuAssertRangeOp) -> None:
    """Limits that every number of the type keeps are not checked: compilers warn of that."""
    value = to.builder[op.value]
    (low, high), (lowest, highest) = op.limits, guards.value_limits(op.value)
    if to.style.readable and low >= 0 and (wrapping := _wrapping(value)) is not None:
        value, lowest, highest = wrapping, 0, None
    else:
        value = to.builder.cast(value, signed(value.type))
    outside = [f"{{}} < {low}"] * (low > lowest) + [f"{{}} > {high}"] * (highest is None or high < highest)
    if low == high:
        outside = [f"{{}} != {low}"]
    if outside:
        to.refuse_if(op, " || ".join(outside), *(value for _ in outside))


def _wrapping(value: SSAValue) -> SSAValue | None:
    """The number without sign that a value is or was cast from; there negative numbers are above all others."""
    if value.type == SIZE:
        return value
    # Only one cast back: through two of them the number may have lost bits.
    source = value.owner.source if isinstance(value.owner, CastOp) else value
    is_unsigned = source is not value and source.type == unsigned(value.type)
    return source if is_unsigned and not isinstance(source.owner, CastOp) else None


def is_instruction(op: Operation) -> bool:
    """Whether an operation needs no more lowering to become C++."""
    return type(op) in _LOWER


_LOWER: dict[type[Operation], Callable[[Instructions, Any], None]] = {
    firmware.NpuCreateScratchpadOp: _create_scratchpad,
    firmware.NpuLoadPdiOp: _load_pdi,
    firmware.NpuPreemptOp: _preempt,
    firmware.NpuUpdateFromScratchpadOp: _update_from_scratchpad,
    guards.NpuAssertBdDivisibleOp: _assert_divisible,
    guards.NpuAssertBdFieldOp: _assert_field,
    guards.NpuAssertRangeOp: _assert_range,
    instructions.NpuBlockWriteOp: _block_write,
    instructions.NpuWriteWordsOp: _write_words,
    instructions.NpuMaskPollOp: _masked,
    instructions.NpuMaskWrite32Op: _masked,
    instructions.NpuSyncOp: _sync,
    instructions.NpuWrite32Op: _write,
    operation.NpuOperationOp: _operation,
    queue.NpuAddressPatchOp: _address_patch,
    tasks.DmaBdPoolPopOp: Instructions.take_bd,
    tasks.DmaBdPoolPushOp: _give_back,
}
