"""Walks over operations that cost little: xDSL's own are generators within generators, as deep as the program is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TypeVar, cast

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Block, Operation, Region

OpT = TypeVar("OpT", bound=Operation)


def all_operations(root: Operation | Region | Block) -> list[Operation]:
    """An operation and all that is nested in it, or all in a region or block, each before what is inside it.

    A list: the program may change while it is gone through.
    """
    found: list[Operation] = []
    # these two have no subclasses: asked of an operation, which class it is costs more than all the rest
    if type(root) is Block:
        _collect_block(root, found)
    elif type(root) is Region:
        _collect(root, found)
    elif isinstance(root, Operation):
        found.append(root)
        for region in root.regions:
            _collect(region, found)
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


def ops_of(ops: Iterable[Operation], *kinds: type[OpT]) -> list[OpT]:
    """The operations of some kinds, in order; a list, so that the program may change while it is gone through."""
    found, is_wanted = list[OpT](), _answers(kinds)
    for op in ops:
        wanted = is_wanted.get(op.__class__)
        if wanted is None:
            wanted = isinstance(op, kinds)
            # each that is not registered has a class of its own: remembering them would leak
            if not isinstance(op, UnregisteredOp):
                is_wanted[op.__class__] = wanted
        if wanted:
            found.append(cast(OpT, op))
    return found


@cache
def _answers(kinds: tuple[type[Operation], ...]) -> dict[type[Operation], bool]:
    """Whether a class is one of these kinds: they are abstract classes, of which Python asks slowly."""
    return {}
