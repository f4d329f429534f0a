"""`func`: functions of the program as native functions, or, where they wait, in place of their calls.

    int64_t f(context, result, ..., argument, ...)

gives the cycles that it took, or -1 after a trap, whose number is in the context then.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext

from llvmlite import ir
from xdsl.ir import Attribute, Operation

from tilewright.dialects.func import CallOp, FuncOp, callee_of
from tilewright.ir.diagnostics import fail_op
from tilewright.native.lowering import DEPTH, Handler, Lowering, Unit
from tilewright.native.traps import DEEPEST_CALL, TOO_DEEP
from tilewright.native.types import declared
from tilewright.native.values import I32, I64, POINTER, Value, index, part_types, parts, rebuild

TRAPPED = -1
POLL_CYCLES = 1 << 20
"""Some milliseconds of the host's time, after which a loop asks for signals."""
CHECK_SIGNALS = "PyErr_CheckSignals"
INTERRUPTED = "is interrupted"
ENDLESS_CYCLES = 1 << 33
"""Seconds of the device's time, and of the host's."""
ENDLESS = f"runs for more than {ENDLESS_CYCLES} cycles without waiting for anything: a bound of a loop may be wrong"


class FunctionLowering(Lowering):
    """Code that never waits."""

    def __init__(
        self, unit: Unit, op: Operation, name: str, results: Iterable[Attribute], arguments: Sequence[ir.Type]
    ):
        pointers = [POINTER for _ in types_of_parts(results)]
        function = ir.Function(unit.module, ir.FunctionType(I64, [POINTER, *pointers, *arguments]), name)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        super().__init__(unit, function, function.args[0])
        self.op = op
        self._next_poll = self.variable(I64)
        self.builder.store(index(POLL_CYCLES), self._next_poll)
        self.results, self.arguments = function.args[1 : 1 + len(pointers)], function.args[1 + len(pointers) :]

    def leave_again(self) -> None:
        self.builder.ret(index(TRAPPED))

    def pause(self, often: bool) -> None:
        """Nothing else runs before the function is over: so a loop of unknown length must not be endless."""
        if self.unit.asks_for_signals:
            self.poll()
        else:
            now = self.builder.load(self.cycles, typ=I64)
            self.trap_unless(self.op, self.builder.icmp_signed("<=", now, index(ENDLESS_CYCLES)), ENDLESS)

    def poll(self) -> None:
        if not self.unit.asks_for_signals:
            return
        now, due = self.builder.load(self.cycles, typ=I64), self.builder.load(self._next_poll, typ=I64)
        with self.aside("long", self.builder.icmp_signed(">", now, due)):
            self.builder.store(self.builder.add(now, index(POLL_CYCLES)), self._next_poll)
            # Python's handlers run in the main thread only; elsewhere this does nothing and says 0.
            signals = self.builder.call(declared(self.unit.module, CHECK_SIGNALS, I32, ()), ())
            self.trap_unless(self.op, self.builder.icmp_signed("==", signals, ir.Constant(I32, 0)), INTERRUPTED)
            self.trap_unless(self.op, self.builder.icmp_signed("<=", now, index(ENDLESS_CYCLES)), ENDLESS)

    def finish(self, types: Iterable[Attribute], results: Iterable[Value]) -> None:
        """Hand over the results."""
        for pointer, part in zip(self.results, parts_of_all(types, results), strict=True):
            self.builder.store(part, pointer)
        self.spend()
        declared = self.unit.declared_cycles(self.op)
        self.builder.ret(self.builder.load(self.cycles, typ=I64) if declared is None else index(declared))
        self.close()


def types_of_parts(types: Iterable[Attribute]) -> list[ir.Type]:
    return [part for type in types for part in part_types(type)]


def parts_of_all(types: Iterable[Attribute], values: Iterable[Value]) -> list[ir.Value]:
    return [part for type, value in zip(types, values, strict=True) for part in parts(value, type)]


def rebuild_all(types: Iterable[Attribute], pieces: Iterable[ir.Value]) -> list[Value]:
    left = iter(pieces)
    return [rebuild(type, [next(left) for _ in part_types(type)]) for type in types]


def call(lowering: Lowering, op: CallOp) -> None:
    """A call of a function that has a body."""
    callee = callee_of(op)
    if callee.is_declaration:
        fail_op(op, f"calls @{callee.sym_name.data}, which has no body; give it one, or call it from the host")
    arguments = [lowering.get(argument) for argument in op.arguments]
    if lowering.unit.suspends(callee):
        results = _in_place(lowering, op, callee, arguments)
    else:
        recursive = callee in lowering.unit.functions and callee not in lowering.unit.finished
        with counted_depth(lowering, op) if recursive else nullcontext():
            results = _called(lowering, callee, arguments)
    lowering.values.update(zip(op.results, results, strict=True))


@contextmanager
def counted_depth(lowering: Lowering, op: CallOp) -> Generator[None]:
    """Around a call of a function that is at work already: the stack of the host has an end."""
    builder, place = lowering.builder, lowering.in_context(DEPTH)
    depth = builder.load(place, typ=I64)
    lowering.trap_unless(op, builder.icmp_signed("<", depth, index(DEEPEST_CALL)), TOO_DEEP)
    builder.store(builder.add(depth, index(1)), place)
    yield
    builder.store(depth, place)


def _in_place(lowering: Lowering, op: CallOp, callee: FuncOp, arguments: Sequence[Value]) -> list[Value]:
    if callee in lowering.calls:
        fail_op(op, f"has no native translation: @{callee.sym_name.data} waits for something and calls itself")
    lowering.calls.append(callee)
    results = lowering.lower_region(callee.body, arguments, callee.function_type.outputs)
    lowering.calls.pop()
    return results


def _called(lowering: Lowering, callee: FuncOp, arguments: Sequence[Value]) -> list[Value]:
    unit, type = lowering.unit, callee.function_type
    if callee not in unit.functions:
        name = unit.module.get_unique_name("function")
        body = FunctionLowering(unit, callee, name, type.outputs, types_of_parts(type.inputs))
        # Before its body is built: calls of itself in there find it.
        unit.functions[callee] = body.function
        arguments_here = rebuild_all(type.inputs, body.arguments)
        body.finish(type.outputs, body.lower_region(callee.body, arguments_here, type.outputs))
        unit.finished.add(callee)
    return run(lowering, unit.functions[callee], list(type.outputs), parts_of_all(type.inputs, arguments))


def run(
    lowering: Lowering, function: ir.Function, results: Sequence[Attribute], arguments: Sequence[ir.Value]
) -> list[Value]:
    """Call a function that follows the convention; go on if it did not trap."""
    builder, parts = lowering.builder, types_of_parts(results)
    rooms = [lowering.variable(part) for part in parts]
    lowering.spend()
    cycles = builder.call(function, [lowering.context, *rooms, *arguments])
    with lowering.aside("trap", builder.icmp_signed(">=", cycles, index(0)), when=False):
        # The callee has said why in the context; only the way out is left.
        lowering.leave_again()
    builder.store(builder.add(builder.load(lowering.cycles, typ=I64), cycles), lowering.cycles)
    return rebuild_all(results, [builder.load(room, typ=part) for room, part in zip(rooms, parts, strict=True)])


HANDLERS: dict[str, Handler] = {"func.call": call}
