"""Tidying of a traced program: divisions of natural numbers, and conversions that cancel out."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, ModuleOp, UnrealizedConversionCastOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import arith, scf
from tilewright.dialects import memref as ops
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.gpu.ids import IdOp
from tilewright.iron.builders.arithmetic import constant_of

_KEEP = (
    *(arith.AddiOp, arith.MuliOp, arith.DivUIOp, arith.DivSIOp, arith.RemUIOp, arith.RemSIOp, arith.FloorDivSIOp),
    *(arith.MinSIOp, arith.MinUIOp, arith.MaxSIOp, arith.MaxUIOp, arith.AndIOp, arith.ShRUIOp),
)
"""Natural numbers give a natural number; 64 bits are enough for sums and products of sizes."""


def tidy(module: ModuleOp) -> None:
    """Divide natural numbers without asking for their signs, and drop what nothing uses."""
    known = dict[SSAValue, bool]()
    for op in list(module.walk()):
        if isinstance(op, arith.FloorDivSIOp) and all(_is_natural(value, known) for value in op.operands):
            _replace(op, arith.DivUIOp)
        elif isinstance(op, arith.RemSIOp) and all(_is_natural(value, known) for value in op.operands):
            _replace(op, arith.RemUIOp)
    for op in reversed(list(module.walk())):
        is_idle = isinstance(op, UnrealizedConversionCastOp | arith.ConstantOp | IdOp | ops.DimOp)
        if is_idle and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)


def _replace(op: Operation, kind: type[arith.DivUIOp] | type[arith.RemUIOp]) -> None:
    new = kind(op.operands[0], op.operands[1])
    new.location = op.location
    Rewriter.insert_op(new, InsertPoint.before(op))
    op.results[0].replace_all_uses_with(new.results[0])
    Rewriter.erase_op(op)


def is_natural(value: SSAValue) -> bool:
    """Whether an index is 0 or more, as far as that is seen."""
    return _is_natural(value, {})


def _is_natural(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    if value not in known:
        known[value] = False  # of what is computed from itself nothing is known
        known[value] = _found_natural(value, known)
    return known[value]


def _found_natural(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    if not isinstance(value.type, IndexType):
        return False
    if isinstance(value, BlockArgument):
        return _is_natural_argument(value, known)
    owner = value.owner
    number = constant_of(value)
    if number is not None:
        return number >= 0
    if isinstance(owner, IdOp | ops.DimOp):
        return True
    return isinstance(owner, _KEEP) and all(_is_natural(operand, known) for operand in owner.operands)


def _is_natural_argument(value: BlockArgument, known: dict[SSAValue, bool]) -> bool:
    parent = value.block.parent_op()
    if isinstance(parent, scf.ForOp):
        return value.index == 0 and _is_natural(parent.lb, known) and _is_natural(parent.step, known)
    if isinstance(parent, Hierarchy):
        # its place, its size, or what is passed to it
        outer = parent.tied_operand(value)
        return outer is None or value.index < 2 * len(parent.extents) or _is_natural(outer, known)
    return False
