"""A lowered runtime sequence executed operation by operation: the obvious meaning, which generated code must match.

Numbers that are not known are None. What is computed from one is not known either; control flow cannot depend on one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tilewright.codegen.emission import WORD_MASK, Emitter, Packed
from tilewright.device import TileId
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex import guards, tasks
from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, fail_op

Number: TypeAlias = "int | None"
INDEX_BITS = 64
TO_BINARY = "to a static TXN binary"
CONTROL_FLOW = f"Cannot translate control flow with non-constant operands {TO_BINARY}"
TERMINATORS = ("aie.end", "scf.yield", "scf.condition")


class Refused(Exception):
    """A guard does not let a value pass; `text` says why."""

    def __init__(self, op: Operation, text: str):
        super().__init__(text)
        self.op, self.text = op, text


@dataclass(frozen=True)
class Emitted:
    """One operation of the stream: what it came from and its words, None where one depends on what is not known."""

    op: Operation
    words: list[Number]


class Interpreter:
    """Runs one sequence; `run` gives the operations of the stream in order."""

    def __init__(
        self,
        sequence: RuntimeSequenceOp,
        emitter: Emitter,
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
        self.pools: dict[tuple[TileId, range], list[Number]] = {}

    def run(self) -> Iterator[Emitted]:
        yield from self.block(self.sequence.body.block)

    def block(self, block: Block) -> Iterator[Emitted]:
        """What the operations before the terminator emit."""
        for op in block.ops:
            if op.name in TERMINATORS:
                continue
            try:
                yield from self._step(op)
            except DiagnosedError as error:
                if self.report is None:
                    raise
                for diagnostic in error.diagnostics:
                    self.report(diagnostic)

    def _step(self, op: Operation) -> Iterator[Emitted]:
        words = self.emitter.words(op)
        if words is not None:
            yield Emitted(op, [word if isinstance(word, int) else self._packed(word) for word in words])
        elif (control := _CONTROL.get(op.name)) is not None:
            yield from control(self, op)
        elif op.name in _COMPUTE:
            self._compute(op)
        elif (act := _ACTIONS.get(type(op))) is not None:
            act(self, op)
        elif not is_side_effect_free(op):
            note = "passes such as --aie-dma-tasks-to-npu and --aie-dma-to-npu lower it to operations that can"
            fail_op(op, "cannot be translated to TXN operations", (op, note))

    def _packed(self, word: Packed) -> Number:
        packed = word.constant
        for part in word.parts:
            value = self.values.get(part.value)
            if value is None:
                return None
            packed |= (value & part.mask) << part.shift
        return packed + word.addend & WORD_MASK

    def _compute(self, op: Operation) -> None:
        operands = [self.values.get(value) for value in op.operands]
        result = op.results[0]
        known = cast(Sequence[int], operands)
        self.values[result] = None if None in operands else signed(_COMPUTE[op.name](op, *known), bits(result.type))

    def known(self, op: Operation, value: SSAValue) -> int:
        """A number that control flow depends on."""
        number = self.values.get(value)
        if number is None:
            fail_op(op, CONTROL_FLOW)
        return number

    def hand_on(self, targets: Sequence[SSAValue], values: Sequence[Number]) -> None:
        self.values.update(zip(targets, values, strict=True))

    def yielded(self, block: Block) -> list[Number]:
        end = block.last_op
        return [self.values.get(value) for value in end.operands] if end is not None else []

    def pool(self, op: tasks.PoolUser) -> tuple[list[Number], int]:
        """The free descriptors, the next one last, and how many there are at most."""
        numbers = op.numbers(self.emitter.model)
        return self.pools.setdefault((op.place, numbers), [*reversed(numbers)]), len(numbers)


def bits(type: Attribute) -> int:
    match type:
        case IntegerType():
            return type.width.data
        case _:
            return INDEX_BITS


def signed(value: int, width: int) -> int:
    """The number that some bits are when the uppermost is the sign."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> width - 1 else value


