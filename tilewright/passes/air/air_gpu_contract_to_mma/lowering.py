"""Divides sums among the lanes of a wave: what was a vector in each lane becomes the parts of it that a lane holds.

A matrix is divided into blocks as large as an instruction takes them, and of each block a lane has a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import VectorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device.gpu_matrices import Fragment, MatrixInstruction
from tilewright.dialects import scf, vector
from tilewright.dialects._llvm_memory import FenceOp
from tilewright.dialects.gpu.kernels import GPUFuncOp, ReturnOp
from tilewright.dialects.gpu.lanes import BarrierOp
from tilewright.dialects.gpu.launches import LaunchOp, TerminatorOp
from tilewright.dialects.vector.types import vector_type
from tilewright.ir.traversal import all_operations
from tilewright.passes.air.air_gpu_contract_to_mma.fragments import Axes, LanePlaces, MatrixInMemory, axes_of
from tilewright.passes.air.air_gpu_contract_to_mma.sums import Factor, Sums
from tilewright.passes.air.wave_lanes import wave_fence
from tilewright.rewrite.effects import is_memory_effect_free, is_trivially_dead
from tilewright.rewrite.emitter import Emitter, SharedConstants, constant_op
from tilewright.rewrite.folding.constants import constant_of, elements_of, splat_attr
from tilewright.rewrite.folding.regions import terminator
from tilewright.rewrite.matrix_instructions import multiply

Sizes: TypeAlias = "tuple[int, int]"
Parts: TypeAlias = "list[SSAValue]"
"""What a lane has of a matrix: of each block, row by row, a vector."""


@dataclass(frozen=True)
class Blocks:
    """How a matrix is divided, and what lanes hold of a block."""

    fragment: Fragment
    size: Sizes
    counts: Sizes

    @classmethod
    def of(cls, fragment: Fragment, size: Sizes, shape: Sizes) -> Blocks:
        return cls(fragment, size, (shape[0] // size[0], shape[1] // size[1]))

    @property
    def starts(self) -> list[Sizes]:
        """Row and column where each begins."""
        down, across = (range(count) for count in self.counts)
        return [(row * self.size[0], column * self.size[1]) for row, column in product(down, across)]


ENDS = TerminatorOp, ReturnOp
"""Of kernels."""


class DividedLoop(NamedTuple):
    """A loop that carries parts of sums, in the place of one that carried them whole."""

    loop: scf.ForOp
    numbers: set[int]
    """Which of the values that were carried are divided."""
    arguments: list[BlockArgument]
    """What they were in the body."""


class SumsLowering:
    """Lowers sums with an instruction for each of their contractions, whose lanes hold sums alike."""

    def __init__(self, sums: Sums, instructions: Mapping[Operation, MatrixInstruction]):
        self.sums, self.instructions, self.kernel = sums, instructions, sums.wave.kernel
        first, instruction = next(iter(instructions.items()))
        self._constants, block = SharedConstants(), self.kernel.body.blocks[0]
        self._start = Emitter(InsertPoint.at_start(block), first.location, constants=self._constants)
        self._lanes = LanePlaces(self._start)
        self._blocks = Blocks.of(instruction.c, (instruction.m, instruction.n), sums.shape)
        self._known = dict[SSAValue, Parts]()
        self._factors = dict[tuple[Factor, Blocks], Parts]()
        self._loops = list[DividedLoop]()
        self._fences = list[FenceOp]()

    def run(self) -> None:
        """Replace all operations that make or use the sums."""
        wanted = self._wanted_factors()
        replaced = list[Operation]()
        for op in all_operations(self.kernel):
            for factor, blocks in wanted.get(op, ()):
                self._factors[factor, blocks] = self._load(factor.read, factor.axes, blocks)
            if op in self.instructions or op in self.sums.others or any(op is loop for loop, _ in self.sums.carried):
                self._replace(op)
                replaced.append(op)
        self._finish_loops()
        _erase(replaced)
        for loop, _, arguments in self._loops:
            for argument in arguments:
                loop.body.block.erase_arg(argument)
        for fence in self._fences:
            if _is_idle(fence):
                Rewriter.erase_op(fence)

    def _wanted_factors(self) -> dict[Operation, dict[tuple[Factor, Blocks], None]]:
        """What is to be loaded in the place of each read."""
        found = dict[Operation, dict[tuple[Factor, Blocks], None]]()
        for op in self.instructions:
            for factor, blocks in self._sides(op):
                found.setdefault(factor.read, {})[factor, blocks] = None
        return found

    def _sides(self, op: Operation) -> list[tuple[Factor, Blocks]]:
        row, found = self.instructions[op], self.sums.products[op]
        return [
            (found.a, Blocks.of(row.a, (row.m, row.k), found.a.shape)),
            (found.b, Blocks.of(row.b, (row.k, row.n), found.b.shape)),
        ]

    def _replace(self, op: Operation) -> None:
        match op:
            case vector.ContractionOp():
                self._known[op.result] = self._multiplied(op)
            case scf.ForOp():
                self._carry(op)
            case vector.TransferReadOp():
                self._known[op.result] = self._load(op, axes_of(op), self._blocks)
            case vector.TransferWriteOp():
                self._store(op)
            case _:
                self._known[op.results[0]] = self._by_element(op)

    def _multiplied(self, op: vector.ContractionOp) -> Parts:
        emitter, row = self._before(op), self.instructions[op]
        a, b = (self._factors[side] for side in self._sides(op))
        (down, across), deep = self._blocks.counts, self.sums.products[op].depth // row.k
        sums = list(self._parts(op.acc))
        # neighbours do not wait for each other's sums
        for step, at, beside in product(range(deep), range(down), range(across)):
            number = at * across + beside
            sums[number] = multiply(emitter, row, a[at * deep + step], b[step * across + beside], sums[number])
        return sums

    def _by_element(self, op: Operation) -> Parts:
        """The same operation on each part; a number that is repeated, as often as a part has elements."""
        type = self._type(op.results[0])
        if isinstance(op, vector.BroadcastOp):
            return [self._copy(op, op.operands, type)] * len(self._blocks.starts)
        operands = [
            self._parts(value) if isinstance(value.type, VectorType) else [value] * len(self._blocks.starts)
            for value in op.operands
        ]
        return [self._copy(op, values, type) for values in zip(*operands, strict=True)]

    def _copy(self, op: Operation, operands: Sequence[SSAValue], type: VectorType) -> SSAValue:
        copy = op.__class__.create(
            operands=operands,
            result_types=[type],
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
        )
        return self._before(op).value(copy)

    def _type(self, value: SSAValue) -> VectorType:
        """Of a part of a value."""
        return VectorType(vector_type(value).element_type, [len(self._blocks.fragment.places)])

    def _parts(self, value: SSAValue) -> Parts:
        if value not in self._known:
            # constants may be outside of the kernel
            elements = elements_of(constant_of(value))
            assert elements is not None
            number = self._start.value(constant_op(splat_attr(elements[0], self._type(value))))
            self._known[value] = [number] * len(self._blocks.starts)
        return self._known[value]

    def _load(self, read: vector.TransferReadOp, axes: Axes, blocks: Blocks) -> Parts:
        matrix = MatrixInMemory.of(self._before(read), read, axes, blocks.fragment, self._lanes)
        return [matrix.load(start) for start in blocks.starts]

    def _store(self, write: vector.TransferWriteOp) -> None:
        emitter = self._before(write)
        # each lane stored all of it: now others wait for its part, and it for what they did before
        self._fences.append(wave_fence(emitter))
        matrix = MatrixInMemory.of(emitter, write, axes_of(write), self._blocks.fragment, self._lanes)
        for start, part in zip(self._blocks.starts, self._parts(write.vector), strict=True):
            matrix.store(start, part)
        self._fences.append(wave_fence(emitter))

    def _before(self, op: Operation) -> Emitter:
        return Emitter(InsertPoint.before(op), op.location, constants=self._constants)

    def _carry(self, loop: scf.ForOp) -> None:
        """Let a loop carry parts; what its body yields is settled when that is lowered."""
        numbers = {number for other, number in self.sums.carried if other is loop}
        initial = self._spread(loop.iter_args, numbers)
        body = loop.detach_region(loop.body)
        new = scf.ForOp.create(
            operands=[loop.lb, loop.ub, loop.step, *initial],
            result_types=[value.type for value in initial],
            properties=loop.properties,
            attributes=loop.attributes,
            regions=[body],
            location=loop.location,
        )
        Rewriter.insert_op(new, InsertPoint.before(loop))
        results, divided = iter(new.results), list[BlockArgument]()
        for number, (result, argument) in enumerate(zip(loop.results, body.block.args[1:], strict=True)):
            if number not in numbers:
                result.replace_all_uses_with(next(results))
                continue
            parts = [next(results) for _ in self._blocks.starts]
            self._known[result] = list(parts)
            at = argument.index + 1
            self._known[argument] = [body.block.insert_arg(part.type, at + n) for n, part in enumerate(parts)]
            divided.append(argument)
        self._loops.append(DividedLoop(new, numbers, divided))

    def _spread(self, values: Iterable[SSAValue], numbers: set[int]) -> Parts:
        """Values, with their parts for those that are divided."""
        spread = (self._parts(v) if number in numbers else [v] for number, v in enumerate(values))
        return [part for parts in spread for part in parts]

    def _finish_loops(self) -> None:
        for loop, numbers, _ in self._loops:
            end = terminator(loop.body)
            end.operands = self._spread(end.operands, numbers)


def _erase(ops: Sequence[Operation]) -> None:
    """Erase operations that were replaced, the last first, and what nothing needs without them."""
    pending = list[SSAValue]()
    for op in reversed(ops):
        pending += op.operands
        Rewriter.erase_op(op)
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner.parent is not None and is_trivially_dead(owner):
            pending += owner.operands
            Rewriter.erase_op(owner)


def _is_idle(fence: FenceOp) -> bool:
    """Whether nothing touches memory between a fence and where lanes meet, or the kernel begins or ends."""
    return _meets(fence, lambda op: op.prev_op) or _meets(fence, lambda op: op.next_op)


def _meets(op: Operation, step: Callable[[Operation], Operation | None]) -> bool:
    found = step(op)
    while found is not None and is_memory_effect_free(found) and not isinstance(found, ENDS):
        found = step(found)
    if found is None:
        return isinstance(op.parent_op(), LaunchOp | GPUFuncOp)
    return isinstance(found, (BarrierOp, FenceOp, *ENDS))
