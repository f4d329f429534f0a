"""Structural clean-up of regions: unreachable blocks, dead operations and block arguments, identical blocks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use

from tilewright.rewrite.control_flow import (
    disconnect,
    has_one_block,
    is_branch,
    nested_regions,
    post_order,
    successor_argument,
    successor_operands,
    with_successor_operands,
)
from tilewright.rewrite.effects import facts_of, would_be_dead


def simplify_region(region: Region, *, merge_blocks: bool) -> bool:
    """Clean up `region` and the regions nested in it. Returns whether anything changed."""
    # Blocks without neighbours have nothing to be merged with, and nothing branches to them.
    has_branches = not _has_only_single_blocks(region)
    changed = has_branches and _erase_unreachable_blocks(region)
    changed |= _remove_dead(region, _Liveness(region))
    if merge_blocks and has_branches:
        changed |= merge_identical_blocks(region)
        changed |= drop_redundant_arguments(region)
    return changed


def _has_only_single_blocks(region: Region) -> bool:
    block = region._first_block
    if block is None:
        return True
    if block is not region._last_block:
        return False
    op = block._first_op
    while op is not None:
        if op.regions:
            for nested in op.regions:
                if not _has_only_single_blocks(nested):
                    return False
        op = op._next_op
    return True


def erase_unreachable_blocks(region: Region) -> bool:
    return not _has_only_single_blocks(region) and _erase_unreachable_blocks(region)


def _erase_unreachable_blocks(region: Region) -> bool:
    changed = False
    if not has_one_block(region) and region.first_block is not None:
        reachable = set(post_order(region.first_block))
        dead = [block for block in region.blocks if block not in reachable]
        # first all of them: they may use each other's values
        for block in dead:
            disconnect(block)
        for block in dead:
            region.detach_block(block)
        changed = bool(dead)
    for nested in tuple(nested_regions(region)):
        changed |= _erase_unreachable_blocks(nested)
    return changed


class _Liveness:
    """Assumes that everything is dead until an effect, a terminator or a live user shows otherwise."""

    def __init__(self, region: Region):
        self.arguments: set[BlockArgument] = set()
        self._mortals: set[Operation] = set()
        """Those of the live operations that could have been dead: most kinds never are."""
        self._are_mortal: dict[type[Operation], bool] = {}
        self._changed = self.is_any_dead = True
        # a use in a loop may come before what it uses: go round until nothing more becomes live
        while self._changed and self.is_any_dead:
            self._changed = self.is_any_dead = False
            self._visit_region(region)

    def is_live(self, op: Operation) -> bool:
        return not facts_of(op).mortal or op in self._mortals

    def _visit_region(self, region: Region) -> None:
        first, are_mortal = region._first_block, self._are_mortal
        if first is None:
            return
        for block in (first,) if first is region._last_block else post_order(first):
            op = block._last_op
            while op is not None:
                if op.regions:
                    for nested in op.regions:
                        self._visit_region(nested)
                is_mortal = are_mortal.get(op.__class__)
                if is_mortal is None:
                    is_mortal = are_mortal[op.__class__] = facts_of(op).mortal
                if is_mortal:
                    self._visit_mortal(op)
                elif op._successors:
                    self._visit_branch(op)
                op = op._prev_op
            # arguments of an entry block belong to the operation around it
            if block is not first:
                for argument in block.args:
                    if argument not in self.arguments:
                        if self._has_live_use(argument):
                            self.arguments.add(argument)
                            self._changed = True
                        else:
                            self.is_any_dead = True

    def _visit_mortal(self, op: Operation) -> None:
        if op in self._mortals:
            return
        if would_be_dead(op) and not any(map(self._has_live_use, op.results)):
            self.is_any_dead = True
            return
        self._mortals.add(op)
        self._changed = True

    def _visit_branch(self, op: Operation) -> None:
        # what an unknown terminator passes on is unknown, so all that its successors take is live
        if not is_branch(op):
            for successor in op.successors:
                self.arguments.update(successor.args)

    def _has_live_use(self, value: SSAValue) -> bool:
        return any(self.is_live(use.operation) and not self._feeds_dead_argument(use) for use in value.uses)

    def _feeds_dead_argument(self, use: Use) -> bool:
        if not use.operation._successors:
            return False
        argument = successor_argument(use.operation, use.index)
        return argument is not None and argument not in self.arguments


def _remove_dead(region: Region, live: _Liveness) -> bool:
    """Remove operations and block arguments on which nothing observable depends, even in a cycle."""
    if region.first_block is None or not live.is_any_dead:
        return False
    changed = False
    single = has_one_block(region)
    for block in (region.first_block,) if single else post_order(region.first_block):
        if not single and block.last_op is not None:
            _drop_dead_successor_operands(block.last_op, live)
        op = block.last_op
        while op is not None:
            preceding = op.prev_op
            if live.is_live(op):
                for nested in op.regions:
                    changed |= _remove_dead(nested, live)
            else:
                changed = True
                block.erase_op(op, safe_erase=False)
            op = preceding
    for block in tuple(region.blocks)[1:]:
        for argument in tuple(block.args):
            if argument not in live.arguments:
                block.erase_arg(argument, safe_erase=False)
    return changed


def _drop_dead_successor_operands(op: Operation, live: _Liveness) -> None:
    if not is_branch(op):
        return
    kept = [
        [
            value
            for value, argument in zip(successor_operands(op, index), block.args, strict=True)
            if argument in live.arguments
        ]
        for index, block in enumerate(op.successors)
    ]
    if sum(map(len, kept)) != sum(len(successor_operands(op, index)) for index in range(len(kept))):
        with_successor_operands(op, kept)


def predecessors(block: Block) -> list[tuple[Operation, int]]:
    """Each terminator that branches to `block`, and at which of its successors."""
    return [(use.operation, use.index) for use in block.uses]


def merge_identical_blocks(region: Region) -> bool:
    """Make one block of blocks that do the same, passing as arguments the values in which they differ."""
    changed = False
    while _merge_once(region):
        changed = True
    for nested in tuple(nested_regions(region)):
        changed |= merge_identical_blocks(nested)
    return changed


def _merge_once(region: Region) -> bool:
    if has_one_block(region):
        return False
    # only blocks that lead to the same ones can be the same
    groups: dict[tuple[Block, ...], list[Block]] = {}
    for block in tuple(region.blocks)[1:]:
        successors = tuple(block.last_op.successors) if block.last_op is not None else ()
        groups.setdefault(successors, []).append(block)
    changed = False
    for blocks in groups.values():
        clusters: list[_Cluster] = []
        for block in blocks:
            if len(blocks) == 1 or any(r.first_block for op in block.ops for r in op.regions):
                continue
            # other blocks would need an argument for it as well
            if any(_is_used_outside(argument, block) for argument in block.args):
                continue
            if not any(cluster.add(block) for cluster in clusters):
                clusters.append(_Cluster(block))
        for cluster in clusters:
            changed |= cluster.merge()
    return changed


def _is_used_outside(value: SSAValue, block: Block) -> bool:
    return any(use.operation.parent is not block for use in value.uses)


def _same_operation(a: Operation, b: Operation) -> bool:
    """Whether two operations are the same but for their operands."""
    return (
        type(a) is type(b)
        and len(a.operands) == len(b.operands)
        and a.result_types == b.result_types
        and a.properties == b.properties
        and a.attributes == b.attributes
        and tuple(a.successors) == tuple(b.successors)
    )


class _Cluster:
    """Blocks that do the same as the first of them, their leader."""

    def __init__(self, leader: Block):
        self.leader = leader
        self.others: list[Block] = []
        self.differing: set[tuple[int, int]] = set()
        """Operands, as position of the operation in the block and index, that are not the same in all blocks."""

    def add(self, block: Block) -> bool:
        if [a.type for a in block.args] != [a.type for a in self.leader.args]:
            return False
        mine, theirs = list(self.leader.ops), list(block.ops)
        if len(mine) != len(theirs):
            return False
        differing: list[tuple[int, int]] = []
        matching: dict[SSAValue, SSAValue] = dict(zip(self.leader.args, block.args, strict=True))
        for position, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if not _same_operation(a, b):
                return False
            for index, (x, y) in enumerate(zip(a.operands, b.operands, strict=True)):
                if x is y:
                    continue
                x_inside, y_inside = _defining_block(x) is self.leader, _defining_block(y) is block
                if x.type != y.type or x_inside != y_inside:
                    return False
                if x_inside:
                    if matching.get(x) is not y:
                        return False
                elif not (_can_be_passed(self.leader, x) and _can_be_passed(block, y)):
                    return False
                else:
                    differing.append((position, index))
            if any(_is_used_outside(r, self.leader) for r in a.results):
                return False
            if any(_is_used_outside(r, block) for r in b.results):
                return False
            matching.update(zip(a.results, b.results, strict=True))
        self.differing.update(differing)
        self.others.append(block)
        return True

    def merge(self) -> bool:
        if not self.others:
            return False
        blocks = [self.leader, *self.others]
        if self.differing:
            if not all(is_branch(op) for block in blocks for op, _ in predecessors(block)):
                return False
            self._pass_differing_operands(blocks)
        for block in self.others:
            for op, index in predecessors(block):
                op.successors[index] = self.leader
            disconnect(block)
            if block.parent is not None:
                block.parent.detach_block(block)
        return True

    def _pass_differing_operands(self, blocks: Sequence[Block]) -> None:
        bodies = [list(block.ops) for block in blocks]
        places = sorted(self.differing)
        columns = [tuple(body[position].operands[index] for body in bodies) for position, index in places]
        first_with_value: dict[SSAValue, int] = {}
        arguments: dict[int, BlockArgument] = {}
        passed: list[tuple[SSAValue, ...]] = []
        for number, column in enumerate(columns):
            # operands that are equal in every block share an argument
            earlier = first_with_value.setdefault(column[0], number)
            if earlier != number and columns[earlier] == column:
                arguments[number] = arguments[earlier]
            else:
                arguments[number] = self.leader.insert_arg(column[0].type, len(self.leader.args))
                passed.append(column)
        for number, (position, index) in enumerate(places):
            bodies[0][position].operands[index] = arguments[number]
        for which, block in enumerate(blocks):
            for op, index in predecessors(block):
                lists = [list(successor_operands(op, i)) for i in range(len(op.successors))]
                lists[index] += [column[which] for column in passed]
                with_successor_operands(op, lists)


def _defining_block(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def _can_be_passed(block: Block, value: SSAValue) -> bool:
    """A result of the terminator that branches to `block` does not exist before the branch."""
    if not isinstance(value, OpResult) or value.op.parent is None or value.op is not value.op.parent.last_op:
        return True
    return all(op is not value.op for op, _ in predecessors(block))


def drop_redundant_arguments(region: Region) -> bool:
    """Replace block arguments that receive the same value from every predecessor by that value."""
    changed = False
    for block in region.blocks:
        # from the last, so that erasing one does not renumber those to come
        for argument in reversed(block.args):
            value = _common_value(block, argument.index)
            if value is None:
                continue
            argument.replace_all_uses_with(value)
            for op, index in predecessors(block):
                lists = [list(successor_operands(op, i)) for i in range(len(op.successors))]
                del lists[index][argument.index]
                with_successor_operands(op, lists)
            block.erase_arg(argument)
            changed = True
    for nested in tuple(nested_regions(region)):
        changed |= drop_redundant_arguments(nested)
    return changed


def _common_value(block: Block, index: int) -> SSAValue | None:
    common: SSAValue | None = None
    for op, successor in predecessors(block):
        if not is_branch(op):
            return None
        value = successor_operands(op, successor)[index]
        if common is not None and value is not common:
            return None
        common = value
    return common
