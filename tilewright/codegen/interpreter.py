"""A lowered runtime sequence executed operation by operation: the obvious meaning, which generated code must match.

A value is the number that its bits are with sign. Numbers that are not known are None. What is computed from one is not
known either; control flow cannot depend on one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tilewright.codegen.txn_words import PackedWord, TxnEmitter, is_emitted, remedy
from tilewright.device import TileId
from tilewright.device.layout import WORD_BITS, WORD_MASK
from tilewright.dialects import arith, scf
from tilewright.dialects.aie.data_layout import INDEX_BITS
from tilewright.dialects.aie.sequence import RuntimeSequenceOp, scalar_arguments
from tilewright.dialects.aiex import guards, tasks
from tilewright.dialects.arith.meaning import DIVISION_BY_ZERO, DIVISIONS, MEANING, RESIZES
from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, fail, fail_op
from tilewright.ir.limits import MOST_TURNS
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.integers import UndefinedResult, integers, mask, signed

Number: TypeAlias = "int | None"
TO_BINARY = "to a static TXN binary"
CONTROL_FLOW = f"Cannot translate control flow with non-constant operands {TO_BINARY}"
TERMINATORS = ("aie.end", "scf.yield", "scf.condition")
SCALAR_BITS = range(1, 65)
DESCRIPTOR = "a number of this descriptor"
"""The subject of a guard that names none."""
NONE_FREE = "this task needs a buffer descriptor of tile ({}, {}), and none is free"
NOT_TAKEN = "this gives a buffer descriptor back to tile ({}, {}) that was not taken"
TURNS, FEWER_TURNS = (
    "the number of turns of this sequence's loops",
    f"a sequence can have {MOST_TURNS} at most: let it do less at a time",
)


class Refused(Exception):
    """A guard does not let a value pass; `text` says why."""

    def __init__(self, op: Operation, text: str, subject: str = "", demand: str = "", value: int = 0, *about: SSAValue):
        """What native code says of it: `subject`, what it has to be and is, and the values that this depends on."""
        super().__init__(text)
        self.op, self.text, self.subject, self.value, self.about = op, text, subject, value, about
        self.demand = demand or text


@dataclass(frozen=True)
class EmittedWords:
    """One operation of the stream: what it came from and its words, None where one depends on what is not known."""

    op: Operation
    words: list[Number]


class Computation(NamedTuple):
    """An operation of `arith`, taken apart once: loops execute it many times."""

    compute: Callable[..., int]
    operands: Sequence[SSAValue]
    result: SSAValue
    width: int


class Interpreter:
    """Runs one sequence; `run` gives the operations of the stream in order."""

    def __init__(
        self,
        sequence: RuntimeSequenceOp,
        emitter: TxnEmitter,
        arguments: Mapping[SSAValue, int] | None = None,
        report: Callable[[Diagnostic], None] | None = None,
    ):
        """With `report`, operations that cannot be executed are skipped after they have been reported."""
        self.sequence = sequence
        self.emitter = emitter
        self.report = report
        self.values: dict[SSAValue, Number] = dict.fromkeys(sequence.body.block.args)
        for argument, value in (arguments or {}).items():
            self.values[argument] = signed(value, bits(argument.type))
        self.pools: dict[tuple[TileId, Sequence[int]], list[Number]] = {}
        self._computations: dict[Operation, Computation] = {}
        self._turns = 0

    def run(self) -> Iterator[EmittedWords]:
        yield from self._operations(self.sequence.outer_computations)
        yield from self.block(self.sequence.body.block)

    def block(self, block: Block) -> Iterator[EmittedWords]:
        """What the operations before the terminator emit."""
        return self._operations(block.ops)

    def _operations(self, operations: Iterable[Operation]) -> Iterator[EmittedWords]:
        for op in operations:
            if op.name in TERMINATORS:
                continue
            try:
                # Most operations are of this kind, and what is called here need not be a generator.
                if op.name in COMPUTE:
                    self._compute(op)
                else:
                    yield from self._step(op)
            except DiagnosedError as error:
                if self.report is None:
                    raise
                for diagnostic in error.diagnostics:
                    self.report(diagnostic)

    def _step(self, op: Operation) -> Iterator[EmittedWords]:
        words = self.emitter.words(op)
        if words is not None:
            yield EmittedWords(op, [word if isinstance(word, int) else self._packed(word) for word in words])
        elif (control := _CONTROL.get(op.name)) is not None:
            yield from control(self, op)
        elif (act := _ACTIONS.get(type(op))) is not None:
            act(self, op)
        # What has no effect and is not computed stays unknown; it matters only where a word needs it.
        elif op.regions or not is_side_effect_free(op):
            fail_op(op, "cannot be translated to TXN operations", (op, remedy(op)))

    def _packed(self, word: PackedWord) -> Number:
        packed = word.constant
        for part in word.parts:
            value = self.values.get(part.value)
            if value is None:
                return None
            # Without sign, for what is not as wide as a word.
            packed |= (value & mask(bits(part.value.type)) & part.mask) << part.shift
        if word.addend_from is not None:
            decisive, least = word.addend_from
            if (value := self.values.get(decisive)) is None:
                return None
            if _as_word(value, bits(decisive.type)) < least:
                return packed
        return packed + word.addend & WORD_MASK

    def _compute(self, op: Operation) -> None:
        found = self._computations.get(op)
        if found is None:
            function = COMPUTE[op.name](op)
            found = Computation(function, tuple(op.operands), op.results[0], bits(op.results[0].type))
            self._computations[op] = found
        operands = [self.values.get(value) for value in found.operands]
        try:
            self.values[found.result] = None if None in operands else signed(found.compute(*operands), found.width)
        except UndefinedResult:
            if op.name in DIVISIONS and operands[1] == 0:
                text = f"{DIVISION_BY_ZERO}: a sequence has no words where a divisor is zero"
                raise Refused(op, text, "", text, 0, op.operands[1]) from None
            self.values[found.result] = 0  # as in native code, whatever a processor would give

    def known(self, op: Operation, value: SSAValue) -> int:
        """A number that control flow depends on."""
        number = self.values.get(value)
        if number is None:
            fail_op(op, CONTROL_FLOW)
        return number

    def count_turn(self, loop: Operation) -> None:
        """Refuse loops that would go round for ever."""
        self._turns += 1
        if self._turns > MOST_TURNS:
            text = f"{TURNS} is {self._turns} but {FEWER_TURNS}"
            raise Refused(loop, text, TURNS, FEWER_TURNS, self._turns, *loop.operands)

    def hand_on(self, targets: Sequence[SSAValue], values: Sequence[Number]) -> None:
        self.values.update(zip(targets, values, strict=True))

    def yielded(self, block: Block) -> list[Number]:
        end = block.last_op
        return [self.values.get(value) for value in end.operands] if end is not None else []

    def pool(self, op: tasks.PoolUser) -> tuple[list[Number], int]:
        """The free descriptors, the next one last, and how many there are at most."""
        numbers = op.numbers(self.emitter.model)
        return self.pools.setdefault((op.place, numbers), [*reversed(numbers)]), len(numbers)


def _as_word(value: int, width: int) -> int:
    """The number with sign that a word holds for a value; one of fewer bits has none."""
    return signed(value & mask(width), WORD_BITS)


def bits(type: Attribute) -> int:
    return type.bitwidth if isinstance(type, IntegerType) else INDEX_BITS


def _constant(op: arith.ConstantOp) -> Callable[..., int]:
    value = op.value
    if not isinstance(value, IntegerAttr):
        fail_op(op, "cannot be translated to TXN operations")
    return lambda: value.value.data


COMPUTE: dict[str, Callable[[Any], Callable[..., int]]] = {
    "arith.constant": _constant,
    **dict.fromkeys(MEANING, lambda op: partial(MEANING[op.name], integers(bits(op.operands[0].type)))),
    **dict.fromkeys(
        # The cast is one between integers with and without sign.
        (*RESIZES, "builtin.unrealized_conversion_cast"),
        lambda op: partial(integers(bits(op.operands[0].type)).read, is_signed=RESIZES.get(op.name, True)),
    ),
    "arith.cmpi": lambda op: partial(integers(bits(op.lhs.type)).cmpi, op.predicate.value.data),
    "arith.select": lambda op: integers(bits(op.results[0].type)).select,
}
"""By operation: what gives the function that computes its result."""


def _run_if(run: Interpreter, op: scf.IfOp) -> Iterator[EmittedWords]:
    region = op.true_region if run.known(op, op.cond) else op.false_region
    if region.blocks:
        yield from run.block(region.block)
        run.hand_on(op.results, run.yielded(region.block)[: len(op.results)])


def _run_for(run: Interpreter, op: scf.ForOp) -> Iterator[EmittedWords]:
    lower, upper, step = (run.known(op, value) for value in (op.lb, op.ub, op.step))
    if "unsignedCmp" in op.properties or "unsignedCmp" in op.attributes:
        lower, upper, step = (value & mask(bits(op.lb.type)) for value in (lower, upper, step))
    if step <= 0:
        text = f"loop step {step} must be positive"
        raise Refused(op, text, "the step of this loop", "must be positive", step, op.step)
    block = op.body.block
    carried: Sequence[Number] = [run.values.get(value) for value in op.iter_args]
    for number in range(lower, upper, step):
        run.count_turn(op)
        run.hand_on(block.args, [signed(number, bits(op.lb.type)), *carried])
        yield from run.block(block)
        carried = run.yielded(block)
    run.hand_on(op.results, carried)


def _run_while(run: Interpreter, op: scf.WhileOp) -> Iterator[EmittedWords]:
    before, after = op.before_region.block, op.after_region.block
    carried: Sequence[Number] = [run.values.get(value) for value in op.arguments]
    while True:
        run.hand_on(before.args, carried)
        yield from run.block(before)
        condition, *passed = run.yielded(before)
        if condition is None:
            fail_op(op, CONTROL_FLOW)
        if not condition:
            run.hand_on(op.results, passed)
            return
        run.count_turn(op)
        run.hand_on(after.args, passed)
        yield from run.block(after)
        # Nothing but what is carried can change the condition, so this round would repeat for ever.
        if (following := run.yielded(after)) == carried:
            fail_op(op, "never ends: each round begins with the same numbers", (op, "hand on what its condition needs"))
        carried = following


def _run_switch(run: Interpreter, op: scf.IndexSwitchOp) -> Iterator[EmittedWords]:
    cases = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
    region = cases.get(run.known(op, op.arg), op.default_region)
    yield from run.block(region.block)
    run.hand_on(op.results, run.yielded(region.block))


_CONTROL: dict[str, Callable[[Interpreter, Any], Iterator[EmittedWords]]] = {
    "scf.for": _run_for,
    "scf.if": _run_if,
    "scf.index_switch": _run_switch,
    "scf.while": _run_while,
}


def _check_field(run: Interpreter, op: guards.NpuAssertBdFieldOp) -> None:
    value, limit = run.values.get(op.value), op.max.value.data & WORD_MASK
    if value is not None and value & WORD_MASK > limit:
        text = f"constant value {value} exceeds the guarded field range [0:{limit}]."
        raise Refused(op, text, op.subject or DESCRIPTOR, guards.range_requirement(0, limit), value, op.value)


def _check_divisible(run: Interpreter, op: guards.NpuAssertBdDivisibleOp) -> None:
    value, divisor = run.values.get(op.value), op.divisor.value.data
    if value is None or (op.allow_unit is not None and value == 1) or value % divisor == 0:
        return
    why = "(transfer is not a whole number of address-gen granules)"
    text = f"constant value {value} is not divisible by {divisor} {why}."
    raise Refused(op, text, op.subject or DESCRIPTOR, op.requirement, value, op.value)


def _check_range(run: Interpreter, op: guards.NpuAssertRangeOp) -> None:
    value, (low, high) = run.values.get(op.value), op.limits
    if value is not None and not low <= value <= high:
        text = f"{op.subject or 'constant value'} is {value} but {op.requirement}"
        raise Refused(op, text, op.subject or DESCRIPTOR, op.requirement, value, op.value)


def _take(run: Interpreter, op: tasks.DmaBdPoolPopOp) -> None:
    free, _ = run.pool(op)
    if not free:
        text = "needs a free buffer descriptor on tile ({}, {}), and none is left".format(*op.place)
        # Any argument may decide how many tasks there are at a time.
        raise Refused(op, text, "", NONE_FREE.format(*op.place), 0, *run.sequence.body.block.args)
    run.values[op.bd_id] = free.pop()


def _give_back(run: Interpreter, op: tasks.DmaBdPoolPushOp) -> None:
    free, count = run.pool(op)
    if len(free) >= count:
        text = "gives a buffer descriptor back to tile ({}, {}) that was not taken".format(*op.place)
        raise Refused(op, text, "", NOT_TAKEN.format(*op.place))
    free.insert(0 if op.last is not None else len(free), run.values.get(op.bd_id))


_ACTIONS: dict[type[Operation], Callable[[Interpreter, Any], None]] = {
    guards.NpuAssertBdDivisibleOp: _check_divisible,
    guards.NpuAssertBdFieldOp: _check_field,
    guards.NpuAssertRangeOp: _check_range,
    tasks.DmaBdPoolPopOp: _take,
    tasks.DmaBdPoolPushOp: _give_back,
}


EXECUTED = frozenset((*COMPUTE, *_CONTROL, *(action.name for action in _ACTIONS), "memref.get_global"))
"""Operations that a sequence can have beside those that are words; data of block writes is read where it is used."""


def check_generator(sequence: RuntimeSequenceOp, names: Sequence[str]) -> None:
    """Refuse what no generator can be made of: arguments that are no integers, operations that are no instructions."""
    for argument in scalar_arguments(sequence):
        type = argument.type
        if not isinstance(type, IndexType) and not (isinstance(type, IntegerType) and type.bitwidth in SCALAR_BITS):
            name, wanted = names[argument.index], f"integers of 1 to {SCALAR_BITS[-1]} bits, index, and memrefs"
            taken = f"@{sequence.sym_name.data} is {argument.type}; a sequence takes {wanted}"
            fail(argument, f"argument {name} of {taken}")
    for op in all_operations(sequence):
        known = op.name in EXECUTED or op.name in TERMINATORS or is_emitted(op)
        if op is not sequence and not known:
            fail_op(op, "has no native translation", (op, remedy(op)))
