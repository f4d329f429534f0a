"""A runtime sequence under construction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from xdsl.dialects.builtin import LocationAttr, UnrealizedConversionCastOp
from xdsl.ir import Block, Operation

from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.aiex.instructions import NpuBlockWriteOp, NpuMaskWrite32Op, NpuWrite32Op
from tilewright.errors import Error
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.runtime._context import active_sequence_scope
from tilewright.iron.runtime.data import RuntimeData
from tilewright.iron.runtime.taskgroup import TaskGroup

if TYPE_CHECKING:
    from tilewright.iron.dataflow.handle import ObjectFifoHandle
    from tilewright.iron.dataflow.objectfifo import ObjectFifo
    from tilewright.iron.scratchpad_parameter import ScratchpadParameter


class IronRuntimeError(Error):
    """Kept for programs that catch it: what is wrong with a sequence is a `UsageError`."""


class _Moved(NamedTuple):
    """A transfer: which buffer, how much of it if that is known, and by which line."""

    data: RuntimeData
    size_bytes: int | None
    where: LocationAttr


class ActiveSequence:
    """What transfers and task groups in a sequence's body add to.

    A sequence is built inside its device, or by itself before there is one; what refers to parts of the device has to
    wait then, see `later`.
    """

    def __init__(self, arguments: Sequence[Any], strict: bool, in_device: bool):
        self.data = [argument for argument in arguments if isinstance(argument, RuntimeData)]
        self.fifos = dict["ObjectFifoHandle", None]()
        self.parameters = dict["ScratchpadParameter", None]()
        self.delayed = dict[Operation, Callable[[], None]]()
        self._strict, self._in_device = strict, in_device
        self._numbers = count()
        self._open = list[TaskGroup]()
        self._uses = dict[bool, LocationAttr]()
        self._moved = dict["ObjectFifo", list[_Moved]]()
        self._body: Block = InsertionPoint.current.block
        # a group asks for the sequence that it is in
        with active_sequence_scope(self):
            self._default = TaskGroup(next(self._numbers))

    def open_group(self, group: TaskGroup) -> int:
        self._open.append(group)
        return next(self._numbers)

    def close_group(self, group: TaskGroup) -> None:
        if group in self._open:
            self._open.remove(group)

    def enroll(self, task: Any, wait: bool, group: TaskGroup | None) -> None:
        """Let a group, or the sequence itself, wait for a transfer and free it."""
        self._uses.setdefault(group is None, user_location())  # the first of either kind, for `_check_groups`
        (group or self._default).add(task, wait)

    def count(self, fifo: ObjectFifo, data: RuntimeData, size_bytes: int | None) -> None:
        """Note how much a transfer moves; None if that is known only at run time, or how often it is made."""
        once = InsertionPoint.current.block is self._body  # not in a loop or a choice
        self._moved.setdefault(fifo, []).append(_Moved(data, size_bytes if once else None, user_location()))

    def later(self, action: Callable[[], None]) -> None:
        """Build something that refers to parts of the device: now if there is one, else when there is."""
        if self._in_device:
            action()
            return
        # an operation without operands or results keeps the place in the body
        marker = UnrealizedConversionCastOp.create(location=user_location())
        InsertionPoint.current.insert(marker)
        self.delayed[marker] = action

    def finish(self) -> None:
        """End the sequence: everything in it is waited for and freed."""
        self._check_groups()
        self._check_amounts()
        self._default.emit_end(at_transfers=True)

    def _check_groups(self) -> None:
        for group in self._open:
            remedy = "call its finish() where its transfers have to be done"
            refuse(f"Failed to close task groups: {group}", (None, remedy), at=group.where)
        if self._strict and len(self._uses) == 2:
            refuse(
                "Mixing explicit task groups and the default task group is prohibited. "
                "Please assign all tasks to a task group.",
                (self._uses[False], "this transfer is in a group"),
                at=self._uses[True],
            )

    def _check_amounts(self) -> None:
        """Whole objects go through a fifo, else its other end waits for the rest; element types need not agree."""
        # registers may make a DMA compress: how much goes through is the program's to know then
        if any(isinstance(op, NpuWrite32Op | NpuMaskWrite32Op | NpuBlockWriteOp) for op in self._body.walk()):
            return
        for fifo, moved in self._moved.items():
            amounts = [transfer.size_bytes for transfer in moved if transfer.size_bytes is not None]
            object_bytes = prod(fifo.shape) * element_bytes(fifo.memref_type)
            # only a sum of known amounts can be wrong
            if len(amounts) < len(moved) or sum(amounts) % object_bytes == 0:
                continue
            # counted in elements where both sides have the same, else in bytes
            data, total, size, unit = moved[-1].data, sum(amounts), object_bytes, "bytes"
            if element_bytes(data.memref_type) == (width := element_bytes(fifo.memref_type)):
                total, size, unit = total // width, size // width, "elements"
            refuse(
                f"{total} {unit} go through '{fifo.name}', which is no multiple of the {size} {unit} of its objects",
                (fifo.where, f"an object is {fifo.memref_type}, and this moves {data}"),
                (None, "move whole objects, or give the fifo smaller ones"),
                at=moved[-1].where,
            )
