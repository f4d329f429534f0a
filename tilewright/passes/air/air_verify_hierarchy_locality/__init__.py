"""Finds buffers of a level's own memory that its points would fight over: two points that write one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.air.execution import ExecuteOp
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp, LaunchOp, SegmentOp
from tilewright.dialects.air.types import MemorySpace, memory_space
from tilewright.dialects.func import CallOp
from tilewright.ir.diagnostics import emit_op_error, emit_warning
from tilewright.ir.pass_manager import Pass
from tilewright.ir.shown import quoted
from tilewright.passes.air.air_verify_hierarchy_locality.offsets import Offset, OffsetReader, depends_on, extent_of
from tilewright.passes.air.air_verify_hierarchy_locality.uses import Use, only_reads, part_of, uses_of
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.folding.strided_views import Mixed, known_int

OWN_MEMORY = {HerdOp: MemorySpace.L1, SegmentOp: MemorySpace.L2, LaunchOp: MemorySpace.L3}
WHOLE = "access spans the entire memref ([][][]); every iteration instance touches the same locations"
ABSENT = "iteration variable does not appear in any offset of this access; iterations cannot be disjoint"
UNKNOWN = "unrecognized terminal access; cannot determine offsets/sizes"
TOO_LARGE = (
    "could not prove that the access size in the iteration-indexed dimension is small enough to keep "
    "iterations disjoint"
)
SURE = WHOLE, ABSENT


@dataclass(frozen=True)
class AirVerifyHierarchyLocalityPass(Pass):
    name = "air-verify-hierarchy-locality"

    strict: bool = field(default=True, metadata={"help": "report what cannot be decided as an error, not as a warning"})

    def apply(self, ctx: Context, op: Operation) -> None:
        for found in op.walk():
            if isinstance(found, HerdOp | SegmentOp | LaunchOp):
                self._verify(found)

    def _verify(self, op: HerdOp | SegmentOp | LaunchOp) -> None:
        ids = [id for id, extent in zip(op.ids, op.extents, strict=True) if scalar_int(extent) != 1]
        for number, (value, argument) in enumerate(zip(op.kernel_values, op.kernel_arguments, strict=True)):
            is_own = memory_space(value.type) == OWN_MEMORY[type(op)]
            uses = uses_of(argument, op.body) if ids and is_own and not _is_shrunk(value) else []
            if not uses or any(_is_replicated(use, ids) for use in uses) or _is_shared(op, uses):
                continue
            self._verify_uses(op, number, uses, OffsetReader(op, ids))

    def _verify_uses(self, op: Hierarchy, number: int, uses: Sequence[Use], reader: OffsetReader) -> None:
        for use in uses:
            why = _problem(use, reader)
            if why is None:
                continue
            text = (
                f"kernel operand #{number} of type {quoted(op.kernel_values[number].type)}: {why}; the alloc must be "
                f"defined inside the {op.name} body, or the access pattern must statically partition the memref over "
                f"the {op.name} iteration variables"
            )
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


def _is_replicated(use: Use, ids: Sequence[BlockArgument]) -> bool:
    """Whether each point has a copy of its own: it gets data from a channel, or calls a function, by its id."""
    if isinstance(use.op, ChannelEnd):
        return any(depends_on(index, ids) for index in use.op.indices_in_bundle)
    if isinstance(use.op, CallOp):
        return any(depends_on(value, ids) for value in use.op.operands if not isinstance(value.type, MemRefType))
    return False


def _is_shared(op: Hierarchy, uses: Sequence[Use]) -> bool:
    """Whether neighbouring cores talk through a buffer: some points write it, under a condition, and others read it."""
    if not isinstance(op, HerdOp):
        return False
    branches = [(_branch(use.op, op), only_reads(use)) for use in uses]
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


def _problem(use: Use, reader: OffsetReader) -> str | None:
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
    reach = length + offset.span
    for value, factor in sorted(offset.factors.items(), key=lambda item: abs(item[1])):
        extent = extent_of(value)
        if factor and (abs(factor) < reach or extent is None):
            return False
        reach += abs(factor) * max(0, (extent or 1) - 1)
    return True
