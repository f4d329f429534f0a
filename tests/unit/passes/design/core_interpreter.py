"""Runs the program of a core far enough to see which locks and buffers it uses, before FIFOs are lowered and after."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.device import LockAction, ObjectFifoPort
from tilewright.dialects import arith, func, scf
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoAcquireOp, ObjectFifoReleaseOp, ObjectFifoSubviewAccessOp

Event: TypeAlias = tuple[object, ...]
"""A use of a lock, or the buffer that a call gets."""


@dataclass
class Ring:
    """An end of a FIFO as its core sees it."""

    name: str
    depth: int
    repeats: int = 1
    oldest: int = 0
    held: int = 0

    def buffer(self, number: int) -> str:
        return f"{self.name}_buff_{(self.oldest + number) % self.depth}"


@dataclass
class Interpreter:
    rings: Mapping[str, Ring]
    has_semaphores: bool
    events: list[Event] = field(default_factory=list[Event])
    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])

    def run(self, core: CoreOp) -> list[Event]:
        self.block(core.body.block)
        return self.events

    def block(self, block: Block) -> list[Any]:
        """Run a block; returns what it yields."""
        for op in block.ops:
            self.operation(op)
        last = block.last_op
        return [self.value(value) for value in last.operands] if isinstance(last, scf.YieldOp) else []

    def value(self, value: SSAValue) -> Any:
        owner = value.owner
        if isinstance(owner, BufferOp | LockOp) and owner.sym_name is not None:
            return owner.sym_name.data
        return self.values[value]

    def operation(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp():
                assert isinstance(op.value, IntegerAttr)
                self.values[op.result] = op.value.value.data
            case scf.ForOp() | scf.IfOp() | scf.IndexSwitchOp():
                self.values.update(zip(op.results, self.region(op), strict=True))
            case func.CallOp():
                self.events.append(("look", *map(self.value, op.operands)))
            case UseLockOp():
                self.events.append((self.value(op.lock), op.lock_action, self.value(op.value)))
            case ObjectFifoAcquireOp() | ObjectFifoReleaseOp() | ObjectFifoSubviewAccessOp():
                self.fifo(op)
            case _ if op.name in COMPUTE:
                self.values[op.results[0]] = COMPUTE[op.name](*map(self.value, op.operands))
            case arith.SelectOp():
                condition, first, second = map(self.value, op.operands)
                self.values[op.result] = first if condition else second
            case arith.CmpiOp():
                self.values[op.result] = COMPARE[op.predicate.value.data](*map(self.value, op.operands))
            case _:
                assert op.name in ("scf.yield", "aie.end"), op.name

    def region(self, op: scf.ForOp | scf.IfOp | scf.IndexSwitchOp) -> list[Any]:
        match op:
            case scf.ForOp():
                carried = list(map(self.value, op.iter_args))
                for count in range(*map(self.value, (op.lb, op.ub, op.step))):
                    self.values.update(zip(op.body.block.args, [count, *carried], strict=True))
                    carried = self.block(op.body.block)
                return carried
            case scf.IfOp():
                chosen = op.true_region if self.value(op.cond) else op.false_region
                return self.block(chosen.block) if chosen.blocks.first is not None else []
            case scf.IndexSwitchOp():
                cases = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
                return self.block(cases.get(self.value(op.arg), op.default_region).block)

    def fifo(self, op: ObjectFifoAcquireOp | ObjectFifoReleaseOp | ObjectFifoSubviewAccessOp) -> None:
        """What FIFOs mean: an acquire adds to what is held, a release gives the oldest back."""
        if isinstance(op, ObjectFifoSubviewAccessOp):
            self.values[op.output] = self.value(op.subview).buffer(op.index.value.data)
            return
        ring = self.rings[op.fifo_name.root_reference.data]
        takes, produces = isinstance(op, ObjectFifoAcquireOp), op.end is ObjectFifoPort.Produce
        if self.has_semaphores:
            count = max(op.count - ring.held, 0) if takes else op.count
            lock = f"{ring.name}_{'prod' if takes == produces else 'cons'}_lock_0"
            self.events.append(
                (lock, LockAction.AcquireGreaterEqual if takes else LockAction.Release, count * ring.repeats)
            )
            ring.held += count if takes else -count
        else:
            for number in range(op.count):
                lock = f"{ring.name}_lock_{(ring.oldest + number) % ring.depth}"
                self.events.append((lock, LockAction.Acquire if takes else LockAction.Release, int(takes != produces)))
        if isinstance(op, ObjectFifoAcquireOp):
            self.values[op.subview] = ring
        else:
            ring.oldest = (ring.oldest + op.count) % ring.depth


COMPUTE: dict[str, Callable[..., int | str]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.maxsi": max,
    "arith.index_cast": int,
}
COMPARE: dict[int, Callable[[int, int], bool]] = {0: operator.eq, 5: operator.ge}  # eq and sge
