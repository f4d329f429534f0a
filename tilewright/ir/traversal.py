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
                _collect(region, found)
        case Region():
            _collect(root, found)
        case Block():
            _collect_block(root, found)
    return found


def _collect(region: Region, found: list[Operation]) -> None:
    block = region.first_block
    while block is not None:
        _collect_block(block, found)
        block = block.next_block


def _collect_block(block: Block, found: list[Operation]) -> None:
    # the fields behind xDSL's properties, which are functions: this is done for all operations by most passes
    op = block._first_op
    while op is not None:
        found.append(op)
        for region in op.regions:
            _collect(region, found)
        op = op._next_op
