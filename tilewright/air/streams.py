"""Channels within a block: what is put into one lies in memory of the device, in order, until it is got.

A channel is a stream: what is got at a time may be more or less than what was put at a time. It has room for all that a
block puts into it, so that no put waits; a get waits for what has not come yet.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import BlockArgument, OpResult, SSAValue

from tilewright.air.arrays import Array, Region, Size, buffer_type, product_of, short_name
from tilewright.air.atomics import atomic_load, atomic_store, atomic_wait
from tilewright.air.block_memory import allocated, before_launch, block_number, launch_memory
from tilewright.air.dtypes import DType, i64
from tilewright.air.tile_axes import meet
from tilewright.air.tile_transfers import copy_elements, load, store_tile
from tilewright.air.tiles import Buffer, Tile, workers_here
from tilewright.air.trace import OpenLevel, at_start, current
from tilewright.air.waves import barrier, thread_numbers
from tilewright.dialects import memref as ops
from tilewright.dialects import scf
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.types import MemorySpace
from tilewright.ir.diagnostics import location_of
from tilewright.iron import math
from tilewright.iron.builders.arithmetic import constant_of
from tilewright.iron.builders.control import for_, if_
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.builders.operations import InsertionPoint, is_inside
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.iron.builders.types import is_integer
from tilewright.support.tracebacks import user_facing


@user_facing
class Message(Array):
    """What is next in a stream, as an array: `first` elements of row `row` of its room lie before it."""

    def __init__(self, room: Array, row: Any, first: Any, shape: Sequence[Size]):
        super().__init__(room.ssa, room.dtype, shape)
        self._row, self._first = row, first

    def indices(self, keys: Sequence[Any]) -> list[SSAValue]:
        place = as_index(self._first)
        for key, stride in zip(keys, self.strides, strict=True):
            place = place + as_index(key) * stride
        return [as_index(self._row).ssa, place.ssa]


@dataclass
class Lanes:
    """Those that put or get together: a wave of a herd, or all of the block."""

    number: ScalarValue
    count: Any

    @classmethod
    def here(cls) -> Lanes:
        if current().inner("herd") is None:
            return cls(*thread_numbers())
        workers = workers_here()
        return cls(workers.number, workers.count)

    def meet(self) -> None:
        if current().inner("herd") is None:
            barrier()
        else:
            meet()

    def set(self, counts: Array, number: Any, value: Any, order: str) -> None:
        """One of them sets a count, when all have done what it counts."""
        self.meet()
        with if_(self.number == 0, hasElse=False):
            atomic_store(counts, number, value, order, "block")


class Stream:
    """Channels of one name in a launch, for elements of a `dtype`: `puts` of them, from which `gets` ends get."""

    def __init__(self, name: str, dtype: DType, puts: int, gets: int):
        self.name, self.dtype, self._puts = name, dtype, puts
        launch = current().inner("launch")
        assert launch is not None, "channels are in kernels"
        self._launch = launch
        with before_launch(launch) as blocks:
            rows = blocks * puts
            # how long they are is known when all of the launch is
            self._alloc = launch_memory(launch, buffer_type([rows, rows], dtype), [rows, as_index(0)])
        self._room = Array(self._alloc.memref, dtype, (rows, rows))
        self._most: list[Size] = [0] * puts
        self._written, self._taken = at_start(
            launch.block, lambda: (_zeros(launch, puts, f"{name}_put"), _zeros(launch, gets, f"{name}_got"))
        )

    def put(self, given: Tile | Region, number: Any) -> None:
        """Store a tile, or a part of an array, behind what was put into channel `number` before."""
        self._check_waves("put into", number)
        lanes = Lanes.here()
        self._make_room(number, given.shape)
        lanes.meet()
        before = atomic_load(self._written, number, "relaxed", "block")
        message = self._message(number, before, given.shape)
        if isinstance(given, Tile):
            store_tile(given, message)
        else:
            copy_elements(message, given, lanes.number, lanes.count)
        lanes.set(self._written, number, before + _count(given.shape), "release")

    def get(self, target: Buffer | Region, number: Any, end: Any) -> None:
        """Wait for as much as a buffer, or a part of an array, takes of channel `number`, behind what its `end` got."""
        self._check_waves("get from", end)
        self._check_put(number)
        lanes = Lanes.here()
        lanes.meet()
        before = atomic_load(self._taken, end, "relaxed", "block")
        behind = before + _count(target.shape)
        atomic_wait(self._written, number, lambda seen: seen >= behind, scope="block")
        message = self._message(number, before, target.shape)
        if isinstance(target, Buffer):
            target[:] = load(message, like=target)
        else:
            copy_elements(target, message, lanes.number, lanes.count)
        lanes.set(self._taken, end, behind, "relaxed")

    def _message(self, number: Any, before: Any, shape: Sequence[Size]) -> Region:
        row = block_number(self._launch) * self._puts + number
        return Region.whole(Message(self._room, row, before, shape))

    def _check_put(self, number: Any) -> None:
        """Refuse to wait for what is never put.

        What a herd gets is put before it ends, all else before it is got.
        """
        herd, place = current().inner("herd"), user_location()

        def check() -> None:
            numbers = [number] if is_integer(number) else range(self._puts)
            if all(is_integer(self._most[each]) and self._most[each] == 0 for each in numbers):
                refuse(
                    f"nothing of {short_name(self.dtype)} has been put into channel {self.name}",
                    (None, "what a block does goes in the order of the program: put first"),
                    at=place,
                )

        if herd is None:
            check()
        else:
            herd.checks.append(check)

    def _check_waves(self, what: str, number: Any) -> None:
        """Refuse several waves at one end, as far as it can be seen."""
        herd = current().inner("herd")
        if herd is None or herd.workers is None or herd.workers.waves > 1 or herd.workers.block_waves == 1:
            return
        op = InsertionPoint.current.block.parent_op()
        while op is not None and op is not herd.op:
            if isinstance(op, scf.IfOp):
                return
            op = op.parent_op()
        ids = cast(Hierarchy, herd.op).ids
        if is_integer(number) or not _depends(ssa_of(number), ids):
            refuse(
                f"all {herd.workers.block_waves} waves of this herd {what} one end of channel {self.name}",
                (None, "make an array of channels, `size=[n]`, and give each wave its own: `indices=[tx]`"),
            )

    def _make_room(self, number: Any, shape: Sequence[Size]) -> None:
        """For so many elements more of a channel, or of each if it is not known which one it is."""
        loops = self._loops()
        with InsertionPoint(self._alloc):
            sizes = [*map(self._on_host, shape), *map(self._turns, loops)]
            total = product_of(sizes)
            for each in [number] if is_integer(number) else range(self._puts):
                self._most[each] = total + self._most[each]
            most = self._most[0]
            for other in self._most[1:]:
                known = is_integer(most) and is_integer(other)
                most = max(most, other) if known else math.maximum(as_index(most), as_index(other))
            self._alloc.operands = [self._alloc.operands[0], as_index(most).ssa]

    def _loops(self) -> list[scf.ForOp]:
        """Loops of the launch around what is built."""
        found, op = list[scf.ForOp](), InsertionPoint.current.block.parent_op()
        while op is not None and op is not self._launch.op:
            if isinstance(op, scf.ForOp):
                found.append(op)
            elif isinstance(op, scf.WhileOp):
                self._refuse_open(op)
            op = op.parent_op()
        return found

    def _turns(self, loop: scf.ForOp) -> Size:
        first, last, step = (self._on_host(ScalarValue(bound)) for bound in (loop.lb, loop.ub, loop.step))
        if is_integer(first) and is_integer(last) and is_integer(step):
            return len(range(first, last, step))
        return math.maximum((as_index(last) - first + (as_index(step) - 1)) // step, 0)

    def _on_host(self, size: Size) -> Size:
        """A number of the kernel as the host computes it."""
        if is_integer(size):
            return size
        known = constant_of(ssa_of(size))
        return ScalarValue(self._computed(ssa_of(size))) if known is None else int(known)

    def _computed(self, value: SSAValue) -> SSAValue:
        if not isinstance(value, OpResult):
            argument = cast(BlockArgument, value)
            level = argument.block.parent_op()
            if not is_inside(argument.block, self._launch.block):
                return value
            outer = level.tied_operand(argument) if isinstance(level, Hierarchy) else None
            return self._refuse_open(value) if outer is None else self._computed(outer)
        op = value.op
        if not is_inside(op.parent, self._launch.block):
            return value
        if not isinstance(op, ops.DimOp | UnrealizedConversionCastOp) and not op.name.startswith("arith."):
            self._refuse_open(value)
        copy = op.clone()
        copy.operands = [self._computed(operand) for operand in op.operands]
        copy.location = op.location
        InsertionPoint.current.insert(copy)
        return copy.results[value.index]

    def _refuse_open(self, place: Any) -> NoReturn:
        refuse(
            f"how much a block puts into channel {self.name} is not known before the launch",
            (location_of(place), "it depends on this"),
            (None, "give loops around it bounds that the host knows"),
        )


def _depends(value: SSAValue, on: Collection[BlockArgument]) -> bool:
    """Whether a value is computed from one of others."""
    if isinstance(value, OpResult):
        return any(_depends(operand, on) for operand in value.op.operands)
    argument = cast(BlockArgument, value)
    loop = argument.block.parent_op()
    return argument in on or (isinstance(loop, scf.ForOp) and any(_depends(each, on) for each in loop.operands))


def _count(shape: Sequence[Size]) -> Any:
    total = product_of(shape)
    return total if is_integer(total) else total.astype(i64)


def _zeros(launch: OpenLevel, count: int, name: str) -> Array:
    """Numbers of a block, all 0 before anything else is done; messages about hangs have the name."""
    made = Array(allocated(launch, (count,), i64, MemorySpace.L2), i64, (count,))
    made.ssa.name_hint = name
    number, lanes = thread_numbers()
    for place in for_(number, count, lanes):
        made[place] = 0
    barrier()
    return made
