"""Unrolled or not, a core does the same: it uses the same locks and calls its kernels on the same buffers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import add, eq, ge, gt, le, lt, mod, mul, ne, sub
from typing import Any, TypeAlias, cast

import pytest
from helpers import lowered
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects import scf
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.func import CallOp
from tilewright.passes.design.objectfifo_stateful_transform import ObjectFifoStatefulTransformPass
from tilewright.passes.design.objectfifo_unroll import ObjectFifoUnrollPass
from tilewright.rewrite.folding.constants import constant_int

Event: TypeAlias = "tuple[str, ...]"


def _select(condition: bool, then: Any, otherwise: Any) -> Any:
    return then if condition else otherwise


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "arith.addi": add,
    "arith.subi": sub,
    "arith.muli": mul,
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.remsi": mod,  # of numbers that are not negative
    "arith.index_cast": int,
    "arith.select": _select,
}
COMPARISONS: list[Callable[..., bool]] = [eq, ne, lt, le, gt, ge]


@dataclass
class Machine:
    """Runs the program of a core, and notes what the array would see of it."""

    values: dict[SSAValue, Any]
    events: list[Event]

    def get(self, value: SSAValue) -> Any:
        if value in self.values:
            return self.values[value]
        if isinstance(value.owner, BufferOp) and value.owner.sym_name is not None:
            return value.owner.sym_name.data
        return constant_int(value)

    def run(self, block: Block, arguments: list[Any]) -> list[Any]:
        """What the block yields."""
        self.values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if isinstance(op, scf.YieldOp):
                return [self.get(value) for value in op.operands]
            self.values.update(zip(op.results, self.step(op), strict=True))
        return []

    def step(self, op: Operation) -> list[Any]:
        match op:
            case scf.ForOp():
                carried = [self.get(value) for value in op.iter_args]
                for i in range(self.get(op.lb), self.get(op.ub), self.get(op.step)):
                    carried = self.run(op.body.block, [i, *carried])
                return carried
            case scf.IndexSwitchOp():
                cases = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
                return self.run(cases.get(self.get(op.arg), op.default_region).block, [])
            case scf.IfOp():
                region = op.true_region if self.get(op.cond) else op.false_region
                return self.run(region.block, []) if region.blocks else []
            case UseLockOp():
                self.use_lock(op)
            case CallOp():
                self.events.append((op.callee.root_reference.data, *(str(self.get(v)) for v in op.operands)))
            case _ if op.name == "arith.cmpi":
                predicate: Any = op.properties["predicate"]
                return [COMPARISONS[predicate.value.data](*map(self.get, op.operands))]
            case _ if op.name in ARITHMETIC:
                return [ARITHMETIC[op.name](*map(self.get, op.operands))]
            case _:
                return [constant_int(result) for result in op.results]
        return []

    def use_lock(self, op: UseLockOp) -> None:
        """An acquire of nothing is none."""
        amount, lock = self.get(op.value), op.lock_op
        assert lock is not None and lock.sym_name is not None
        if not op.is_acquire or amount:
            self.events.append((str(op.lock_action), lock.sym_name.data, str(amount)))


def events(module: ModuleOp) -> list[list[Event]]:
    machines: list[Machine] = []
    for core in (op for op in module.walk() if isinstance(op, CoreOp)):
        machines.append(Machine({}, []))
        machines[-1].run(core.body.block, [])
    return [machine.events for machine in machines]


@st.composite
def bodies(draw: st.DrawFn, nesting: int = 0) -> list[Any]:
    """Statements: how many elements are taken and how many given back; or how often others are done, and which."""
    use = st.tuples(st.integers(1, 3), st.integers(0, 3))
    statement = use if nesting == 2 else use | st.tuples(st.integers(0, 7), bodies(nesting + 1))
    return draw(st.lists(statement, min_size=1, max_size=2))


class Program:
    """Statements as text."""

    def __init__(self, depth: int, body: list[Any]):
        self.depth, self.lines, self.count = depth, list[str](), 0
        self.add(body)

    def add(self, body: list[Any]) -> None:
        for first, second in body:
            if isinstance(second, list):
                self.lines.append(f"scf.for %i{len(self.lines)} = %c0 to %n{first} step %c1 {{")
                self.add(cast("list[Any]", second))
                self.lines.append("}")
            else:
                self.use(min(first, self.depth), min(second, first, self.depth))

    def use(self, taken: int, given: int) -> None:
        view = f"%view{self.count}"
        self.lines.append(f"{view} = aie.objectfifo.acquire @in(Consume, {taken}) : {SUBVIEW}")
        for index in range(taken):
            element = f"%element{self.count}_{index}"
            access = f"aie.objectfifo.subview.access {view}[{index}] : {SUBVIEW} -> memref<8xi32>"
            self.lines += [f"{element} = {access}", f"func.call @work({element}) : (memref<8xi32>) -> ()"]
        if given:
            self.lines.append(f"aie.objectfifo.release @in(Consume, {given})")
        self.count += 1


SUBVIEW = "!aie.objectfifosubview<memref<8xi32>>"


def design(depth: int, body: list[Any]) -> str:
    numbers = "\n".join(f"%n{number} = arith.constant {number} : index" for number in range(8))
    program = "\n".join(Program(depth, body).lines)
    return f"""aie.device(npu2) {{
      %shim = aie.tile(0, 0)
      %tile = aie.tile(0, 2)
      aie.objectfifo @in(%shim, {{%tile}}, [2 : i32, {depth} : i32]) : !aie.objectfifo<memref<8xi32>>
      func.func private @work(memref<8xi32>)
      %core = aie.core(%tile) {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        {numbers}
        {program}
        aie.end
      }}
    }}"""


@pytest.mark.parametrize("step", [ObjectFifoUnrollPass(), ObjectFifoUnrollPass(default_dynamic=True)], ids=str)
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), bodies())
def test_same_events(step: ObjectFifoUnrollPass, depth: int, body: list[Any]) -> None:
    text = design(depth, body)
    before = lowered(text, ObjectFifoStatefulTransformPass())
    after = lowered(text, ObjectFifoStatefulTransformPass(), step)
    assert events(after) == events(before)
