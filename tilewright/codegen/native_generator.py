"""A lowered runtime sequence as a native function that fills a buffer with TXN words.

    int64_t generate(uint32_t *out, int64_t capacity, int64_t *failure, int64_t argument, ...)

It gives the number of words of the stream, whether or not they fit: where they do not, nothing is written past
`capacity` and the caller tries again with more room. Where a guard fails it gives -1 - (number of the guard), with the
guarded value in `*failure`. Consecutive operations are one copy of a constant template, then a store for each word
that depends on run-time values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from llvmlite import ir
from xdsl.dialects import scf
from xdsl.dialects.builtin import LocationAttr, MemRefType, UnrankedMemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.codegen.emission import Emitter, Packed, Word
from tilewright.device import DeviceModel, TileId
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex import guards, tasks
from tilewright.native.body import Body, lower_for
from tilewright.native.types import llvm_type
from tilewright.txn.encode import header_words
from tilewright.txn.opcodes import WORD_BYTES
from tilewright.txn.stream import Header

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()


@dataclass(frozen=True)
class Guard:
    """A check in the generated code: what it is about, what it demands, and the arguments that decide it."""

    subject: str
    text: str
    location: LocationAttr
    arguments: tuple[int, ...] = ()


@dataclass
class Generator:
    """What the native function is called, the arguments it takes and the guards it checks."""

    name: str
    arguments: list[BlockArgument]
    guards: list[Guard] = field(default_factory=list[Guard])


def scalar_arguments(sequence: RuntimeSequenceOp) -> list[BlockArgument]:
    """The arguments that a generator takes: all but the host's buffers."""
    block = sequence.body.block
    return [arg for arg in block.args if not isinstance(arg.type, MemRefType | UnrankedMemRefType)]


def header_of(model: DeviceModel) -> Header:
    """The header that streams for a device have."""
    return Header(0, 1, model.txn_generation or 3, model.rows, model.columns, model.mem_rows)


def build_generator(module: ir.Module, sequence: RuntimeSequenceOp, emitter: Emitter, name: str) -> Generator:
    """Add the function to an LLVM module."""
    arguments = scalar_arguments(sequence)
    generator = Generator(name, arguments)
    type = ir.FunctionType(I64, [POINTER, I64, POINTER, *(I64 for _ in arguments)])
    function = ir.Function(module, type, name)
    _Builder(module, function, generator, emitter).build(sequence)
    return generator


