"""Operations of a sequence that become no words, as native code: guards, pools of descriptors, loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from llvmlite import ir
from xdsl.ir import Operation

from tilewright.codegen.native_body import I32, I64, GeneratorBody, Guard
from tilewright.dialects import scf
from tilewright.dialects.aiex import guards, tasks
from tilewright.native.body import Body, Handler, lower_for


def _assert_field(body: Body, op: Operation) -> None:
    op, body = cast(guards.NpuAssertBdFieldOp, op), cast(GeneratorBody, body)
    limit, builder = op.max.value.data, body.builder

    def fits(value: ir.Value) -> ir.Value:
        return builder.icmp_unsigned("<=", value, ir.Constant(value.type, limit))

    body.guard(op, op.value, guards.range_requirement(0, limit), fits)


def _assert_divisible(body: Body, op: Operation) -> None:
    op, body = cast(guards.NpuAssertBdDivisibleOp, op), cast(GeneratorBody, body)
    builder, may_be_one = body.builder, op.allow_unit is not None

    def fits(value: ir.Value) -> ir.Value:
        remainder = builder.srem(value, ir.Constant(value.type, op.divisor.value.data))
        divisible = builder.icmp_signed("==", remainder, ir.Constant(value.type, 0))
        is_one = builder.icmp_signed("==", value, ir.Constant(value.type, 1))
        return builder.or_(divisible, is_one) if may_be_one else divisible

    body.guard(op, op.value, op.requirement, fits)


def _assert_range(body: Body, op: Operation) -> None:
    op, body = cast(guards.NpuAssertRangeOp, op), cast(GeneratorBody, body)
    (low, high), builder = op.limits, body.builder

    def fits(value: ir.Value) -> ir.Value:
        above = builder.icmp_signed(">=", value, ir.Constant(value.type, low))
        below = builder.icmp_signed("<=", value, ir.Constant(value.type, high))
        return builder.and_(above, below)

    body.guard(op, op.value, op.requirement, fits)


def _pop(body: Body, op: Operation) -> None:
    op, body = cast(tasks.DmaBdPoolPopOp, op), cast(GeneratorBody, body)
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
    op, body = cast(tasks.DmaBdPoolPushOp, op), cast(GeneratorBody, body)
    builder, (ids, head) = body.builder, body.pool(op)
    free = builder.load(head, typ=I64)
    room = builder.icmp_signed("<", free, ir.Constant(I64, len(op.numbers(body.emitter.model))))
    text = "this gives a buffer descriptor back to tile ({}, {}) that was not taken".format(*op.place)
    body.fail_unless(room, free, Guard("", text, op.location))
    builder.store(body[op.bd_id], builder.gep(ids, [free], source_etype=I32))
    builder.store(builder.add(free, ir.Constant(I64, 1)), head)


def _for(body: Body, op: Operation) -> None:
    """A loop whose step is only known at run time must get somewhere."""
    loop, builder_of = cast(scf.ForOp, op), cast(GeneratorBody, body)
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


HANDLERS: Mapping[str, Handler] = {
    guards.NpuAssertBdFieldOp.name: _assert_field,
    guards.NpuAssertBdDivisibleOp.name: _assert_divisible,
    guards.NpuAssertRangeOp.name: _assert_range,
    tasks.DmaBdPoolPopOp.name: _pop,
    tasks.DmaBdPoolPushOp.name: _push,
    "memref.get_global": _nothing,
    "scf.for": _for,
}
