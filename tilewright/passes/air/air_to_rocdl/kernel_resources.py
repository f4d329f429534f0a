"""How large a kernel is: blocks of the grid from the launch, threads of a block from the herds in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tilewright.device.gpu_targets import GpuTarget
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.emitter import Emitter
from tilewright.rewrite.effects import is_pure
from tilewright.rewrite.folding.constants import scalar_int

DIMENSIONS = 3
HERD_DIMENSIONS = 2


class Outside:
    """Values of a hierarchy's body, computed anew before the hierarchy starts."""

    def __init__(self, root: Hierarchy, emitter: Emitter):
        self._root, self._emitter = root, emitter
        self._known: dict[SSAValue, SSAValue | None] = {}

    def value(self, value: SSAValue) -> SSAValue | None:
        """What `value` is; None if it differs from one point of the hierarchy to another."""
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: SSAValue) -> SSAValue | None:
        owner = value.owner
        if isinstance(value, BlockArgument):
            parent = value.block.parent_op()
            if parent is None or not (parent is self._root or self._root.is_ancestor(parent)):
                return value
            outer = parent.tied_operand(value) if isinstance(parent, Hierarchy) else None
            return outer if outer is None or parent is self._root else self.value(outer)
        assert isinstance(owner, Operation) and isinstance(value, OpResult)
        if not self._root.is_ancestor(owner):
            return value
        number = scalar_int(value)
        if number is not None:
            return self._emitter.constant(number, value.type)
        return self._copied(owner, value)

    def _copied(self, op: Operation, value: OpResult) -> SSAValue | None:
        operands = [self.value(operand) for operand in op.operands]
        if op.regions or not is_pure(op) or None in operands:
            return None
        copy = op.clone()
        copy.operands = [operand for operand in operands if operand is not None]
        return self._emitter.insert(copy).results[value.index]


def grid_sizes(op: Hierarchy, is_launch: bool, emitter: Emitter) -> list[SSAValue]:
    """Blocks in each dimension; what is launched without a launch is one block."""
    sizes = list(op.extents) if is_launch else []
    if len(sizes) > DIMENSIONS:
        fail_op(op, f"has {len(sizes)} dimensions; a grid has {DIMENSIONS}", (op, "merge some of them"))
    return _filled(sizes, emitter)


def _filled(sizes: Sequence[SSAValue], emitter: Emitter) -> list[SSAValue]:
    return [*sizes, *(emitter.constant(1) for _ in range(DIMENSIONS - len(sizes)))]


class BlockShape:
    """The threads of a block: waves for the largest herd in each dimension."""

    def __init__(self, root: Hierarchy, herds: Sequence[HerdOp], wave_size: int, target: GpuTarget, emitter: Emitter):
        self._outside, self._emitter = Outside(root, emitter), emitter
        self._wave_size, self._target = wave_size, target
        self._shapes = {herd: self._herd_shape(herd) for herd in herds}

    @property
    def sizes(self) -> list[SSAValue]:
        if not self._shapes:
            return _filled([], self._emitter)
        width, height = (
            reduce(self._larger, [shape[dimension] for shape in self._shapes.values()])
            for dimension in range(HERD_DIMENSIONS)
        )
        threads = self._emitter.product(width, self._emitter.constant(self._wave_size))
        self._check_limit(threads, height)
        return [threads, height, self._emitter.constant(1)]

    def is_smaller(self, herd: HerdOp, dimension: int) -> bool:
        """Whether some waves of the block may be no processing elements of a herd."""
        own = scalar_int(self._shapes[herd][dimension])
        sizes = {scalar_int(shape[dimension]) for shape in self._shapes.values()}
        same = len({shape[dimension] for shape in self._shapes.values()}) == 1
        return not same and (own is None or sizes != {own})

    def _herd_shape(self, herd: HerdOp) -> tuple[SSAValue, SSAValue]:
        if not 1 <= len(herd.extents) <= HERD_DIMENSIONS:
            fail_op(herd, f"has {len(herd.extents)} dimensions; herds of one or two dimensions run on GPUs")
        sizes = [self._outside.value(size) for size in herd.extents]
        known = [size for size in sizes if size is not None]
        if len(known) != len(sizes):
            fail_op(
                herd,
                "has a size that depends on where in the launch it is",
                (herd, "all blocks of a launch have the same number of threads"),
            )
        return known[0], known[1] if len(known) > 1 else self._emitter.constant(1)

    def _larger(self, first: SSAValue, second: SSAValue) -> SSAValue:
        numbers = scalar_int(first), scalar_int(second)
        if first is second or (numbers[0] is not None and numbers[0] == numbers[1]):
            return first
        if numbers[0] is not None and numbers[1] is not None:
            return first if numbers[0] > numbers[1] else second
        return self._emitter.arith("maxui", first, second)

    def _check_limit(self, threads: SSAValue, height: SSAValue) -> None:
        numbers = scalar_int(threads), scalar_int(height)
        if numbers[0] is None or numbers[1] is None:
            return
        total, limit = numbers[0] * numbers[1], self._target.max_block_threads
        if total > limit:
            herd = max(self._shapes, key=self._known_points)
            fail_op(
                herd,
                f"needs a block of {total} threads, {self._wave_size} for each processing element; "
                f"{self._target.chip} has at most {limit}",
                (herd, f"a herd of at most {limit // self._wave_size} processing elements fits"),
            )

    def _known_points(self, herd: HerdOp) -> int:
        width, height = self._shapes[herd]
        return (scalar_int(width) or 1) * (scalar_int(height) or 1)
