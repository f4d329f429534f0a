"""The operations that stand around one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from xdsl.ir import Operation

OpT = TypeVar("OpT", bound=Operation)


def ancestors(op: Operation) -> Iterator[Operation]:
    """The operations around `op`, innermost first."""
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def parent_of_type(op: Operation, kind: type[OpT]) -> OpT | None:
    """The closest operation of some class around `op`."""
    # the fields behind `parent_op`, which is three functions: this is asked of most operations
    block = op.parent
    while block is not None:
        region = block.parent
        parent = None if region is None else region.parent
        if parent is None:
            return None
        if isinstance(parent, kind):
            return parent
        block = parent.parent
    return None
