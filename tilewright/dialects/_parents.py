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
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, kind):
        parent = parent.parent_op()
    return parent
