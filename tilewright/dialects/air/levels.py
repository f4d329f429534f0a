"""Levels of the hierarchy: ranks on devices, launches on a device, segments in it, herds of processing elements."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar

from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    opt_operand_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure

from tilewright.dialects._ods import ImplicitTerminator, ParentOp, op_definition
from tilewright.dialects._parents import ancestors
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import (
    ANY_TOKEN,
    ANY_UNIVERSE,
    UNIVERSE,
    MemorySpace,
    is_symmetric,
    memory_space,
    space_text,
)
from tilewright.ir.diagnostics import VerifyError


@op_definition
class RankTerminatorOp(IRDLOperation):
    """The end of a rank's body."""

    name = "air.rank_terminator"
    traits = traits_def(ParentOp("air.rank"), IsTerminator(), Pure())
    assembly_format = "attr-dict"


@op_definition
class LaunchTerminatorOp(IRDLOperation):
    """The end of a launch's body."""

    name = "air.launch_terminator"
    traits = traits_def(ParentOp("air.launch"), IsTerminator(), Pure())
    assembly_format = "attr-dict"


@op_definition
class SegmentTerminatorOp(IRDLOperation):
    """The end of a segment's body."""

    name = "air.segment_terminator"
    traits = traits_def(ParentOp("air.segment"), IsTerminator(), Pure())
    assembly_format = "attr-dict"


@op_definition
class HerdTerminatorOp(IRDLOperation):
    """The end of a herd's body."""

    name = "air.herd_terminator"
    traits = traits_def(ParentOp("air.herd"), IsTerminator(), Pure())
    assembly_format = "attr-dict"


@op_definition
class RankOp(Hierarchy):
    """A world of processes, each with a device of its own; every one of them runs the body once, with its own id."""

    name = "air.rank"

    # all operands again, for the universe to come second
    async_dependencies = var_operand_def(ANY_TOKEN)
    universe = opt_operand_def(ANY_UNIVERSE)
    sizes = var_operand_def(INDEX)
    kernel_operands = var_operand_def()

    traits = traits_def(IsolatedFromAbove(), ImplicitTerminator(RankTerminatorOp))

    @classmethod
    def _parse_extra_operands(cls, parser: Parser) -> list[SSAValue]:
        if parser.parse_optional_keyword("universe") is None:
            return []
        with parser.in_parens():
            return [parser.resolve_operand(parser.parse_unresolved_operand(), UNIVERSE)]

    def _print_extra_operands(self, printer: Printer) -> None:
        if self.universe is not None:
            printer.print_string(" universe(")
            printer.print_ssa_value(self.universe)
            printer.print_string(")")

    def verify_(self) -> None:
        self.verify_body()
        for parent in ancestors(self):
            if isinstance(parent, RankOp | SegmentOp | HerdOp):
                raise VerifyError(
                    "cannot be nested inside air.segment, air.herd, or another air.rank",
                    (parent, "a rank stands for a whole device: put it around this"),
                )


@op_definition
class LaunchOp(Hierarchy):
    """Work handed to a device: independent points that may run in any order."""

    name = "air.launch"

    traits = traits_def(IsolatedFromAbove(), ImplicitTerminator(LaunchTerminatorOp))

    def verify_(self) -> None:
        self.verify_body()


@op_definition
class SegmentOp(Hierarchy):
    """Processing elements that run together and share L2 memory; `unroll` makes several such groups."""

    name = "air.segment"

    traits = traits_def(IsolatedFromAbove(), ImplicitTerminator(SegmentTerminatorOp))

    SPACE_KEYWORD: ClassVar[str | None] = "unroll"
    SPACE_IS_OPTIONAL: ClassVar[bool] = True
    SPACE_GAP: ClassVar[str] = ""  # upstream prints `unroll(` here and `tile (` for herds

    def verify_(self) -> None:
        self.verify_body()
        verify_allocations(self, self.body, MemorySpace.L2)


@op_definition
class HerdOp(Hierarchy):
    """An array of processing elements that run the same body at the same time."""

    name = "air.herd"

    traits = traits_def(IsolatedFromAbove(), ImplicitTerminator(HerdTerminatorOp))

    SPACE_KEYWORD: ClassVar[str | None] = "tile"

    def verify_(self) -> None:
        self.verify_body()
        verify_allocations(self, self.body, MemorySpace.L1)
        verify_direct_accesses(self, self.body)


TERMINATORS: dict[type[Hierarchy], type[Operation]] = {
    RankOp: RankTerminatorOp,
    LaunchOp: LaunchTerminatorOp,
    SegmentOp: SegmentTerminatorOp,
    HerdOp: HerdTerminatorOp,
}

OPS: Sequence[type[IRDLOperation]] = [*TERMINATORS, *TERMINATORS.values()]  # pyright: ignore[reportAssignmentType]


DIRECT_ACCESSES = {
    "affine.load": 0,
    "affine.store": 1,
    "memref.load": 0,
    "memref.store": 1,
    "vector.load": 0,
    "vector.store": 1,
    "vector.transfer_read": 0,
    "vector.transfer_write": 1,
}
"""What becomes a load or store instruction of a core, and which operand is the buffer."""

GPU_PROGRAM = "gpu.container_module"
"""On a module: this is a program for GPUs, whose processing elements reach all memory."""


_for_gpus = ContextVar("for_gpus", default=False)


@contextmanager
def for_gpus() -> Generator[None]:
    """All programs that are verified meanwhile are for GPUs, whatever their modules say."""
    token = _for_gpus.set(True)
    try:
        yield
    finally:
        _for_gpus.reset(token)


def verify_allocations(op: Operation, body: Region, minimum: MemorySpace) -> None:
    """Buffers made inside `op` are at least as local as `minimum`."""
    for inner in body.walk():
        # the symmetric heap is no level of this hierarchy, it is reached from all
        if inner.name != "memref.alloc" or is_symmetric(inner.results[0].type):
            continue
        space = memory_space(inner.results[0].type)
        if space is not None and space < minimum:
            named = space_text(space)
            found = f"memory space {named}" if named is not None else f"numeric memory space {space}"
            raise VerifyError(
                f"memref.alloc inside {op.name} must have memory space >= {minimum.name}, but found {found}",
                (op, f"give the buffer memory space {int(minimum)} ({minimum.name})"),
                at=inner,
            )


def verify_direct_accesses(herd: Operation, body: Region) -> None:
    """A core loads from and stores to its own memory only."""
    # the processing elements of GPUs load from and store to all memories
    if _for_gpus.get() or any(GPU_PROGRAM in op.attributes for op in (herd, *ancestors(herd))):
        return
    for inner in body.walk():
        index = DIRECT_ACCESSES.get(inner.name)
        space = None if index is None else memory_space(inner.operands[index].type)
        if space is not None and space < MemorySpace.L1:
            raise VerifyError(
                f"inside 'air.herd' accesses memref with memory_space {space_text(space) or space}; AIE core tiles "
                "can only access L1 or more local memory directly. Use air.dma_memcpy_nd to stage data first.",
                (herd, f"a program for GPUs says so with the attribute {GPU_PROGRAM} on its module"),
                at=inner,
            )
