"""A core's body executed operation by operation: what native code has to give, and what there is without LLVM."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.func import CallOp, callee_of
from tilewright.dialects.memref import GetGlobalOp
from tilewright.dialects.memref.types import is_ranked, memref_type
from tilewright.interpreter.body import BodyBuilder, Control, Meanings, Process, Run
from tilewright.interpreter.control import CONTROLS, call
from tilewright.interpreter.memory import RUN, Frame, MemRef, whole_buffer
from tilewright.interpreter.numbers import Kind, kind_of
from tilewright.ir.diagnostics import fail_op
from tilewright.native.context_layout import FIRST_WAIT, HEADER_BYTES, SLOT_BYTES
from tilewright.sim.core_body import SuspendPoint, Suspension, buffers_of, cycles_of, declared_cycles, global_of

DEEP = 20_000
"""Frames of Python that functions which call themselves may need: some for each call."""


class InterpretedCode:
    """The body of a core as steps of Python. Its waits have the numbers that they have in native code."""

    flow_log = None

    def __init__(self, core: CoreOp):
        self.buffers: Sequence[Operation] = list(dict.fromkeys(buffers_of(core, set())))
        self._exchange = _Exchange(HEADER_BYTES + SLOT_BYTES * len(self.buffers))
        self._meanings = Meanings(self._exchange.controls(), cycles_of, declared_cycles, Suspension())
        self._body = BodyBuilder(core, self._meanings).body(core.body)
        self.stops: Sequence[SuspendPoint] = self._exchange.stops
        self.context_bytes = self._exchange.start + self._exchange.size

    def run(self, run: Run) -> Generator[int]:
        """The program from its beginning to its end; gives why it stops, each time that it does."""
        process = self._body.run(run)
        if not self._meanings.is_recursive:
            yield from process
            return
        while True:
            with _deep():
                try:
                    code = next(process)
                except StopIteration:
                    return
            yield code


@contextmanager
def _deep() -> Generator[None]:
    """Room for a program that calls itself."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class _Exchange:
    """The waits of a core, in the order of their translation, and the place in the context that they share."""

    def __init__(self, start: int):
        self.start, self.size = start, 0
        self.stops: list[SuspendPoint] = []

    def controls(self) -> Mapping[str, Callable[[BodyBuilder, Any], Control]]:
        exchanges = ("aie.put_cascade", "aie.get_cascade", "aie.put_stream", "aie.get_stream", "aie.event")
        return {
            **CONTROLS,
            **dict.fromkeys(exchanges, self._values),
            "aie.use_lock": self._use_lock,
            "func.call": self._call,
            "memref.get_global": _get_global,
        }

    def _use_lock(self, b: BodyBuilder, op: UseLockOp) -> Control:
        lock = b.lock(op.lock)
        if lock is None:
            fail_op(
                op, "uses a lock that is only known while the program runs", (op, "pass an aie.lock to it directly")
            )
        amount, kind = b.slot(op.value), kind_of(i64)
        return self._stop(op, [(lambda f: [f[amount]], [kind])], (), lock)

    def _call(self, b: BodyBuilder, op: CallOp) -> Control:
        """A function of the program, or an external kernel."""
        return self._values(b, op) if callee_of(op).is_declaration else call(b, op)

    def _values(self, b: BodyBuilder, op: Operation) -> Control:
        """A stream, the cascade, a kernel, or an event for the trace unit: operands out, results in."""
        return self._stop(op, [_passed(b, operand) for operand in op.operands], b.slots(op.results))

    def _stop(
        self,
        op: Operation,
        operands: Sequence[tuple[Callable[[Frame], Sequence[Any]], Sequence[Kind]]],
        results: Sequence[int],
        lock: LockOp | None = None,
    ) -> Control:
        """Wait until the runner of the core has looked at the operands and given the results of the operation."""
        given, taken = [kind for _, kinds in operands for kind in kinds], [kind_of(type) for type in op.result_types]
        slots = self._slots([*given, *taken])
        code = FIRST_WAIT + len(self.stops)
        self.stops.append(SuspendPoint(op, tuple(slots), lock))
        outward, inward = list(zip(given, slots, strict=False)), list(zip(taken, slots[len(given) :], strict=True))

        def run(f: Frame) -> Process:
            context = f[RUN].context
            values = [value for read, _ in operands for value in read(f)]
            for (kind, slot), value in zip(outward, values, strict=True):
                kind.write(context, slot, value)
            yield code
            for result, (kind, slot) in zip(results, inward, strict=True):
                f[result] = kind.read(context, slot)

        return run

    def _slots(self, kinds: Sequence[Kind]) -> list[int]:
        """Places in the context for values of these kinds, one after the other; waits share them."""
        sizes = [-(-kind.size // SLOT_BYTES) * SLOT_BYTES for kind in kinds]
        self.size = max(self.size, sum(sizes))
        return [self.start + sum(sizes[:number]) for number in range(len(sizes))]


def _passed(b: BodyBuilder, operand: SSAValue) -> tuple[Callable[[Frame], Sequence[Any]], Sequence[Kind]]:
    """What goes out for an operand: for a memref, where it is in memory and how it lies there."""
    slot, type = b.slot(operand), operand.type
    if not is_ranked(type):
        return lambda f: [f[slot]], [kind_of(type)]

    def parts(f: Frame) -> list[int]:
        whole: MemRef = f[slot]
        return [whole.buffer.address + whole.start, whole.limit, whole.offset, *whole.sizes, *whole.strides]

    return parts, [kind_of(i64)] * (3 + 2 * type.get_num_dims())


def _get_global(b: BodyBuilder, op: GetGlobalOp) -> Control:
    definition, type, result = global_of(op), memref_type(op.memref), b.slot(op.memref)

    def run(f: Frame) -> Process:
        f[result] = whole_buffer(f[RUN].buffers[definition], type)
        yield from ()

    return run
