"""Where the next operation goes."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from tilewright.iron.builders.location import refuse

if TYPE_CHECKING:
    from types import TracebackType

_stack: ContextVar[tuple[InsertionPoint, ...]] = ContextVar("insertion points", default=())


class _Current(type):
    @property
    def current(cls) -> InsertionPoint:
        """The insertion point of the innermost `with`."""
        stack = _stack.get()
        if not stack:
            refuse(
                "there is no module to build in",
                (None, "put this inside `with mlir_mod_ctx() as ctx:` or a device's body"),
            )
        return stack[-1]


class InsertionPoint(metaclass=_Current):
    """A place in a block: its end, or right before an operation; `with` makes it the current one."""

    def __init__(self, where: Any):
        """At the end of a block, or before an operation."""
        where = getattr(where, "block", where)
        where = getattr(where, "op", where)
        self.before: Operation | None = where if isinstance(where, Operation) else None
        found = self.before.parent if self.before is not None else where
        if not isinstance(found, Block):
            refuse(f"expected a block or an operation in one to insert at, not {where!r}")
        self.block: Block = found

    @classmethod
    def at_block_begin(cls, block: Block) -> InsertionPoint:
        return cls(block if block.first_op is None else block.first_op)

    @classmethod
    def at_block_terminator(cls, block: Block) -> InsertionPoint:
        """Before the block's terminator, at its end if it has none yet."""
        last = block.last_op
        ends = last is not None and last.has_trait(IsTerminator, value_if_unregistered=False)
        return cls(last if ends else block)

    def insert(self, op: Operation) -> None:
        if self.before is not None:
            self.block.insert_op_before(op, self.before)
        else:
            self.block.add_op(op)

    def __enter__(self) -> InsertionPoint:
        _stack.set((*_stack.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave it, and all that were entered since: an error in a `range_` loop leaves the loop's only when the loop
        is forgotten, which may be long after."""
        stack = _stack.get()
        if self in stack:
            _stack.set(stack[: stack.index(self)])


def is_building() -> bool:
    """Whether there is a current insertion point."""
    return bool(_stack.get())
