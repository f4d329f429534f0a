"""Which blocks come before which on every way through a region."""

from __future__ import annotations

from xdsl.ir import Block, Region


def dominator_preorder(region: Region) -> tuple[list[tuple[Block, int]], list[Block]]:
    """The blocks of the dominator tree in preorder, each with its depth, and the blocks that nothing leads to."""
    order = _reverse_postorder(region.blocks[0])
    parent = _immediate_dominators(order)
    children: list[list[int]] = [[] for _ in order]
    for index in range(len(order) - 1, 0, -1):
        children[parent[index]].append(index)
    tree = list[tuple[Block, int]]()
    pending = [(0, 0)]
    while pending:
        index, depth = pending.pop()
        tree.append((order[index], depth))
        pending += [(child, depth + 1) for child in children[index]]
    reached = set(map(id, order))
    return tree, [block for block in region.blocks if id(block) not in reached]


def _successors(block: Block) -> list[Block]:
    return list(block.last_op.successors) if block.last_op else []


def _reverse_postorder(entry: Block) -> list[Block]:
    finished = list[Block]()
    seen = {id(entry)}
    path = [(entry, iter(_successors(entry)))]
    while path:
        block, left = path[-1]
        following = next((s for s in left if id(s) not in seen), None)
        if following is None:
            finished.append(block)
            path.pop()
        else:
            seen.add(id(following))
            path.append((following, iter(_successors(following))))
    return finished[::-1]


def _immediate_dominators(order: list[Block]) -> list[int]:
    """For each block in reverse postorder the position of its immediate dominator (Cooper, Harvey and Kennedy 2001)."""
    position = {id(block): index for index, block in enumerate(order)}
    before: list[list[int]] = [[] for _ in order]
    for index, block in enumerate(order):
        for successor in _successors(block):
            before[position[id(successor)]].append(index)
    parent = [0] + [-1] * (len(order) - 1)
    changed = True
    while changed:
        changed = False
        for index in range(1, len(order)):
            known = [p for p in before[index] if parent[p] >= 0]
            common = known[0]
            for other in known[1:]:
                while common != other:
                    if common > other:
                        common = parent[common]
                    else:
                        other = parent[other]
            if parent[index] != common:
                parent[index], changed = common, True
    return parent
