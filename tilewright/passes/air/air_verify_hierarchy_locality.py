"""Finds buffers of a level's own memory that its points would fight over: two points that write one place.

Uses of a buffer are followed into inner hierarchies; offsets are read as multiples of ids, with what inner loops add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, MemRefType, VectorType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr

from tilewright.dialects import affine, memref, scf
from tilewright.dialects.air.channels import ChannelEnd, ChannelPutOp
from tilewright.dialects.air.execution import ExecuteOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp, LaunchOp, SegmentOp
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.func import CallOp
from tilewright.ir.diagnostics import emit_op_error, emit_warning
from tilewright.ir.pass_manager import Pass
from tilewright.ir.shown import quoted
from tilewright.rewrite.effects import Effect, effects_of
from tilewright.rewrite.folding.affine_expressions import evaluate
from tilewright.rewrite.folding.air_views import VIEWS
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.regions import is_inside
from tilewright.rewrite.folding.strided_views import Mixed, known_int, mixed_lists

OWN_MEMORY = {HerdOp: MemorySpace.L1, SegmentOp: MemorySpace.L2, LaunchOp: MemorySpace.L3}
WHOLE = "access spans the entire memref ([][][]); every iteration instance touches the same locations"
ABSENT = "iteration variable does not appear in any offset of this access; iterations cannot be disjoint"
UNKNOWN = "unrecognized terminal access; cannot determine offsets/sizes"
TOO_LARGE = (
    "could not prove that the access size in the iteration-indexed dimension is small enough to keep "
    "iterations disjoint"
)
SURE = WHOLE, ABSENT
Part: TypeAlias = "tuple[Sequence[Mixed], Sequence[Mixed]]"
"""Offsets and sizes."""
_NOTHING: Mapping[BlockArgument, int] = {}


@dataclass(frozen=True)
class AirVerifyHierarchyLocalityPass(Pass):
    name = "air-verify-hierarchy-locality"

    strict: bool = field(default=True, metadata={"help": "report what cannot be decided as an error, not as a warning"})

    def apply(self, ctx: Context, op: Operation) -> None:
        for found in op.walk():
            if isinstance(found, HerdOp | SegmentOp | LaunchOp):
                self._verify(found)

    def _verify(self, op: HerdOp | SegmentOp | LaunchOp) -> None:
        # an id that has one value cannot tell points apart, and need not
        ids = [id for id, extent in zip(op.ids, op.extents, strict=True) if scalar_int(extent) != 1]
        for number, (value, argument) in enumerate(zip(op.kernel_values, op.kernel_arguments, strict=True)):
            is_own = memory_space(value.type) == OWN_MEMORY[type(op)]
            uses = uses_of(argument, op.body) if ids and is_own and not _is_shrunk(value) else []
            if not uses or any(_is_replicated(use, ids) for use in uses) or _is_shared(op, uses):
                continue
            self._verify_uses(op, number, uses, OffsetReader(op, ids))

    def _verify_uses(self, op: Hierarchy, number: int, uses: Sequence[BufferUse], reader: OffsetReader) -> None:
        for use in uses:
            why = _problem(use, reader)
            if why is None:
                continue
            text = (
                f"kernel operand #{number} of type {quoted(op.kernel_values[number].type)}: {why}; the alloc must be "
                f"defined inside the {op.name} body, or the access pattern must statically partition the memref over "
                f"the {op.name} iteration variables"
            )
            # one error for each operand: the other uses would say the same
            is_error = self.strict or why in SURE
            (emit_op_error(op, text) if is_error else emit_warning(op, text)).note(use.op, "access here")
            if is_error:
                return


def _is_shrunk(value: SSAValue) -> bool:
    """Whether a buffer stands for one point's share already."""
    maker = value.owner
    makers = [*maker.walk()] if isinstance(maker, ExecuteOp) else [maker]
    marks = [found.attributes.get("air.shrinkage") for found in makers if isinstance(found, Operation)]
    return any(isinstance(mark, IntegerAttr) and bool(mark.value.data) for mark in marks)


def _is_replicated(use: BufferUse, ids: Sequence[BlockArgument]) -> bool:
    """Whether each point has a copy of its own: it gets data from a channel, or calls a function, by its id."""
    if isinstance(use.op, ChannelEnd):
        return any(depends_on(index, ids) for index in use.op.indices_in_bundle)
    if isinstance(use.op, CallOp):
        return any(depends_on(value, ids) for value in use.op.operands if not isinstance(value.type, MemRefType))
    return False


def _is_shared(op: Hierarchy, uses: Sequence[BufferUse]) -> bool:
    """Whether neighbouring cores talk through a buffer: some points write it, under a condition, and others read it."""
    if not isinstance(op, HerdOp):
        return False
    branches = [(_branch(use.op, op), only_reads(use)) for use in uses]
    # in branches of their own: what all points do at once is no conversation
    writers = {branch for branch, reads in branches if branch is not None and not reads}
    readers = {branch for branch, reads in branches if branch is not None and reads}
    return bool(writers and readers - writers)


