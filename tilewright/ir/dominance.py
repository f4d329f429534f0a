"""Whether values are defined before they are used, on every way through a region."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue


def first_misuse(
    root: Operation, is_isolated: Callable[[Operation], bool], is_graph: Callable[[Operation], bool]
) -> tuple[Operation, int] | None:
    """The first operation inside `root`, and its operand, that uses a value which is not defined before.

    Isolated operations inside are left out. In the regions of a graph operation, order does not matter.
    """
    return _Uses(root, is_isolated, is_graph).find()


class _Region:
    """The regions of an operation on the way through them: what comes next, and what can be seen."""

    __slots__ = "at", "blocks", "marks", "op", "reached"

    def __init__(self, op: Operation, reached: bool, visible: int):
        self.op, self.reached = op, reached
        self.blocks = _order(op.regions, reached)
        """Blocks to come, last one first, with depth in the dominator tree, and whether anything leads to them."""
        self.marks = [visible]
        """How many values were visible before the block of each depth on the way to the current one."""
        self.at: Operation | None = None


def _order(regions: Sequence[Region], reached: bool) -> list[tuple[Block, int, bool]]:
    order = list[tuple[Block, int, bool]]()
    for region in regions:
        entry = region._first_block
        # One block or none: no tree to be made.
        if entry is region._last_block:
            order += [(entry, 0, reached)] if entry else []
            continue
        tree, unreached = dominator_preorder(region)
        order += [(block, depth, reached) for block, depth in tree]
        # What nothing leads to may use anything: every path there dominates it, as there is none.
        order += [(block, 0, False) for block in unreached]
    order.reverse()
    return order


class _Uses:
    """Walks through a program in the order of its dominator trees, keeping the set of values that may be used."""

    def __init__(
        self, root: Operation, is_isolated: Callable[[Operation], bool], is_graph: Callable[[Operation], bool]
    ):
        self.root, self.is_isolated, self.is_graph = root, is_isolated, is_graph
        self.visible = set[int]()
        """Identities of the values that may be used here."""
        self.trail = list[int]()
        """The same values in the order in which they became visible."""

    def find(self) -> tuple[Operation, int] | None:
        stack = [_Region(self.root, True, 0)]
        while stack:
            place = stack[-1]
            op = self._go_on(place)
            if isinstance(op, tuple):
                return op
            if op is not None:
                stack.append(_Region(op, place.reached, len(self.trail)))
            elif place.blocks:
                self._start_block(place)
            else:
                stack.pop()
                self._hide(place.marks[0])
                self._show(place.op.results)
        return None

    def _go_on(self, place: _Region) -> Operation | tuple[Operation, int] | None:
        """Walk to the end of the block, to an operation whose regions come next, or to a misuse."""
        op, visible, trail = place.at, self.visible, self.trail
        while op is not None:
            for operand in op._operands:
                if id(operand) not in visible and place.reached and self._is_misuse(operand):
                    return op, op._operands.index(operand)
            # Its results become visible when its regions are done, not inside them.
            if op.regions and not self.is_isolated(op):
                place.at = op._next_op
                return op
            for result in op.results:
                visible.add(id(result))
                trail.append(id(result))
            op = op._next_op
        place.at = None
        return None

    def _is_misuse(self, value: SSAValue) -> bool:
        """What is defined around an operation that is not isolated may be used in it; that is for others to check."""
        return self.is_isolated(self.root) or self.root.is_ancestor(value.owner)

    def _start_block(self, place: _Region) -> None:
        block, depth, place.reached = place.blocks.pop()
        place.at = block._first_op
        # One level down the tree; else back up to the block's dominator, hiding what came since.
        if depth == len(place.marks):
            place.marks.append(len(self.trail))
        else:
            self._hide(place.marks[depth])
            del place.marks[depth + 1 :]
        self._show(block._args)
        # Order does not count there, so all results are visible from the start.
        if self.is_graph(place.op):
            for op in block.ops:
                self._show(op.results)

    def _show(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            self.visible.add(id(value))
            self.trail.append(id(value))

    def _hide(self, keep: int) -> None:
        self.visible.difference_update(self.trail[keep:])
        del self.trail[keep:]


def dominator_preorder(region: Region) -> tuple[list[tuple[Block, int]], list[Block]]:
    """The blocks of the dominator tree in preorder, each with its depth, and the blocks that nothing leads to."""
    order = _reverse_postorder(region.blocks[0])
    parent = _immediate_dominators(order)
    children: list[list[int]] = [[] for _ in order]
    # Backwards, so that the stack below gives children in their order.
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
