"""Bodies of programs, translated once to steps of Python that many runs take.

A step computes. What may wait, and what has regions, is a process: it gives the codes of `native.context_layout` while
the program waits, and adds the cycles of what it did to its run's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from tilewright.dialects import memref
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref.types import memref_type, static_sizes
from tilewright.interpreter import affine_maps, math_functions, memory, numbers, vector_memory, vectors
from tilewright.interpreter.affine_maps import results_of
from tilewright.interpreter.branches import branches
from tilewright.interpreter.memory import RUN, Buffer, Frame, Step, whole_buffer
from tilewright.interpreter.numbers import Call, width_of
from tilewright.ir.diagnostics import fail_op
from tilewright.native.context_layout import MOST_FLOW, PAUSE_CYCLES, PAUSED, POLL_CYCLES
from tilewright.native.region_order import NEVER_REACHED, reverse_postorder, writes
from tilewright.native.traps import REACHED, Untranslatable

Process: TypeAlias = Generator[int, None, Any]
Control: TypeAlias = Callable[[Frame], Process]
COMPUTE = {**numbers.COMPUTE, **math_functions.COMPUTE, **vectors.COMPUTE}
STEPS = {**memory.HANDLERS, **affine_maps.HANDLERS, **vector_memory.HANDLERS, **vectors.HANDLERS}
CONSTANTS = ("arith.constant", "index.constant", "index.bool.constant")
SAME_NUMBER = ("arith.index_cast", "arith.index_castui", "index.casts", "index.castu")


@dataclass
class Run:
    """A program at work: what all its frames share."""

    buffers: Mapping[Operation, Buffer]
    context: bytearray
    flow: list[int] | None = None
    """Which way it went, as `context_layout` says; None if that is not asked."""
    cycles: int = 0
    """Since they were handed over last."""
    depth: int = 0
    allocated: dict[int, npt.NDArray[np.uint8]] = field(default_factory=dict[int, npt.NDArray[np.uint8]])
    """Memory that the program asked for, by its address."""

    def log(self, entry: int) -> None:
        """Write down which way it goes; what there is no room for is left out."""
        if self.flow is not None and len(self.flow) < MOST_FLOW:
            self.flow.append(entry)

    def choose(self, condition: object) -> bool:
        self.log(int(bool(condition)))
        return bool(condition)


class Part(NamedTuple):
    """Steps, the cycles of them and of what follows, and what follows."""

    steps: Sequence[Step]
    cycles: int
    control: Control | None


class Code(NamedTuple):
    """A block: where its arguments go, its parts, and where the operands of its terminator are."""

    arguments: Sequence[int]
    parts: Sequence[Part]
    handed_on: Sequence[int]

    def run(self, f: Frame, values: Sequence[Any]) -> Process:
        for slot, value in zip(self.arguments, values, strict=True):
            f[slot] = value
        for steps, cycles, control in self.parts:
            for step in steps:
                step(f)
            f[RUN].cycles += cycles
            if control is not None:
                yield from control(f)
        return [f[slot] for slot in self.handed_on]

    def execute(self, f: Frame, values: Sequence[Any]) -> list[Any]:
        """`run`, of a block in which everything is a step."""
        for slot, value in zip(self.arguments, values, strict=True):
            f[slot] = value
        for steps, cycles, _ in self.parts:
            for step in steps:
                step(f)
            f[RUN].cycles += cycles
        return [f[slot] for slot in self.handed_on]


Leave: TypeAlias = Callable[[Frame], Generator[int, None, tuple[int, Sequence[Any]]]]
"""From the end of a block to the next: its number, and the values that go there."""


class RegionCode:
    """A region: one block, or several with branches between them."""

    def __init__(self, blocks: Sequence[Code], leaves: Sequence[Leave | None]):
        self.blocks, self.leaves = blocks, leaves
        is_single = len(blocks) == 1 and leaves[0] is None
        self.plain = blocks[0] if is_single and all(part.control is None for part in blocks[0].parts) else None
        """Its one block, if everything in it is a step."""

    def run(self, f: Frame, values: Sequence[Any] = ()) -> Process:
        """Run it; gives what the terminator hands on that leaves it."""
        if self.plain is not None:
            return self.plain.execute(f, values)
        number = 0
        while True:
            handed_on = yield from self.blocks[number].run(f, values)
            leave = self.leaves[number]
            if leave is None:
                return handed_on
            number, values = yield from leave(f)


class Body(NamedTuple):
    """A region with what it needs from outside of it."""

    region: RegionCode
    prologue: Sequence[Step]
    size: int

    def run(self, run: Run, values: Sequence[Any] = ()) -> Process:
        frame: Frame = [None] * self.size
        frame[RUN] = run
        for step in self.prologue:
            step(frame)
        return (yield from self.region.run(frame, values))


@dataclass
class Meanings:
    """What a kind of program adds, and what its functions share."""

    controls: Mapping[str, Callable[[BodyBuilder, Any], Control]]
    """Operations that wait, or that have regions."""
    cycles_of: Callable[[Operation], int]
    declared_cycles: Callable[[Operation], int | None]
    suspends: Callable[[Operation], bool]
    functions: dict[FuncOp, Body | None] = field(default_factory=dict["FuncOp", "Body | None"])
    """Functions that do not wait; None while one is being translated."""
    is_recursive: bool = False


class BodyBuilder:
    """Translates the body of an operation; `meanings` are shared with the functions that it calls."""

    def __init__(self, root: Operation, meanings: Meanings):
        self.meanings = meanings
        self.roots = [root]
        """The operation itself, and functions that are in place of a call of them."""
        self.static: dict[SSAValue, int | LockOp] = {}
        """What arguments of such functions are known to be."""
        self._slots: dict[SSAValue, int] = {}
        self._prologue: list[Step] = []

    def body(self, region: Region) -> Body:
        code = self.region(region)
        return Body(code, self._prologue, RUN + 1 + len(self._slots))

    def slot(self, value: SSAValue) -> int:
        """Where a frame has a value."""
        if self.lock(value) is not None:
            raise Untranslatable("aie.lock is no number: which one it is has to be known")
        found = self._slots.get(value)
        if found is None:
            found = self._slots[value] = RUN + 1 + len(self._slots)
            owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
            assert owner is not None, "a block argument belongs to an operation"
            if not any(root.is_ancestor(owner) for root in self.roots):
                self._prologue.append(self._outside(owner, found))
        return found

    def slots(self, values: Sequence[SSAValue]) -> list[int]:
        return [self.slot(value) for value in values]

    def lock(self, value: SSAValue) -> LockOp | None:
        """The lock that a value is known to be."""
        found = self.static.get(value)
        if isinstance(found, LockOp):
            return found
        return value.owner if isinstance(value.owner, LockOp) else None

    def _outside(self, op: Operation, slot: int) -> Step:
        """What is defined outside of the body, when a frame of it begins."""
        if not isinstance(op, BufferOp):
            return self.step(op)
        type = memref_type(op.buffer)

        def step(f: Frame) -> None:
            f[slot] = whole_buffer(f[RUN].buffers[op], type)

        return step

    def known(self, value: SSAValue) -> int | None:
        """The number that an index is, if the text of the program tells."""
        found = self.static.get(value)
        if isinstance(value, BlockArgument) or found is not None:
            return found if isinstance(found, int) else None
        owner = value.owner
        assert isinstance(owner, Operation)
        if owner.name in CONSTANTS and isinstance(number := owner.properties["value"], IntegerAttr):
            return number.value.data
        if owner.name in SAME_NUMBER and width_of(owner.operands[0].type) == width_of(value.type):
            return self.known(owner.operands[0])
        if owner.name == "affine.apply" and isinstance(map := owner.properties["map"], AffineMapAttr):
            numbers = [self.known(operand) for operand in owner.operands]
            exact = [number for number in numbers if number is not None]
            return results_of(map.data, exact)[0] if len(exact) == len(numbers) else None
        if isinstance(owner, memref.DimOp) and (which := self.known(owner.index)) is not None:
            sizes = static_sizes(memref_type(owner.source).get_shape())
            return sizes[which] if 0 <= which < len(sizes) else None
        return None

    def region(self, region: Region) -> RegionCode:
        blocks = reverse_postorder(region)
        codes = [self.block(block) for block in blocks]
        return RegionCode(codes, branches(self, blocks))

    def block(self, block: Block) -> Code:
        parts, steps, cycles = list[Part](), list[Step](), 0
        for op in block.ops:
            if op is block.last_op:
                break
            cycles += self.meanings.cycles_of(op)
            if op.name in self.meanings.controls:
                parts.append(Part(steps, cycles, self.control(op)))
                steps, cycles = list[Step](), 0
            else:
                steps.append(self.step(op))
        last = block.last_op
        if last is not None and last.name in NEVER_REACHED:
            steps.append(memory.trap(last, REACHED))
        parts.append(Part(steps, cycles, None))
        with self._about(last):
            handed_on = [] if last is None or last.successors else self.slots(last.operands)
        # Locks that a call passes on are no values.
        arguments = [argument for argument in block.args if self.lock(argument) is None]
        return Code(self.slots(arguments), parts, handed_on)

    def step(self, op: Operation) -> Step:
        """An operation that neither waits nor has regions."""
        with self._about(op):
            if op.name in COMPUTE:
                return self._computation(op)
            if op.name in STEPS:
                return STEPS[op.name](self, op)
            if isinstance(op, LockOp):
                return lambda f: None
        fail_op(op, "has no native translation", (op, "a core of the simulator cannot execute it"))

    def control(self, op: Operation) -> Control:
        with self._about(op):
            return self.meanings.controls[op.name](self, op)

    @contextmanager
    def _about(self, op: Operation | None) -> Generator[None]:
        try:
            yield
        except Untranslatable as error:
            assert op is not None, "nothing is translated that is not there"
            fail_op(op, f"has no native translation: {error}")

    def _computation(self, op: Operation) -> Step:
        function: Call = COMPUTE[op.name](op)
        operands = self.slots(op.operands)
        results = self.slots(op.results)
        result = results[0] if len(results) == 1 else -1
        match operands:
            case [a, b] if result > 0:
                # Most operations are of this kind, and a call without a list takes half the time.
                def binary(f: Frame) -> None:
                    f[result] = function(f[a], f[b])

                return binary
            case _ if result > 0:

                def single(f: Frame) -> None:
                    f[result] = function(*[f[slot] for slot in operands])

                return single
            case _:

                def several(f: Frame) -> None:
                    for slot, value in zip(results, function(*[f[slot] for slot in operands]), strict=True):
                        f[slot] = value

                return several

    def go_round(self, body: Sequence[Operation]) -> Control:
        """Begin a loop of unknown length again: that takes a cycle at least, and others may want to run.

        A loop that writes nothing is likely to wait for someone else to do so.
        """
        most = PAUSE_CYCLES if any(writes(op) for op in body) else POLL_CYCLES

        def again(f: Frame) -> Process:
            run: Run = f[RUN]
            run.cycles += 1
            if run.cycles > most:
                yield PAUSED

        return again