def _branch(op: Operation, herd: Hierarchy) -> object:
    """The branch of an `affine.if` or `scf.if` that an operation of a herd is in."""
    inner, parent = op, op.parent_op()
    while parent is not None and parent is not herd:
        if parent.name in ("affine.if", "scf.if"):
            return inner.parent_region()
        inner, parent = parent, parent.parent_op()
    return None


def _problem(use: BufferUse, reader: OffsetReader) -> str | None:
    """Why two points may touch one place, if they may."""
    if only_reads(use):
        return None
    part = part_of(use)
    if part is None:
        return UNKNOWN
    offsets, sizes = part
    if not offsets:
        return WHOLE
    read = [reader.read(offset) for offset in offsets]
    pairs = list(zip(read, sizes, strict=False))
    for id in reader.ids:
        if not any(_separates(offset, size, id) for offset, size in pairs):
            appears = any(offset is not None and offset.factors.get(id) for offset in read)
            return TOO_LARGE if appears else ABSENT
    return None


def _separates(offset: Offset | None, size: Mixed, id: BlockArgument) -> bool:
    """Whether points that differ in an id cannot meet in a dimension: each factor is beyond what smaller ones reach."""
    length = known_int(size)
    if offset is None or length is None or not offset.factors.get(id):
        return False
    # from the smallest factor on, as in a number: each digit must be beyond all that the lower ones add up to
    reach = length + offset.span
    for value, factor in sorted(offset.factors.items(), key=lambda item: abs(item[1])):
        extent = extent_of(value)
        if factor and (abs(factor) < reach or extent is None):
            return False
        reach += abs(factor) * max(0, (extent or 1) - 1)
    return True


class BufferUse(NamedTuple):
    op: Operation
    buffer: SSAValue


def uses_of(argument: SSAValue, body: Region) -> list[BufferUse]:
    """Where a buffer is touched in a body; views and inner hierarchies are looked through."""
    found: list[BufferUse] = []
    seen = set[Operation]()
    pending = [argument]
    while pending:
        value = pending.pop()
        for use in value.uses:
            op = use.operation
            if op in seen or not is_inside(op, body):
                continue
            seen.add(op)
            if isinstance(op, Hierarchy):
                kernel = zip(op.kernel_values, op.kernel_arguments, strict=True)
                pending += [inner for passed, inner in kernel if passed is value]
            # a subview says itself which part it is: it counts as a use
            elif isinstance(op, ExecuteOp) or (op.name in VIEWS and not isinstance(op, memref.SubviewOp)):
                pending += op.results
            else:
                found.append(BufferUse(op, value))
    return found


def only_reads(use: BufferUse) -> bool:
    """Whether any number of points may do this at once."""
    op = use.op
    if isinstance(op, ChannelPutOp):
        return True
    if isinstance(op, DmaMemcpyNdOp):
        return op.src is use.buffer
    effects = effects_of(op)
    return Effect.READ in effects and not effects & (Effect.WRITE | Effect.FREE | Effect.UNKNOWN)


def part_of(use: BufferUse) -> Part | None:
    """Which part of the buffer is touched; None if that cannot be told."""
    op = use.op
    if isinstance(op, ChannelEnd | DmaMemcpyNdOp):
        side = op.SIDE if isinstance(op, ChannelEnd) else "dst" if op.dst is use.buffer else "src"
        access = op.access(side)
        return access.offsets, access.sizes
    if isinstance(op, memref.SubviewOp):
        offsets, sizes, _ = mixed_lists(op)
        return offsets, sizes
    if isinstance(op, memref.StoreOp | memref.LoadOp) and op.memref is use.buffer:
        return list(op.indices), [1] * len(op.indices)
    if op.name in ("vector.transfer_read", "vector.transfer_write"):
        return _vector_part(op)
    return None


def _vector_part(op: Operation) -> Part:
    transfer = cast(Any, op)
    map = cast(AffineMapAttr, transfer.permutation_map).data
    type = transfer.result.type if op.name == "vector.transfer_read" else transfer.vector.type
    shape = cast(VectorType, type).get_shape()
    sizes = [1] * map.num_dims
    for size, result in zip(shape, map.results, strict=True):
        if isinstance(result, AffineDimExpr):
            sizes[result.position] = size
    return list(transfer.indices), sizes


@dataclass(frozen=True)
class Offset:
    """Factors of the ids, and by how much the rest varies while the ids stay the same."""

    factors: Mapping[BlockArgument, int] = field(default_factory=lambda: _NOTHING)
    span: int = 0

    def __add__(self, other: Offset) -> Offset:
        factors = dict(self.factors)
        for value, factor in other.factors.items():
            factors[value] = factors.get(value, 0) + factor
        return Offset(factors, self.span + other.span)

    def __mul__(self, factor: int) -> Offset:
        return Offset({value: known * factor for value, known in self.factors.items()}, self.span * abs(factor))


CONSTANT = Offset()
_Step: TypeAlias = "Callable[[Operation, OffsetReader], Offset | None]"


