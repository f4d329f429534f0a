"""Finds sums of products that lanes of a wave can hold together: where they come from, and all that becomes of them.

A contraction's vector is followed both ways, to what it is added to and to what it is used for: further contractions,
operations on each element, values that loops carry, and writes to memory. Lanes can divide it if nothing else is among
these, and if all lanes of a wave do all of it together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tilewright.dialects import arith, scf, vector
from tilewright.dialects.memref.types import memref_type
from tilewright.dialects.vector.types import CombiningKindFlag, shape_of, vector_type
from tilewright.passes.air.air_gpu_contract_to_mma.fragments import Axes, Transfer, axes_of
from tilewright.passes.air.air_gpu_contract_to_mma.wave_values import WaveValues
from tilewright.passes.air.buffer_homes import Home, home_of
from tilewright.rewrite.effects import is_memory_effect_free
from tilewright.rewrite.folding.constants import constant_of, elements_of, scalar_int
from tilewright.rewrite.folding.regions import terminator

SHARED = Home.BLOCK, Home.DEVICE
"""What lanes see of each other."""
WIDENING = arith.ExtFOp, arith.ExtSIOp
"""Instructions widen what they multiply."""
Carried: TypeAlias = "tuple[scf.ForOp, int]"
"""One of the values that a loop carries."""


class NotDivided(Exception):
    """Lanes each have to do it for themselves."""


@dataclass(frozen=True)
class Factor:
    """A side of a product: what was read from memory, its rows and columns (of A; depth and columns of B)."""

    read: vector.TransferReadOp
    axes: Axes
    shape: tuple[int, int]
    element: Attribute


@dataclass(frozen=True)
class Product:
    """A contraction as a product of two matrices, whose rows and columns are those of the sums."""

    op: vector.ContractionOp
    a: Factor
    b: Factor

    @property
    def depth(self) -> int:
        return self.a.shape[1]


@dataclass
class Sums:
    """Vectors of one shape that are added to, and the operations that make and use them."""

    wave: WaveValues
    shape: tuple[int, int]
    values: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    products: dict[Operation, Product] = field(default_factory=dict[Operation, Product])
    carried: dict[Carried, None] = field(default_factory=dict["Carried", None])
    others: dict[Operation, None] = field(default_factory=dict[Operation, None])
    """Reads, writes, broadcasts and what goes element by element."""

    @classmethod
    def of(cls, op: vector.ContractionOp, wave: WaveValues) -> Sums | None:
        """All that hangs together with a contraction; None if lanes cannot divide it."""
        shape = shape_of(op.result.type)
        if len(shape) != 2:
            return None
        found = cls(wave, (shape[0], shape[1]))
        pending = list[SSAValue]([op.result])
        try:
            while pending:
                value = pending.pop()
                if value not in found.values:
                    pending += found._follow(value)
        except NotDivided:
            return None
        return found

    def _follow(self, value: SSAValue) -> Iterator[SSAValue]:
        """Further sums that one is made of or that are made of it."""
        _demand(shape_of(value.type) == self.shape)
        self.values[value] = None
        owner = value.owner
        # others may have these as well, as they are
        if not isinstance(owner, Block) and is_repeated_number(value):
            return
        if isinstance(owner, vector.TransferReadOp):
            self._add(owner, is_shared_transfer(owner, self.wave))
            return
        if isinstance(owner, vector.BroadcastOp):
            self._add(owner, not shape_of(owner.source.type) and self.wave.share(owner.source))
            return
        yield from self._sources(value)
        for use in [*value.uses]:
            yield from self._results(use.operation, use.index)

    def _sources(self, value: SSAValue) -> Iterator[SSAValue]:
        match value.owner:
            case Block() as block:
                loop = block.parent_op()
                number = cast(BlockArgument, value).index - 1
                _demand(isinstance(loop, scf.ForOp) and number >= 0)
                yield from self._carry(cast(scf.ForOp, loop), number)
            case scf.ForOp() as loop:
                yield from self._carry(loop, loop.results.index(value))
            case op:
                yield from self._computed(op)

    def _results(self, user: Operation, number: int) -> Iterator[SSAValue]:
        parent = user.parent_op()
        match user:
            case scf.ForOp() if number >= FIRST_CARRIED:
                yield from self._carry(user, number - FIRST_CARRIED)
            case scf.YieldOp() if isinstance(parent, scf.ForOp):
                yield from self._carry(parent, number)
            case vector.TransferWriteOp():
                self._add(user, is_shared_transfer(user, self.wave))
            case vector.ContractionOp():
                _demand(number == ADDED)
                yield from self._computed(user)
            case _:
                yield from self._computed(user)

    def _carry(self, loop: scf.ForOp, number: int) -> Iterator[SSAValue]:
        if (loop, number) not in self.carried:
            self.carried[loop, number] = None
            _demand(self.wave.meet(loop) and self.wave.meet(terminator(loop.body)))
            yield loop.iter_args[number]
            yield terminator(loop.body).operands[number]
            yield loop.body.block.args[number + 1]
            yield loop.results[number]

    def _computed(self, op: Operation) -> Iterator[SSAValue]:
        """By a contraction, or element by element."""
        if op in self.others or op in self.products:
            return
        if isinstance(op, vector.ContractionOp):
            product = product_of(op, self.wave)
            _demand(product is not None and self.wave.meet(op))
            self.products[op] = cast(Product, product)
            yield op.acc
        else:
            self._add(op, _is_by_element(op))
            for operand in op.operands:
                if isinstance(operand.type, VectorType):
                    yield operand
                else:
                    _demand(self.wave.share(operand))
        yield op.results[0]

    def _add(self, op: Operation, is_fit: bool) -> None:
        _demand(is_fit and self.wave.meet(op))
        self.others[op] = None


FIRST_CARRIED = 3
"""The operand of a loop that it carries first, behind its bounds and its step."""
ADDED = 2
"""The operand of a contraction that products are added to."""


def _demand(holds: bool) -> None:
    if not holds:
        raise NotDivided


def is_repeated_number(value: SSAValue) -> bool:
    """Whether all elements are one number that is known."""
    elements = elements_of(constant_of(value))
    return elements is not None and len(elements) == 1


def _is_by_element(op: Operation) -> bool:
    """Whether each element of a result is computed from those at its place."""
    return (
        op.name.startswith(("arith.", "math.", "vector.fma"))
        and len(op.results) == 1
        and not op.regions
        and constant_of(op.results[0]) is None
        and is_memory_effect_free(op)
    )


def product_of(op: vector.ContractionOp, wave: WaveValues) -> Product | None:
    """A contraction of two dimensions with one depth, of matrices read from memory; None for others."""
    left, right, sums = op.dimensions
    if op.kind.data is not CombiningKindFlag.ADD or len(left) != 2 or len(right) != 2 or len(sums) != 2:
        return None
    # rows of the sums are of A, whichever operand that is
    (row, column), sides = sums, [(op.lhs, left), (op.rhs, right)]
    if row not in left:
        sides.reverse()
    (a, of_a), (b, of_b) = sides
    depths = set(of_a) - {row}
    if row not in of_a or set(of_b) != {*depths, column}:
        return None
    (depth,) = depths
    factors = (
        _factor(a, (of_a.index(row), of_a.index(depth)), wave),
        _factor(b, (of_b.index(depth), of_b.index(column)), wave),
    )
    return None if factors[0] is None or factors[1] is None else Product(op, factors[0], factors[1])


def _factor(value: SSAValue, order: tuple[int, int], wave: WaveValues) -> Factor | None:
    """A matrix whose rows and columns are these dimensions of a vector, if that is read from memory."""
    shape = shape_of(value.type)
    sizes = shape[order[0]], shape[order[1]]
    while isinstance(value.owner, (*WIDENING, vector.TransposeOp)):
        if isinstance(value.owner, vector.TransposeOp):
            turn = value.owner.permutation.get_values()
            order = turn[order[0]], turn[order[1]]
        value = value.owner.operands[0]
    read = value.owner
    if not isinstance(read, vector.TransferReadOp) or not is_shared_transfer(read, wave) or not wave.meet(read):
        return None
    axes = axes_of(read)
    element = cast(VectorType, value.type).element_type
    return Factor(read, (axes[order[0]], axes[order[1]]), sizes, element)


def is_shared_transfer(op: Transfer, wave: WaveValues) -> bool:
    """Whether all lanes of a wave transfer the same matrix, from or to memory where each sees what others store."""
    type = vector_type(op.result if isinstance(op, vector.TransferReadOp) else op.vector)
    return (
        isinstance(op.source.type, MemRefType)
        and home_of(op.source) in SHARED
        and op.mask is None
        and memref_type(op.source).element_type == type.element_type
        and len(shape_of(type)) == 2
        and (isinstance(op, vector.TransferReadOp) or None not in axes_of(op))
        and _is_inside(op, shape_of(type))
        and wave.share(op.source, *op.indices)
    )


def _is_inside(op: Transfer, shape: tuple[int, ...]) -> bool:
    """Whether it is known that all elements are in the buffer."""
    sizes = memref_type(op.source).get_shape()
    for axis, extent, bound in zip(axes_of(op), shape, op.in_bounds, strict=True):
        if axis is None or bound.value.data:
            continue
        start = scalar_int(op.indices[axis])
        # a dynamic size is negative
        if start is None or start < 0 or start + extent > sizes[axis]:
            return False
    return True
