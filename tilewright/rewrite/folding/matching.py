"""Looking at what defines a value."""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Operation, OpResult, SSAValue

OpT = TypeVar("OpT", bound=Operation)


def defining(value: SSAValue, cls: type[OpT]) -> OpT | None:
    """The operation that defines `value`, if it is a `cls`."""
    return value.op if isinstance(value, OpResult) and isinstance(value.op, cls) else None