class _Builder(Body):
    """Body of a generator: collects words, writes them where control flow ends a run of them."""

    def __init__(self, module: ir.Module, function: ir.Function, generator: Generator, emitter: Emitter):
        super().__init__(ir.IRBuilder(function.append_basic_block("entry")), _HANDLERS)
        self.module, self.function, self.generator, self.emitter = module, function, generator, emitter
        self.out, self.capacity, self.failure = function.args[:3]
        self.position = self._variable(I64, 4)
        self.count = self._variable(I32, 0)
        self.pending: list[Word] = []
        self.pending_operations = 0
        self.pools: dict[tuple[TileId, range], tuple[ir.Value, ir.Value]] = {}

    def build(self, sequence: RuntimeSequenceOp) -> None:
        for argument, value in zip(self.generator.arguments, self.function.args[3:], strict=True):
            type = llvm_type(argument.type)
            self.values[argument] = value if type.width == 64 else self.builder.trunc(value, type)
        self._make_pools(sequence)
        self.lower_block(sequence.body.block)
        self._write_header()
        self.builder.ret(self.builder.load(self.position, typ=I64))

    def lower(self, op: Operation) -> None:
        words = self.emitter.words(op)
        if words is not None:
            self.pending += words
            self.pending_operations += 1
            return
        if op.regions:
            self.flush()
        super().lower(op)

    def lower_block(self, block: Block) -> None:
        super().lower_block(block)
        self.flush()

    def flush(self) -> None:
        """Write the words collected so far, if they fit, and move on."""
        if not self.pending:
            return
        builder, words = self.builder, self.pending
        start = builder.load(self.position, typ=I64)
        end = builder.add(start, ir.Constant(I64, len(words)))
        builder.store(end, self.position)
        total = builder.add(builder.load(self.count, typ=I32), ir.Constant(I32, self.pending_operations))
        builder.store(total, self.count)
        self._if_fits(end, lambda: self._store(start, words))
        self.pending, self.pending_operations = [], 0

    def arguments_behind(self, value: SSAValue) -> tuple[int, ...]:
        """Which scalar arguments a value is computed from."""
        found: set[int] = set()
        seen: set[SSAValue] = set()
        waiting = [value]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            if isinstance(current, BlockArgument) and current in self.generator.arguments:
                found.add(self.generator.arguments.index(current))
            owner = current.owner if isinstance(current.owner, Operation) else current.owner.parent_op()
            if owner is not None and owner.name != "aie.runtime_sequence":
                waiting += owner.operands
                last = owner.regions[-1].blocks.last if owner.regions else None
                waiting += last.last_op.operands if last and last.last_op else ()
        return tuple(sorted(found))

    def fail_unless(self, condition: ir.Value, value: ir.Value, guard: Guard) -> None:
        """Leave the function with the guard's number unless the condition holds."""
        builder = self.builder
        passed, failed = self.new_block("passed"), self.new_block("failed")
        builder.cbranch(condition, passed, failed)
        builder.position_at_end(failed)
        builder.store(value, self.failure)
        builder.ret(ir.Constant(I64, -1 - len(self.generator.guards)))
        builder.position_at_end(passed)
        self.generator.guards.append(guard)

    def _variable(self, type: ir.Type, value: int) -> ir.Value:
        slot = self.builder.alloca(type)
        self.builder.store(ir.Constant(type, value), slot)
        return slot

    def _if_fits(self, end: ir.Value, write: Callable[[], None]) -> None:
        builder = self.builder
        fits, on = self.new_block("fits"), self.new_block("on")
        builder.cbranch(builder.icmp_signed("<=", end, self.capacity), fits, on)
        builder.position_at_end(fits)
        write()
        builder.branch(on)
        builder.position_at_end(on)

    def _store(self, start: ir.Value, words: list[Word]) -> None:
        target = self._word_pointer(self.out, start)
        template = [word if isinstance(word, int) else word.constant for word in words]
        size = ir.Constant(I64, WORD_BYTES * len(words))
        copy = self.module.declare_intrinsic("llvm.memcpy", [POINTER, POINTER, I64])
        self.builder.call(copy, [target, self._template(template), size, ir.Constant(ir.IntType(1), 0)])
        for index, word in enumerate(words):
            if isinstance(word, Packed):
                place = self._word_pointer(target, ir.Constant(I64, index))
                self.builder.store(self._pack(word), place, align=WORD_BYTES)

    def _template(self, words: list[int]) -> ir.Value:
        type = ir.ArrayType(I32, len(words))
        data = ir.GlobalVariable(self.module, type, f"{self.generator.name}.words.{len(self.module.global_values)}")
        data.linkage, data.global_constant, data.align = "private", True, WORD_BYTES
        data.initializer = ir.Constant(type, words)
        return data

    def _word_pointer(self, base: ir.Value, index: ir.Value) -> ir.Value:
        return self.builder.gep(base, [index], source_etype=I32)

    def _pack(self, word: Packed) -> ir.Value:
        builder = self.builder
        packed: ir.Value = ir.Constant(I32, word.constant)
        for part in word.parts:
            value = self._as_i32(self[part.value])
            if part.mask != 0xFFFFFFFF:
                value = builder.and_(value, ir.Constant(I32, part.mask))
            packed = builder.or_(packed, builder.shl(value, ir.Constant(I32, part.shift)) if part.shift else value)
        return builder.add(packed, ir.Constant(I32, word.addend)) if word.addend else packed

    def _as_i32(self, value: ir.Value) -> ir.Value:
        if value.type.width == 32:
            return value
        return self.builder.trunc(value, I32) if value.type.width > 32 else self.builder.zext(value, I32)

    def _write_header(self) -> None:
        end = self.builder.load(self.position, typ=I64)
        first, second, *_ = header_words(header_of(self.emitter.model), 0, 0)

        def write() -> None:
            size = self.builder.mul(self.builder.trunc(end, I32), ir.Constant(I32, WORD_BYTES))
            words = [ir.Constant(I32, first), ir.Constant(I32, second), self.builder.load(self.count, typ=I32), size]
            for index, word in enumerate(words):
                self.builder.store(word, self._word_pointer(self.out, ir.Constant(I64, index)), align=WORD_BYTES)

        self._if_fits(end, write)

    def _make_pools(self, sequence: RuntimeSequenceOp) -> None:
        """A stack of free descriptors for each pool that the sequence draws them from."""
        for op in sequence.walk():
            if (
                isinstance(op, tasks.DmaBdPoolPopOp | tasks.DmaBdPoolPushOp)
                and (key := self._pool_key(op)) not in self.pools
            ):
                numbers = key[1]
                ids = self.builder.alloca(I32, ir.Constant(I64, len(numbers)))
                for index, number in enumerate(reversed(numbers)):
                    place = self._word_pointer(ids, ir.Constant(I64, index))
                    self.builder.store(ir.Constant(I32, number), place)
                self.pools[key] = ids, self._variable(I64, len(numbers))

    def _pool_key(self, op: tasks.PoolUser) -> tuple[TileId, range]:
        return op.place, op.numbers(self.emitter.model)

    def pool(self, op: tasks.PoolUser) -> tuple[ir.Value, ir.Value]:
        """The stack that an operation uses, and how many are on it."""
        return self.pools[self._pool_key(op)]

    def guard(self, op: guards.Guard, fits: ir.Value, value: SSAValue, requirement: str) -> None:
        """Stop unless a value fits, saying what it is and has to be."""
        number = self[value]
        if number.type.width < I64.width:
            number = self.builder.sext(number, I64)
        subject = op.subject or "a number of this descriptor"
        self.fail_unless(fits, number, Guard(subject, requirement, op.location, self.arguments_behind(value)))


