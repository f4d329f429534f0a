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
        _collect(root, None, found)
    elif type(root) is Region:
        _collect(root._first_block, root, found)
    elif isinstance(root, Operation):
        found.append(root)
        for region in root.regions:
            _collect(region._first_block, region, found)
    return found


def _collect(block: Block | None, region: Region | None, found: list[Operation]) -> None:
    """Collect from a block and, where a region is given, from those that follow it in that."""
    append = found.append
    # the fields behind xDSL's properties, which are functions: this is done for all operations by most passes
    while block is not None:
        op = block._first_op
        while op is not None:
            append(op)
            if op.regions:
                for nested in op.regions:
                    _collect(nested._first_block, nested, found)
            op = op._next_op
        block = None if region is None else block._next_block


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
