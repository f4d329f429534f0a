"""The order in which the blocks of a region are translated, and whether they go round."""

from __future__ import annotations

from xdsl.ir import Block, Region


def reverse_postorder(region: Region) -> list[Block]:
    """Blocks that can be reached, each after all that dominate it."""
    entry = region.blocks.first
    assert entry is not None, "the region has a body"
    found: list[Block] = []
    seen = {entry}
    path = [(entry, iter(_successors(entry)))]
    while path:
        block, rest = path[-1]
        for following in rest:
            if following not in seen:
                seen.add(following)
                path.append((following, iter(_successors(following))))
                break
        else:
            found.append(block)
            path.pop()
    return found[::-1]


def goes_round(region: Region) -> bool:
    """Whether blocks of a region can run more than once."""
    order = {block: number for number, block in enumerate(reverse_postorder(region))}
    return any(order[after] <= number for block, number in order.items() for after in _successors(block))


def _successors(block: Block) -> tuple[Block, ...]:
    return tuple(block.last_op.successors) if block.last_op is not None else ()