def _assert_field(body: Body, op: Operation) -> None:
    op, body = cast(guards.NpuAssertBdFieldOp, op), cast(_Builder, body)
    limit, value = op.max.value.data, body[op.value]
    fits = body.builder.icmp_unsigned("<=", value, ir.Constant(value.type, limit))
    body.guard(op, fits, op.value, guards.range_requirement(0, limit))


def _assert_divisible(body: Body, op: Operation) -> None:
    op, body = cast(guards.NpuAssertBdDivisibleOp, op), cast(_Builder, body)
    value, builder = body[op.value], body.builder
    remainder = builder.srem(value, ir.Constant(value.type, op.divisor.value.data))
    fits = builder.icmp_signed("==", remainder, ir.Constant(value.type, 0))
    if op.allow_unit is not None:
        fits = builder.or_(fits, builder.icmp_signed("==", value, ir.Constant(value.type, 1)))
    body.guard(op, fits, op.value, op.requirement)


def _assert_range(body: Body, op: Operation) -> None:
    op, body = cast(guards.NpuAssertRangeOp, op), cast(_Builder, body)
    (low, high), value, builder = op.limits, body[op.value], body.builder
    above = builder.icmp_signed(">=", value, ir.Constant(value.type, low))
    below = builder.icmp_signed("<=", value, ir.Constant(value.type, high))
    body.guard(op, builder.and_(above, below), op.value, op.requirement)


def _pop(body: Body, op: Operation) -> None:
    op, body = cast(tasks.DmaBdPoolPopOp, op), cast(_Builder, body)
    builder, (ids, head) = body.builder, body.pool(op)
    free = builder.load(head, typ=I64)
    some = builder.icmp_signed(">", free, ir.Constant(I64, 0))
    text = "this task needs a buffer descriptor of tile ({}, {}), and none is free".format(*op.place)
    everything = tuple(range(len(body.generator.arguments)))
    body.fail_unless(some, free, Guard("", text, op.location, everything))
    last = builder.sub(free, ir.Constant(I64, 1))
    builder.store(last, head)
    body.values[op.results[0]] = builder.load(builder.gep(ids, [last], source_etype=I32), typ=I32)


def _push(body: Body, op: Operation) -> None:
    op, body = cast(tasks.DmaBdPoolPushOp, op), cast(_Builder, body)
    builder, (ids, head) = body.builder, body.pool(op)
    free = builder.load(head, typ=I64)
    room = builder.icmp_signed("<", free, ir.Constant(I64, len(op.numbers(body.emitter.model))))
    text = "this gives a buffer descriptor back to tile ({}, {}) that was not taken".format(*op.place)
    body.fail_unless(room, free, Guard("", text, op.location))
    builder.store(body[op.bd_id], builder.gep(ids, [free], source_etype=I32))
    builder.store(builder.add(free, ir.Constant(I64, 1)), head)


def _for(body: Body, op: Operation) -> None:
    """A loop whose step is only known at run time must get somewhere."""
    loop, builder_of = cast(scf.ForOp, op), cast(_Builder, body)
    step = body[loop.step]
    if not isinstance(step, ir.Constant):
        positive = body.builder.icmp_signed(">", step, ir.Constant(step.type, 0))
        number = body.builder.sext(step, I64) if step.type.width < I64.width else step
        arguments = builder_of.arguments_behind(loop.step)
        builder_of.fail_unless(
            positive, number, Guard("the step of this loop", "must be positive", op.location, arguments)
        )
    lower_for(body, op)


def _nothing(body: Body, op: Operation) -> None:
    """Data of block writes: read where it is used."""


_HANDLERS: Mapping[str, Callable[[Body, Operation], None]] = {
    guards.NpuAssertBdFieldOp.name: _assert_field,
    guards.NpuAssertBdDivisibleOp.name: _assert_divisible,
    guards.NpuAssertRangeOp.name: _assert_range,
    tasks.DmaBdPoolPopOp.name: _pop,
    tasks.DmaBdPoolPushOp.name: _push,
    "memref.get_global": _nothing,
    "scf.for": _for,
}
