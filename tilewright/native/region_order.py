"""The order in which blocks of a region run, whether they go round, and whether that changes memory."""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region
from xdsl.traits import Pure

WRITING = frozenset(
    (
        *("store", "copy", "atomic_rmw", "generic_atomic_rmw", "call"),
        *("transfer_write", "maskedstore", "scatter", "vector_store"),
    )
)
"""Operations that write to memory, or may, without their dialects' names."""
NEVER_REACHED = ("llvm.unreachable", "ub.unreachable")
"""Terminators of blocks that a program says never end."""


def reverse_postorder(region: Region) -> list[Block]:
    """Blocks that can be reached, each after all that dominate it."""
    entry = region.blocks.first
    assert entry is not None, "the region has a body"
    found: list[Block] = []
    seen = {entry}
    path = [(entry, iter(successors(entry)))]
    while path:
        block, rest = path[-1]
        for following in rest:
            if following not in seen:
                seen.add(following)
                path.append((following, iter(successors(following))))
                break
        else:
            found.append(block)
            path.pop()
    return found[::-1]


def goes_round(region: Region) -> bool:
    """Whether blocks of a region can run more than once."""
    order = {block: number for number, block in enumerate(reverse_postorder(region))}
    return any(order[after] <= number for block, number in order.items() for after in successors(block))


def is_idle(block: Block) -> bool:
    """Whether a block only leads back to itself, over blocks that have no effect either."""
    seen = set[Block]()
    current = block
    while current not in seen:
        seen.add(current)
        following = successors(current)
        before = (op for op in current.ops if op is not current.last_op)
        if len(following) != 1 or any(op.regions or not op.has_trait(Pure) for op in before):
            return False
        current = following[0]
    return current is block


def writes(op: Operation) -> bool:
    """Whether an operation, or something in it, may write to memory."""
    return any(inner.name.partition(".")[2] in WRITING for inner in op.walk())


def successors(block: Block) -> tuple[Block, ...]:
    return tuple(block.last_op.successors) if block.last_op is not None else ()
