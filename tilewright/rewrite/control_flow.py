"""Blocks of a region and the branches between them: successors, predecessors, what is passed along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from tilewright.dialects import cf

_BRANCHES = (cf.BranchOp, cf.ConditionalBranchOp, cf.SwitchOp)


def is_branch(op: Operation) -> bool:
    """Whether we know which operands go to which successor."""
    return isinstance(op, _BRANCHES)


def successor_operands(op: Operation, index: int) -> Sequence[SSAValue]:
    """What the branch `op` passes to the arguments of its successor number `index`."""
    match op:
        case cf.BranchOp():
            return op.arguments
        case cf.ConditionalBranchOp():
            return op.else_arguments if index else op.then_arguments
        case cf.SwitchOp():
            return op.case_operand[index - 1] if index else op.default_operands
        case _:
            raise ValueError(f"'{op.name}' is not a branch")


def with_successor_operands(op: Operation, lists: Sequence[Sequence[SSAValue]]) -> None:
    """Change what the branch `op` passes to each of its successors."""
    passed = [value for values in lists for value in values]
    match op:
        case cf.BranchOp():
            op.operands = passed
        case cf.ConditionalBranchOp():
            op.operands = (op.cond, *passed)
            op.properties["operandSegmentSizes"] = sizes_attr([1, *map(len, lists)])
        case cf.SwitchOp():
            op.operands = (op.flag, *passed)
            op.properties["operandSegmentSizes"] = sizes_attr([1, len(lists[0]), sum(map(len, lists[1:]))])
            op.properties["case_operand_segments"] = sizes_attr([len(values) for values in lists[1:]])
        case _:
            raise ValueError(f"'{op.name}' is not a branch")


def branch_op(block: Block, values: Sequence[SSAValue] = ()) -> cf.BranchOp:
    return cf.BranchOp.create(operands=values, successors=[block])


def conditional_branch_op(
    condition: SSAValue, then: tuple[Block, Sequence[SSAValue]], otherwise: tuple[Block, Sequence[SSAValue]]
) -> cf.ConditionalBranchOp:
    """A branch to one of two blocks, each with what is passed to it."""
    return cf.ConditionalBranchOp.create(
        operands=(condition, *then[1], *otherwise[1]),
        properties={"operandSegmentSizes": sizes_attr([1, len(then[1]), len(otherwise[1])])},
        successors=[then[0], otherwise[0]],
    )


def successor_argument(op: Operation, operand: int) -> BlockArgument | None:
    """The block argument that receives operand number `operand` of `op`, if it is handed to one."""
    if not is_branch(op):
        return None
    first = 0 if isinstance(op, cf.BranchOp) else 1  # after the condition or the flag
    for index, block in enumerate(op.successors):
        count = len(successor_operands(op, index))
        if first <= operand < first + count:
            return block.args[operand - first]
        first += count
    return None


def post_order(entry: Block) -> list[Block]:
    """The blocks that can be reached from `entry`, each after those first reached through it."""
    # a stack of its own: a chain of blocks may be longer than Python recurses
    order: list[Block] = []
    seen = {entry}
    stack: list[tuple[Block, Iterator[Block]]] = [(entry, _successors(entry))]
    while stack:
        block, remaining = stack[-1]
        following = next((b for b in remaining if b not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, _successors(following)))
    return order


def _successors(block: Block) -> Iterator[Block]:
    return iter(block.last_op.successors if block.last_op is not None else ())


def sizes_attr(sizes: Sequence[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, sizes)


def nested_regions(region: Region) -> Iterator[Region]:
    for block in region.blocks:
        for op in block.ops:
            yield from op.regions


def has_one_block(region: Region) -> bool:
    return region.first_block is region.last_block


def disconnect(block: Block) -> None:
    """Remove every use that the operations in `block` make of values and blocks."""
    for op in block.ops:
        op.drop_all_references()
        # xDSL forgets the parent too, and then the block could not be walked or erased
        op.parent = block
