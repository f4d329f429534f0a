"""Walks over operations that cost little: xDSL's own are generators within generators, as deep as the program is."""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region


def all_operations(root: Operation | Region | Block) -> list[Operation]:
    """An operation and all that is nested in it, or all in a region or block, each before what is inside it.

    A list: the program may change while it is gone through.
    """
    found: list[Operation] = []
    match root:
        case Operation():
            found.append(root)
            for region in root.regions:
                _collect(region.first_block, found)
        case Region():
            _collect(root.first_block, found)
        case Block():
            _collect_block(root, found)
    return found


def _collect(first: Block | None, found: list[Operation]) -> None:
    while first is not None:
        _collect_block(first, found)
        first = first.next_block


def _collect_block(block: Block, found: list[Operation]) -> None:
    op = block.first_op
    while op is not None:
        found.append(op)
        for region in op.regions:
            _collect(region.first_block, found)
        op = op.next_op