def _unsigned(op: Operation, value: int) -> int:
    return value & (1 << bits(op.operands[0].type)) - 1


def _run_if(run: Interpreter, op: scf.IfOp) -> Iterator[Emitted]:
    region = op.true_region if run.known(op, op.cond) else op.false_region
    if region.blocks:
        yield from run.block(region.block)
        run.hand_on(op.results, run.yielded(region.block)[: len(op.results)])


def _run_for(run: Interpreter, op: scf.ForOp) -> Iterator[Emitted]:
    lower, upper, step = (run.known(op, value) for value in (op.lb, op.ub, op.step))
    if "unsignedCmp" in op.properties or "unsignedCmp" in op.attributes:
        lower, upper, step = (_unsigned(op, value) for value in (lower, upper, step))
    if step <= 0:
        raise Refused(op, f"loop step {step} must be positive")
    block = op.body.block
    carried: Sequence[Number] = [run.values.get(value) for value in op.iter_args]
    for number in range(lower, upper, step):
        run.hand_on(block.args, [signed(number, bits(op.lb.type)), *carried])
        yield from run.block(block)
        carried = run.yielded(block)
    run.hand_on(op.results, carried)


def _run_while(run: Interpreter, op: scf.WhileOp) -> Iterator[Emitted]:
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
        run.hand_on(after.args, passed)
        yield from run.block(after)
        carried = run.yielded(after)


def _run_switch(run: Interpreter, op: scf.IndexSwitchOp) -> Iterator[Emitted]:
    cases = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
    region = cases.get(run.known(op, op.arg), op.default_region)
    yield from run.block(region.block)
    run.hand_on(op.results, run.yielded(region.block))


def _divided(op: Operation, lhs: int, rhs: int) -> tuple[int, int] | None:
    """Quotient towards zero and remainder; None where the division is undefined."""
    if rhs == 0 or (rhs == -1 and lhs == -(1 << bits(op.operands[0].type) - 1)):
        return None
    quotient = abs(lhs) // abs(rhs) * (1 if (lhs < 0) == (rhs < 0) else -1)
    return quotient, lhs - quotient * rhs


def _signed_division(pick: Callable[[int, int], int]) -> Callable[..., int]:
    def compute(op: Operation, lhs: int, rhs: int) -> int:
        return 0 if (divided := _divided(op, lhs, rhs)) is None else pick(*divided)

    return compute


def _floor(op: Operation, lhs: int, rhs: int) -> int:
    return 0 if _divided(op, lhs, rhs) is None else lhs // rhs


