"""Walks over operations that cost little: xDSL's own are generators within generators, as deep as the program is."""

from __future__ import annotations

from xdsl.ir import Operation, Region


def all_operations(root: Operation | Region) -> list[Operation]:
    """An operation and all that is nested in it, or all in a region, each before what is inside it.

    A list: the program may change while it is gone through.
    """
    found: list[Operation] = []
    if isinstance(root, Operation):
        found.append(root)
        for region in root.regions:
            _collect(region, found)
    else:
        _collect(root, found)
    return found


def _collect(region: Region, found: list[Operation]) -> None:
    block = region.first_block
    while block is not None:
        op = block.first_op
        while op is not None:
            found.append(op)
            for nested in op.regions:
                _collect(nested, found)
            op = op.next_op
        block = block.next_block
