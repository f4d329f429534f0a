"""A lowered core uses locks and buffers as the program with FIFOs says, however control flows."""

from __future__ import annotations

import pytest
from core_interpreter import Interpreter, Ring
from helpers import first, parsed, run_passes
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tilewright.dialects.aie.core import CoreOp
from tilewright.passes.design.objectfifo_stateful_transform import ObjectFifoStatefulTransformPass

DEPTHS = {"in": 3, "out": 4}
PORTS = {"in": "Consume", "out": "Produce"}
VIEW = "!aie.objectfifosubview<memref<4xi32>>"
DESIGN = """
aie.device({device}) {{
  func.func private @look(memref<4xi32>)
  %from = aie.tile(2, 3)
  %to = aie.tile(4, 3)
  %tile = aie.tile(7, 3)
  aie.objectfifo @in(%from, {{%tile}}, [1, 3]) : !aie.objectfifo<memref<4xi32>>
  aie.objectfifo @out(%tile, {{%to}}, [4, 1]) {{{attributes}}} : !aie.objectfifo<memref<4xi32>>
  aie.core(%tile) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    {body}
    aie.end
  }}
}}
"""


class Statements:
    """Draws uses of FIFOs that release no more than they acquire, in loops and branches."""

    def __init__(self, draw: st.DrawFn):
        self.draw, self.count = draw, 0

    def some(self, depth: int, counter: str) -> str:
        kinds = [self.use, self.loop, self.branch, self.switch] if depth < 2 else [self.use]
        chosen = self.draw(st.lists(st.sampled_from(range(len(kinds))), max_size=3))
        return "\n".join(kinds[kind](depth + 1, counter) for kind in chosen)

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def use(self, depth: int, counter: str) -> str:
        fifo = self.draw(st.sampled_from(sorted(DEPTHS)))
        taken = self.draw(st.integers(1, DEPTHS[fifo] - 1))
        released = self.draw(st.integers(0, taken))
        view, element = self.name(), self.name()
        lines = [
            f"{view} = aie.objectfifo.acquire @{fifo}({PORTS[fifo]}, {taken}) : {VIEW}",
            f"{element} = aie.objectfifo.subview.access {view}[{taken - 1}] : {VIEW} -> memref<4xi32>",
            f"func.call @look({element}) : (memref<4xi32>) -> ()",
        ]
        return "\n".join(
            [*lines, *([f"aie.objectfifo.release @{fifo}({PORTS[fifo]}, {released})"] if released else [])]
        )

    def loop(self, depth: int, counter: str) -> str:
        inner, bound = self.name(), self.draw(st.sampled_from(["%c0", "%c1", "%c3"]))
        return f"scf.for {inner} = %c0 to {bound} step %c1 {{\n{self.some(depth, inner)}\n}}"

    def branch(self, depth: int, counter: str) -> str:
        condition = self.name()
        test = f"{condition} = arith.cmpi eq, {counter}, {self.draw(st.sampled_from(['%c0', '%c1']))} : index"
        otherwise = f" else {{\n{self.some(depth, counter)}\n}}" if self.draw(st.booleans()) else ""
        return f"{test}\nscf.if {condition} {{\n{self.some(depth, counter)}\n}}{otherwise}"

    def switch(self, depth: int, counter: str) -> str:
        cases = [f"case {number} {{\n{self.some(depth, counter)}\nscf.yield\n}}" for number in (0, 2)]
        return "\n".join([f"scf.index_switch {counter}", *cases, f"default {{\n{self.some(depth, counter)}\n}}"])


@st.composite
def bodies(draw: st.DrawFn) -> str:
    return Statements(draw).some(0, "%c1")


@pytest.mark.parametrize("device, repeats", [("xcve2302", 1), ("xcve2302", 3), ("xcvc1902", 1)])
@settings(max_examples=15)
@given(body=bodies())
def test_lowering_uses_the_same_locks_and_buffers(device: str, repeats: int, body: str) -> None:
    attributes = f"repeat_count = {repeats} : i32" if repeats > 1 else ""
    text = DESIGN.format(device=device, attributes=attributes, body=body)
    note(text)
    module = parsed(text)
    rings = {"in": Ring("in_cons", DEPTHS["in"]), "out": Ring("out", DEPTHS["out"], repeats)}
    has_semaphores = device != "xcvc1902"
    expected = Interpreter(rings, has_semaphores).run(first(CoreOp, module))
    run_passes(module, ObjectFifoStatefulTransformPass())
    lowered = Interpreter({}, has_semaphores).run(first(CoreOp, module))
    assert lowered == expected