def _ceil(op: Operation, lhs: int, rhs: int) -> int:
    return 0 if _divided(op, lhs, rhs) is None else -(-lhs // rhs)


def _plain(compute: Callable[..., int]) -> Callable[..., int]:
    """A computation for which the operation itself makes no difference."""

    def computed(op: Operation, *numbers: int) -> int:
        return compute(*numbers)

    return computed


def _on_unsigned(compute: Callable[[int, int], int]) -> Callable[..., int]:
    def computed(op: Operation, lhs: int, rhs: int) -> int:
        return compute(_unsigned(op, lhs), _unsigned(op, rhs))

    return computed


def _same(op: Operation, value: int) -> int:
    return value


def _select(op: Operation, condition: int, yes: int, no: int) -> int:
    return yes if condition else no


def _shift(compute: Callable[[int, int], int], *, with_sign: bool = False) -> Callable[..., int]:
    def shift(op: Operation, lhs: int, rhs: int) -> int:
        count = _unsigned(op, rhs)
        return compute(lhs if with_sign else _unsigned(op, lhs), count) if count < bits(op.operands[0].type) else 0

    return shift


_COMPARE: list[Callable[[int, int], bool]] = [
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
]


def _compare(op: Operation, lhs: int, rhs: int) -> int:
    predicate = cast(arith.CmpiOp, op).predicate.value.data
    if predicate > 5:  # the four last are the four before them without sign
        return _COMPARE[predicate - 4](_unsigned(op, lhs), _unsigned(op, rhs))
    return _COMPARE[predicate](lhs, rhs)


def _constant(op: Operation) -> int:
    value = cast(arith.ConstantOp, op).value
    if not isinstance(value, IntegerAttr):
        fail_op(op, "cannot be translated to TXN operations")
    return value.value.data


_COMPUTE: dict[str, Callable[..., int]] = {
    "arith.constant": _constant,
    "arith.addi": _plain(int.__add__),
    "arith.subi": _plain(int.__sub__),
    "arith.muli": _plain(int.__mul__),
    "arith.andi": _plain(int.__and__),
    "arith.ori": _plain(int.__or__),
    "arith.xori": _plain(int.__xor__),
    "arith.divsi": _signed_division(lambda quotient, _: quotient),
    "arith.remsi": _signed_division(lambda _, remainder: remainder),
    "arith.divui": _on_unsigned(lambda x, y: x // y if y else 0),
    "arith.remui": _on_unsigned(lambda x, y: x % y if y else 0),
    "arith.floordivsi": _floor,
    "arith.ceildivsi": _ceil,
    "arith.ceildivui": _on_unsigned(lambda x, y: -(-x // y) if y else 0),
    "arith.shli": _shift(int.__lshift__),
    "arith.shrui": _shift(int.__rshift__),
    "arith.shrsi": _shift(int.__rshift__, with_sign=True),
    "arith.maxsi": _plain(max),
    "arith.minsi": _plain(min),
    "arith.maxui": _on_unsigned(max),
    "arith.minui": _on_unsigned(min),
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.trunci": _same,
    "arith.extsi": _same,
    "arith.extui": _unsigned,
    "arith.index_cast": _same,
    "arith.index_castui": _unsigned,
}

_CONTROL: dict[str, Callable[[Interpreter, Any], Iterator[Emitted]]] = {
    "scf.for": _run_for,
    "scf.if": _run_if,
    "scf.index_switch": _run_switch,
    "scf.while": _run_while,
}


def _check_field(run: Interpreter, op: guards.NpuAssertBdFieldOp) -> None:
    value, limit = run.values.get(op.value), op.max.value.data & WORD_MASK
    if value is not None and value & WORD_MASK > limit:
        raise Refused(op, f"constant value {value} exceeds the guarded field range [0:{limit}].")


def _check_divisible(run: Interpreter, op: guards.NpuAssertBdDivisibleOp) -> None:
    value, divisor = run.values.get(op.value), op.divisor.value.data
    if value is None or (op.allow_unit is not None and value == 1) or value % divisor == 0:
        return
    text = "(transfer is not a whole number of address-gen granules)"
    raise Refused(op, f"constant value {value} is not divisible by {divisor} {text}.")


def _check_range(run: Interpreter, op: guards.NpuAssertRangeOp) -> None:
    value, (low, high) = run.values.get(op.value), op.limits
    if value is not None and not low <= value <= high:
        raise Refused(op, f"{op.subject or 'constant value'} is {value} but {op.requirement}")


def _take(run: Interpreter, op: tasks.DmaBdPoolPopOp) -> None:
    free, _ = run.pool(op)
    if not free:
        raise Refused(op, "needs a free buffer descriptor on tile ({}, {}), and none is left".format(*op.place))
    run.values[op.bd_id] = free.pop()


def _give_back(run: Interpreter, op: tasks.DmaBdPoolPushOp) -> None:
    free, count = run.pool(op)
    if len(free) >= count:
        raise Refused(op, "gives a buffer descriptor back to tile ({}, {}) that was not taken".format(*op.place))
    free.append(run.values.get(op.bd_id))


_ACTIONS: dict[type[Operation], Callable[[Interpreter, Any], None]] = {
    guards.NpuAssertBdDivisibleOp: _check_divisible,
    guards.NpuAssertBdFieldOp: _check_field,
    guards.NpuAssertRangeOp: _check_range,
    tasks.DmaBdPoolPopOp: _take,
    tasks.DmaBdPoolPushOp: _give_back,
}