@dataclass(frozen=True)
class OffsetReader:
    """Reads offsets inside of one hierarchy."""

    around: Hierarchy
    ids: Sequence[BlockArgument]
    """The ids that take more than one value."""

    def read(self, value: SSAValue | int) -> Offset | None:
        """None if it is not known what the offset depends on."""
        if isinstance(value, int) or scalar_int(value) is not None:
            return CONSTANT
        if isinstance(value, BlockArgument):
            return self._argument(value)
        owner = value.owner
        assert isinstance(owner, Operation)
        step = _STEPS.get(owner.name)
        return None if step is None else step(owner, self)

    def _argument(self, value: BlockArgument) -> Offset | None:
        if value in self.ids:
            return Offset({value: 1})
        passed = passed_value(value)
        if passed is not None:
            return self.read(passed)
        holder = value.owner.parent_op()
        # an id of this hierarchy that is none of those that count: it has one value, or its size is not known
        if holder is self.around:
            return CONSTANT if extent_of(value) == 1 else None
        if holder is None or not is_inside(holder, self.around.regions[0]):
            return None
        extent = extent_of(value)
        return None if extent is None else Offset(span=max(0, extent - 1))


def passed_value(value: SSAValue) -> SSAValue | None:
    """What is passed to a hierarchy as this argument of its body."""
    holder = value.owner.parent_op() if isinstance(value, BlockArgument) and isinstance(value.owner, Block) else None
    if not isinstance(holder, Hierarchy) or value not in holder.kernel_arguments:
        return None
    return holder.tied_operand(cast(BlockArgument, value))


def extent_of(value: BlockArgument) -> int | None:
    """How many values an id or the counter of a loop takes."""
    holder = value.owner.parent_op()
    if isinstance(holder, Hierarchy):
        return scalar_int(holder.extents[value.index]) if value in holder.ids else None
    if isinstance(holder, scf.ForOp) and value.index == 0:
        return _trips(holder.lb, holder.ub, holder.step)
    if isinstance(holder, scf.ParallelOp):
        return _trips(*(bounds[value.index] for bounds in (holder.lowerBound, holder.upperBound, holder.step)))
    return None


def _trips(*bounds: SSAValue) -> int | None:
    lower, upper, step = map(scalar_int, bounds)
    if lower is None or upper is None or step is None or step <= 0 or upper <= lower:
        return None
    return -(-(upper - lower) // step)


def _sum_or_difference(op: Operation, reader: OffsetReader) -> Offset | None:
    lhs, rhs = (reader.read(value) for value in op.operands)
    return None if lhs is None or rhs is None else lhs + rhs * (1 if op.name == "arith.addi" else -1)


def _product(op: Operation, reader: OffsetReader) -> Offset | None:
    for this, other in (op.operands, reversed(op.operands)):
        number = scalar_int(other)
        if number is not None:
            read = reader.read(this)
            return None if read is None else read * number
    return None


def _apply(op: Operation, reader: OffsetReader) -> Offset | None:
    map = cast(affine.ApplyOp, op).map.data
    operands = [reader.read(value) for value in op.operands]
    known = [operand for operand in operands if operand is not None]
    if len(known) != len(operands):
        return None
    return evaluate(map.results[0], known, map.num_dims, lambda _: CONSTANT, _combined)


def _combined(expression: AffineBinaryOpExpr, lhs: Offset, rhs: Offset) -> Offset | None:
    if expression.kind is AffineBinaryOpKind.Add:
        return lhs + rhs
    number = expression.rhs.value if isinstance(expression.rhs, AffineConstantExpr) else None
    if expression.kind is AffineBinaryOpKind.Mul:
        left = expression.lhs.value if isinstance(expression.lhs, AffineConstantExpr) else None
        return lhs * number if number is not None else None if left is None else rhs * left
    # what is divided must not depend on the ids: a quotient is no multiple of them
    if number is None or number <= 0 or lhs.factors:
        return None
    is_rest = expression.kind is AffineBinaryOpKind.Mod
    return Offset(span=min(lhs.span, number - 1) if is_rest else lhs.span // number)


_STEPS: dict[str, _Step] = {
    "affine.apply": _apply,
    "arith.addi": _sum_or_difference,
    "arith.index_cast": lambda op, reader: reader.read(op.operands[0]),
    "arith.muli": _product,
    "arith.subi": _sum_or_difference,
}

INDEX_ARITHMETIC = frozenset(
    {"affine.apply"}
    | {f"arith.{name}" for name in ("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "index_cast")}
)


def depends_on(value: SSAValue, ids: Sequence[BlockArgument]) -> bool:
    """Whether a value is computed from one of the ids, however that is."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        found = pending.pop()
        if found in seen:
            continue
        seen.add(found)
        if found in ids:
            return True
        passed = passed_value(found)
        if passed is not None:
            pending.append(passed)
        elif isinstance(found.owner, Operation) and found.owner.name in INDEX_ARITHMETIC:
            pending += found.owner.operands
    return False
