"""The body of a native generator: collects the words of operations, and writes them where a run of them ends.

Consecutive operations are one copy of a constant template, then a store for each word that depends on run-time values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from llvmlite import ir
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.codegen.interpreter import DESCRIPTOR, FEWER_TURNS, TERMINATORS, TURNS
from tilewright.codegen.sequence_scalars import SequenceGuard, arguments_behind
from tilewright.codegen.txn_words import PackedWord, TxnEmitter, Word, remedy
from tilewright.device import TileId
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects import scf
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex import guards, tasks
from tilewright.dialects.emitc.types import odd_integer
from tilewright.ir.limits import MOST_TURNS
from tilewright.native.integers import resize
from tilewright.native.lowering import Handler, Lowering, Unit
from tilewright.native.types import llvm_type
from tilewright.native.values import I1, I32, I64, POINTER, Value, index
from tilewright.txn.codec import header_words

MOST_GUARDS = 200
MOST_PENDING = 256  # words; LLVM takes more than twice as long for a block that is twice as long


@dataclass
class Generator:
    """The native function, the arguments it takes and the guards it checks."""

    function: ir.Function
    arguments: list[BlockArgument]
    location: LocationAttr
    guards: list[SequenceGuard] = field(default_factory=list[SequenceGuard])

    @property
    def is_short(self) -> bool:
        """Whether LLVM can be asked for its best in a reasonable time: that grows with the square of the conditions."""
        return len(self.guards) <= MOST_GUARDS


class GeneratorBody(Lowering):
    """Builds the function of one generator; `handlers` are for operations that are no words."""

    counts_cycles = False

    def __init__(self, module: ir.Module, generator: Generator, emitter: TxnEmitter, handlers: Mapping[str, Handler]):
        self.out, self.capacity, self.failure = generator.function.args[:3]
        super().__init__(Unit(module, handlers), generator.function, self.failure)
        self.module, self.generator, self.emitter = module, generator, emitter
        # The header's four words are written last, when their contents are known.
        self.position = self._variable(I64, 4)
        self.count = self._variable(I32, 0)
        self.turns = self._variable(I64, 0)
        self.pending: list[Word] = []
        self.pending_operations = 0
        self.pools: dict[tuple[TileId, Sequence[int]], tuple[ir.Value, ir.Value]] = {}
        self._templates = 0
        self._checked: list[set[tuple[SSAValue, str]]] = []
        """What is known to hold where code is being built: by block, the innermost last."""

    def build(self, sequence: RuntimeSequenceOp) -> None:
        for argument, value in zip(self.generator.arguments, self.generator.function.args[3:], strict=True):
            self._check_argument(argument, value)
            self[argument] = resize(self.builder, value, llvm_type(argument.type), unsigned=True)
        self._make_pools(sequence)
        for computation in sequence.outer_computations:
            self.lower(computation)
        self._checked.append(set())
        # A sequence need not have a terminator.
        for op in sequence.body.block.ops:
            if op.name not in TERMINATORS:
                self.lower(op)
        self.flush()
        self._write_header()
        self.builder.ret(self.builder.load(self.position, typ=I64))
        self.close()

    def _check_argument(self, argument: BlockArgument, value: ir.Value) -> None:
        """Refuse numbers with more bits than an argument has, where C has no type for those that it has."""
        if (type := odd_integer(argument.type)) is not None:
            low, high = guards.any_limits(type)
            builder = self.builder
            fits = builder.and_(
                builder.icmp_signed(">=", value, index(low)), builder.icmp_signed("<=", value, index(high))
            )
            subject, text = f"an argument of {type.bitwidth} bits", guards.range_requirement(low, high)
            number = self.generator.arguments.index(argument)
            guard = SequenceGuard(subject, text, argument.location, (number,))
            self.fail_unless(fits, value, guard)

    def lower(self, op: Operation) -> None:
        words = self.emitter.words(op)
        if words is not None:
            self.pending += words
            self.pending_operations += 1
            if len(self.pending) > MOST_PENDING:
                self.flush()
            return
        if op.regions:
            self.flush()
        super().lower(op)

    def remedy(self, op: Operation) -> str:
        return remedy(op)

    def lower_block(self, block: Block, arguments: Sequence[Value] = ()) -> list[Value]:
        self._checked.append(set())
        loop = block.parent_op()
        if isinstance(loop, scf.ForOp | scf.WhileOp) and block.parent is loop.regions[-1]:
            self._count_turn(loop)
        results = super().lower_block(block, arguments)
        self._checked.pop()
        self.flush()
        return results

    def flush(self) -> None:
        """Write the words collected so far, if they fit, and move on."""
        if not self.pending:
            return
        builder, words = self.builder, self.pending
        start = builder.load(self.position, typ=I64)
        end = builder.add(start, index(len(words)))
        builder.store(end, self.position)
        total = builder.add(builder.load(self.count, typ=I32), ir.Constant(I32, self.pending_operations))
        builder.store(total, self.count)
        with self._if_fits(end):
            self._store(start, words)
        self.pending, self.pending_operations = [], 0

    def arguments_behind(self, value: SSAValue) -> tuple[int, ...]:
        return arguments_behind(value, self.generator.arguments)

    def _count_turn(self, loop: Operation) -> None:
        """Refuse loops that would keep a generator busy for ever."""
        turns = self.builder.add(self.builder.load(self.turns, typ=I64), index(1))
        self.builder.store(turns, self.turns)
        fine = self.builder.icmp_signed("<=", turns, index(MOST_TURNS))
        arguments = {n for operand in loop.operands for n in self.arguments_behind(operand)}
        guard = SequenceGuard(TURNS, FEWER_TURNS, loop.location, tuple(sorted(arguments)))
        self.fail_unless(fine, turns, guard)

    def fail_unless(self, condition: ir.Value, value: ir.Value, guard: SequenceGuard) -> None:
        """Leave the function with the guard's number unless the condition holds."""
        with self.aside("failed", condition, "passed", when=False):
            self.builder.store(resize(self.builder, value, I64, unsigned=False), self.failure)
            self.builder.ret(index(-1 - len(self.generator.guards)))
        self.generator.guards.append(guard)

    def _variable(self, type: ir.Type, value: int) -> ir.Value:
        slot = self.variable(type)
        self.builder.store(ir.Constant(type, value), slot)
        return slot

    def _if_fits(self, end: ir.Value) -> AbstractContextManager[None]:
        return self.aside("fits", self.builder.icmp_signed("<=", end, self.capacity))

    def _store(self, start: ir.Value, words: list[Word]) -> None:
        target = self._word_pointer(self.out, start)
        template = [word if isinstance(word, int) else word.constant for word in words]
        size = index(WORD_BYTES * len(words))
        copy = self.module.declare_intrinsic("llvm.memcpy", [POINTER, POINTER, I64])
        self.builder.call(copy, [target, self._template(template), size, ir.Constant(I1, 0)])
        for number, word in enumerate(words):
            if isinstance(word, PackedWord):
                place = self._word_pointer(target, index(number))
                self.builder.store(self._pack(word), place, align=WORD_BYTES)

    def move_words(self, target: ir.Value, source: ir.Value, count: ir.Value) -> None:
        """Copy words that may overlap."""
        move = self.module.declare_intrinsic("llvm.memmove", [POINTER, POINTER, I64])
        size = self.builder.mul(count, index(WORD_BYTES))
        self.builder.call(move, [target, source, size, ir.Constant(I1, 0)])

    def _template(self, words: list[int]) -> ir.Value:
        self._templates += 1
        data = private_constant(self.module, f"{self.generator.function.name}.words.{self._templates}", I32, words)
        data.align = WORD_BYTES
        return data

    def _word_pointer(self, base: ir.Value, number: ir.Value) -> ir.Value:
        return self.builder.gep(base, [number], source_etype=I32)

    def _pack(self, word: PackedWord) -> ir.Value:
        builder = self.builder
        packed: ir.Value = ir.Constant(I32, word.constant)
        for part in word.parts:
            value = resize(builder, self[part.value], I32, unsigned=True)
            if part.mask != 0xFFFFFFFF:
                value = builder.and_(value, ir.Constant(I32, part.mask))
            packed = builder.or_(packed, builder.shl(value, ir.Constant(I32, part.shift)) if part.shift else value)
        addend: ir.Value = ir.Constant(I32, word.addend)
        if word.addend_from is not None:
            value, least = word.addend_from
            counts = builder.icmp_signed(
                ">=", resize(builder, self[value], I32, unsigned=True), ir.Constant(I32, least)
            )
            addend = builder.select(counts, addend, ir.Constant(I32, 0))
        return builder.add(packed, addend) if word.addend else packed

    def _write_header(self) -> None:
        end = self.builder.load(self.position, typ=I64)
        first, second, *_ = header_words(self.emitter.header, 0, 0)
        with self._if_fits(end):
            size = self.builder.mul(self.builder.trunc(end, I32), ir.Constant(I32, WORD_BYTES))
            words = [ir.Constant(I32, first), ir.Constant(I32, second), self.builder.load(self.count, typ=I32), size]
            for number, word in enumerate(words):
                self.builder.store(word, self._word_pointer(self.out, index(number)), align=WORD_BYTES)

    def _make_pools(self, sequence: RuntimeSequenceOp) -> None:
        """A stack of free descriptors for each pool that the sequence draws them from."""
        for op in sequence.walk():
            if (
                isinstance(op, tasks.DmaBdPoolPopOp | tasks.DmaBdPoolPushOp)
                and (key := self._pool_key(op)) not in self.pools
            ):
                numbers = key[1]
                ids = self.variable(I32, len(numbers))
                # The lowest number is on top, so that it is taken first, as by the C++ pools.
                for place, number in enumerate(reversed(numbers)):
                    self.builder.store(ir.Constant(I32, number), self._word_pointer(ids, index(place)))
                self.pools[key] = ids, self._variable(I64, len(numbers))

    def _pool_key(self, op: tasks.PoolUser) -> tuple[TileId, Sequence[int]]:
        return op.place, op.numbers(self.emitter.model)

    def pool(self, op: tasks.PoolUser) -> tuple[ir.Value, ir.Value]:
        """The stack that an operation uses, and how many are on it."""
        return self.pools[self._pool_key(op)]

    def guard(self, op: guards.Guard, value: SSAValue, requirement: str, fits: Callable[[ir.Value], ir.Value]) -> None:
        """Stop unless a value fits, saying what it is and has to be; once is enough."""
        # A check in an enclosing block has been made before this one is reached.
        if any((value, requirement) in known for known in self._checked):
            return
        self._checked[-1].add((value, requirement))
        subject = op.subject or DESCRIPTOR
        guard = SequenceGuard(subject, requirement, op.location, self.arguments_behind(value))
        self.fail_unless(fits(self[value]), self[value], guard)


def private_constant(
    module: ir.Module, name: str, element: ir.Type, values: Sequence[int] | bytearray
) -> ir.GlobalVariable:
    """An array that only code of the module sees."""
    type = ir.ArrayType(element, len(values))
    data = ir.GlobalVariable(module, type, name)
    data.linkage, data.global_constant, data.initializer = "private", True, ir.Constant(type, values)
    return data
