"""Whether all lanes of a block have the same value, so that they take the same branch on it."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from tilewright.dialects import cf

DIVERGENT = frozenset(
    (
        *("gpu.thread_id", "gpu.lane_id", "gpu.global_id", "gpu.subgroup_id", "gpu.shuffle"),
        *("nvvm.read.ptx.sreg.laneid", "rocdl.mbcnt.lo", "rocdl.mbcnt.hi"),
    )
)
"""Operations without effects whose results differ from lane to lane."""
DIVERGENT_REGISTERS = "nvvm.read.ptx.sreg.tid.", "rocdl.workitem.id."


def is_uniform(value: SSAValue, assumed: set[SSAValue] | None = None) -> bool:
    """Whether a value is computed from what is the same for a whole block; `assumed` are those being looked at."""
    assumed = set() if assumed is None else assumed
    if value in assumed:
        return True
    assumed.add(value)
    owner = value.owner
    if isinstance(owner, Block):
        return _is_uniform_argument(value, owner, assumed)
    if owner.name in DIVERGENT or owner.name.startswith(DIVERGENT_REGISTERS) or owner.regions:
        return False
    return owner.has_trait(Pure) and all(is_uniform(operand, assumed) for operand in owner.operands)


def _is_uniform_argument(value: SSAValue, block: Block, assumed: set[SSAValue]) -> bool:
    """What a kernel is given is the same for all; what branches carry is if they and all that they carry are."""
    region = block.parent_region()
    if region is None or block is region.first_block:
        parent = block.parent_op()
        return parent is not None and parent.name in ("gpu.func", "func.func")
    number = block.args.index(value)
    carried = [found for other in region.blocks for found in _carried(other.last_op, block, number)]
    return all(found is not None and is_uniform(found, assumed) for found in carried)


def _carried(end: Operation | None, target: Block, number: int) -> list[SSAValue | None]:
    """What a branch hands on as an argument of a block; None if that is not known or depends on the lane."""
    match end:
        case cf.BranchOp() if end.successor is target:
            return [end.arguments[number]]
        case cf.ConditionalBranchOp():
            edges = (end.then_block, end.then_arguments), (end.else_block, end.else_arguments)
            return [values[number] for block, values in edges if block is target]
        case Operation() if target in end.successors:
            return [None]
        case _:
            return []
