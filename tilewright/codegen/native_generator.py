"""A lowered runtime sequence as a native function that fills a buffer with TXN words.

    int64_t generate(uint32_t *out, int64_t capacity, int64_t *failure, int64_t argument, ...)

It gives the number of words of the stream, whether or not they fit: where they do not, nothing is written past
`capacity` and the caller tries again with more room. Where a guard fails it gives -1 - (number of the guard), with the
guarded value in `*failure`.
"""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import ir
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation

from tilewright.codegen.interpreter import NONE_FREE, NOT_TAKEN
from tilewright.codegen.native_body import Generator, GeneratorBody
from tilewright.codegen.sequence_scalars import SequenceGuard
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.dialects import arith, scf
from tilewright.dialects.aie.sequence import RuntimeSequenceOp, scalar_arguments
from tilewright.dialects.aiex import guards, tasks
from tilewright.dialects.arith.meaning import DIVISION_BY_ZERO, DIVISIONS, MEANING, RESIZES
from tilewright.ir.diagnostics import fail_op
from tilewright.native import arithmetic, casts, loops
from tilewright.native.lowering import Handler
from tilewright.native.values import I32, I64, POINTER, index


def build_generator(module: ir.Module, sequence: RuntimeSequenceOp, emitter: TxnEmitter, name: str) -> Generator:
    """Add the function to an LLVM module."""
    arguments = scalar_arguments(sequence)
    type = ir.FunctionType(I64, [POINTER, I64, POINTER, *(I64 for _ in arguments)])
    generator = Generator(ir.Function(module, type, name), arguments, sequence.location)
    generator.function.attributes.add("nounwind")
    GeneratorBody(module, generator, emitter, HANDLERS).build(sequence)
    return generator


def _assert_field(body: GeneratorBody, op: guards.NpuAssertBdFieldOp) -> None:
    limit = op.max.value.data

    def fits(value: ir.Value) -> ir.Value:
        # Unsigned: a negative number is too large for a field as well.
        return body.builder.icmp_unsigned("<=", value, ir.Constant(value.type, limit))

    body.guard(op, op.value, guards.range_requirement(0, limit), fits)


def _assert_divisible(body: GeneratorBody, op: guards.NpuAssertBdDivisibleOp) -> None:
    builder = body.builder

    def fits(value: ir.Value) -> ir.Value:
        remainder = builder.srem(value, ir.Constant(value.type, op.divisor.value.data))
        divisible = builder.icmp_signed("==", remainder, ir.Constant(value.type, 0))
        is_one = builder.icmp_signed("==", value, ir.Constant(value.type, 1))
        return divisible if op.allow_unit is None else builder.or_(divisible, is_one)

    body.guard(op, op.value, op.requirement, fits)


def _assert_range(body: GeneratorBody, op: guards.NpuAssertRangeOp) -> None:
    (low, high), builder = op.limits, body.builder

    def fits(value: ir.Value) -> ir.Value:
        above = builder.icmp_signed(">=", value, ir.Constant(value.type, low))
        below = builder.icmp_signed("<=", value, ir.Constant(value.type, high))
        return builder.and_(above, below)

    body.guard(op, op.value, op.requirement, fits)


def _pop(body: GeneratorBody, op: tasks.DmaBdPoolPopOp) -> None:
    builder, (ids, head) = body.builder, body.pool(op)
    free = builder.load(head, typ=I64)
    some = builder.icmp_signed(">", free, index(0))
    text = NONE_FREE.format(*op.place)
    # Any argument may decide how many tasks there are at a time.
    everything = tuple(range(len(body.generator.arguments)))
    body.fail_unless(some, free, SequenceGuard("", text, op.location, everything))
    last = builder.sub(free, index(1))
    builder.store(last, head)
    body.values[op.results[0]] = builder.load(builder.gep(ids, [last], source_etype=I32), typ=I32)


def _push(body: GeneratorBody, op: tasks.DmaBdPoolPushOp) -> None:
    builder, (ids, head) = body.builder, body.pool(op)
    free = builder.load(head, typ=I64)
    room = builder.icmp_signed("<", free, index(len(op.numbers(body.emitter.model))))
    text = NOT_TAKEN.format(*op.place)
    body.fail_unless(room, free, SequenceGuard("", text, op.location))
    place = free
    if op.last is not None:  # below all others
        body.move_words(builder.gep(ids, [index(1)], source_etype=I32), ids, free)
        place = index(0)
    builder.store(body[op.bd_id], builder.gep(ids, [place], source_etype=I32))
    builder.store(builder.add(free, index(1)), head)


def _for(body: GeneratorBody, op: scf.ForOp) -> None:
    """A loop whose step is only known at run time must get somewhere."""
    step = body[op.step]
    if not isinstance(step, ir.Constant):
        positive = body.builder.icmp_signed(">", step, ir.Constant(step.type, 0))
        arguments = body.arguments_behind(op.step)
        guard = SequenceGuard("the step of this loop", "must be positive", op.location, arguments)
        body.fail_unless(positive, step, guard)
    loops.for_loop(body, op)


def _divide(body: GeneratorBody, op: Operation) -> None:
    divisor = op.operands[1]
    value = body[divisor]
    if not isinstance(value, ir.Constant) or value.constant == 0:
        differs = body.builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
        arguments = body.arguments_behind(divisor)
        text = f"{DIVISION_BY_ZERO}: a sequence has no words where a divisor is zero"
        body.fail_unless(differs, value, SequenceGuard("", text, op.location, arguments))
    arithmetic.HANDLERS[op.name](body, op)


def _nothing(body: GeneratorBody, op: Operation) -> None:
    """Data of block writes: read where it is used."""


def _constant(body: GeneratorBody, op: arith.ConstantOp) -> None:
    if not isinstance(op.value, IntegerAttr | FloatAttr):
        fail_op(op, "is no scalar constant: it has no native translation")
    arithmetic.HANDLERS[op.name](body, op)


HANDLERS: Mapping[str, Handler] = {
    **{name: arithmetic.HANDLERS[name] for name in (*MEANING, "arith.cmpi", "arith.select")},
    **dict.fromkeys(DIVISIONS, _divide),
    **{name: casts.HANDLERS[name] for name in RESIZES},
    **{name: loops.HANDLERS[name] for name in ("scf.if", "scf.index_switch", "scf.while")},
    "arith.constant": _constant,
    "builtin.unrealized_conversion_cast": casts.resizing(unsigned=False),  # between integers with and without sign
    guards.NpuAssertBdFieldOp.name: _assert_field,
    guards.NpuAssertBdDivisibleOp.name: _assert_divisible,
    guards.NpuAssertRangeOp.name: _assert_range,
    tasks.DmaBdPoolPopOp.name: _pop,
    tasks.DmaBdPoolPushOp.name: _push,
    "memref.get_global": _nothing,
    "scf.for": _for,
}
