"""Runtimes: what the host does, as a sequence of transfers between its buffers and the array."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr, i32
from xdsl.ir import Block

from tilewright.ir.diagnostics import shortened
from tilewright.iron.buffer import Buffer
from tilewright.iron.builders.location import UsageError, at, refuse, user_location
from tilewright.iron.builders.operations import InsertionPoint, bind
from tilewright.iron.builders.scalars import constant
from tilewright.iron.builders.types import is_array_type, is_type
from tilewright.iron.dataflow.handle import ObjectFifoHandle
from tilewright.iron.resolvable import Resolvable
from tilewright.iron.runtime._context import active_sequence, active_sequence_scope
from tilewright.iron.runtime.argument_names import parameter_names, with_target_names
from tilewright.iron.runtime.data import argument
from tilewright.iron.runtime.dispatch import argument_names
from tilewright.iron.runtime.dmataskhandle import Task
from tilewright.iron.runtime.endpoint import RuntimeEndpoint
from tilewright.iron.runtime.parameters import write_parameter
from tilewright.iron.runtime.sequence import ActiveSequence
from tilewright.iron.runtime.taskgroup import TaskGroup
from tilewright.iron.runtime.written import WrittenSequence, sequence_op
from tilewright.iron.tracing import Tracing
from tilewright.iron.worker import Worker, WorkerRuntimeBarrier, flat
from tilewright.support.tracebacks import user_facing

if TYPE_CHECKING:
    from tilewright.iron.dataflow.flow import Flow, PacketFlow
    from tilewright.iron.dataflow.tile_dma import TileDma
    from tilewright.iron.device.tile import Tile
    from tilewright.iron.lock import Lock
    from tilewright.iron.scratchpad_parameter import ScratchpadParameter

IronRuntimeError = UsageError
MOST_BUFFERS = 5
"""XRT's kernels have so many arguments that are buffers, numbered from 0."""
BEHIND_LAST_OUTPUT = -1


@user_facing
class Runtime(Resolvable):
    """What the host has done when it runs a program: fill ObjectFifos from its buffers, drain others into them.

    The sequence is a function: `Runtime(function, fn_args)`. Array types among `fn_args` are buffers of the host,
    scalar types numbers that it gives at run time, Python integers numbers that are known now; everything else, ends
    of ObjectFifos above all, is handed on. The function's parameters give the sequence's arguments their names.

    Or it is written in place: `with rt.sequence(types) as (A, B):`, with `rt.fill`, `rt.drain` and `rt.start`.
    """

    def __init__(
        self,
        seq_fn: Callable[..., Any] | None = None,
        fn_args: Sequence[Any] | None = None,
        *,
        strict_task_groups: bool = True,
    ) -> None:
        """What the host does.

        Args:
            seq_fn: the sequence; called once, when the program is built
            fn_args: what it is called with: types of its arguments, ends of ObjectFifos, and anything else
            strict_task_groups: either all transfers are in task groups or none
        """
        self.where: LocationAttr = user_location()
        self._function = seq_fn
        self._fn_args = list(fn_args or ())
        self._strict = strict_task_groups
        self._written: WrittenSequence | None = None
        self._handles = dict[ObjectFifoHandle, None]()
        self.flows = list["Flow | PacketFlow"]()
        self.locks = list["Lock"]()
        self.tile_dmas = list["TileDma"]()
        self.workers = list[Worker]()
        self.parameters = list["ScratchpadParameter"]()
        self.tracing: Tracing | None = None
        for arg in flat(self._fn_args):
            if isinstance(arg, ObjectFifoHandle):
                self._take(arg)

    def __repr__(self) -> str:
        function = getattr(self._function, "__name__", None)
        ends = shortened(", ".join(map(str, self._handles)))
        return f"<Runtime {function or 'written in place'}: {ends or 'no ObjectFifos'}>"

    def _take(self, handle: ObjectFifoHandle, tile: Tile | None = None) -> None:
        """Be at this end of an ObjectFifo."""
        # asked again without a tile, an end stays where it is
        if handle.endpoint is None or tile is not None:
            handle.endpoint = RuntimeEndpoint(tile or handle.shim_tile)
        self._handles[handle] = None

    @property
    def fifos(self) -> list[ObjectFifoHandle]:
        """The ends of ObjectFifos that the sequence fills and drains."""
        return list(self._handles)

    def add_flow(self, flow: Flow | PacketFlow) -> None:
        """Make a route, the `flow`, part of the program."""
        self.flows.append(flow)

    def add_lock(self, lock: Lock) -> None:
        """Make a `lock` part of the program."""
        self.locks.append(lock)

    def add_tile_dma(self, tile_dma: TileDma) -> None:
        """Make a tile's DMA program, the `tile_dma`, part of the program."""
        self.tile_dmas.append(tile_dma)

    def tiles(self) -> list[Tile]:
        return []

    @contextmanager
    def sequence(self, *input_types: Any) -> Generator[Any]:
        """Write the sequence: gives what stands for its arguments, for array types buffers, for others numbers."""
        if self._function is not None or self._written is not None:
            refuse("a Runtime has one sequence", (self.where, "make another Runtime"))
        with self._writing(input_types, with_target_names(len(input_types))) as arguments:
            yield arguments[0] if len(arguments) == 1 else tuple(arguments)

    @classmethod
    def of_function(cls, function: Callable[..., Any], arg_types: Sequence[Any]) -> Runtime:
        """What a `function` of arguments of the types `arg_types` does; it knows ends of ObjectFifos from elsewhere.

        It is called now: which ObjectFifos it uses is not known before.
        """
        runtime = cls()
        names = parameter_names(function, len(arg_types))
        with at(runtime.where):
            bind(function, list(arg_types), {}, f"arg_types do not fit '{getattr(function, '__name__', function)}'")
        with runtime._writing(arg_types, argument_names(arg_types, names)) as arguments:
            function(*arguments)
        return runtime

    @contextmanager
    def _writing(self, input_types: Sequence[Any], names: Sequence[str]) -> Generator[list[Any]]:
        with InsertionPoint(Block()):  # there is no device yet that it could be in
            op = sequence_op(input_types, names)
        with InsertionPoint(op.body.block):
            arguments = [argument(given, ssa) for given, ssa in zip(input_types, op.body.block.args, strict=True)]
            active = ActiveSequence(arguments, self._strict, in_device=False)
            with active_sequence_scope(active):
                yield arguments
                active.finish()
        op.detach()
        self._written = WrittenSequence(op, active)
        self._handles.update(active.fifos)
        self.parameters += active.parameters

    def start(self, *args: Worker) -> None:
        """Make workers part of the program; they run from the start."""
        for worker in args:
            if not isinstance(worker, Worker):
                refuse(f"Runtime can only start Worker objects, not {worker!r}")
            self.workers.append(worker)

    def fill(
        self,
        in_fifo: ObjectFifoHandle,
        source: Any,
        tap: Any = None,
        *,
        task_group: TaskGroup | None = None,
        wait: bool = False,
        tile: Tile | None = None,
        **access: Any,
    ) -> Task:
        """`in_fifo.fill(source, tap, wait, group=task_group, **access)`, from the shim `tile` that is given."""
        self._take(in_fifo, tile)
        return in_fifo.fill(source, tap, wait, group=task_group, **access)

    def drain(
        self,
        out_fifo: ObjectFifoHandle,
        dest: Any,
        tap: Any = None,
        *,
        task_group: TaskGroup | None = None,
        wait: bool = False,
        tile: Tile | None = None,
        **access: Any,
    ) -> Task:
        """`out_fifo.drain(dest, tap, wait, group=task_group, **access)`, to the shim `tile` that is given."""
        self._take(out_fifo, tile)
        return out_fifo.drain(dest, tap, wait, group=task_group, **access)

    def task_group(self) -> TaskGroup:
        """A new task group."""
        return TaskGroup()

    def finish_task_group(self, task_group: TaskGroup) -> None:
        """Wait for the transfers of a `task_group`, and free their descriptors."""
        task_group.finish()

    def inline_ops(self, inline_func: Callable[..., Any], inline_args: Sequence[Any]) -> None:
        """Call `inline_func(*inline_args)`, which builds operations of the lower-level dialects in the sequence."""
        active_sequence()  # refuses where there is none
        inline_func(*inline_args)

    def enable_trace(
        self,
        trace_size: int | None = None,
        workers: Sequence[Worker] | None = None,
        ddr_id: int = 4,
        coretile_events: Sequence[Any] | None = None,
        coremem_events: Sequence[Any] | None = None,
        memtile_events: Sequence[Any] | None = None,
        shimtile_events: Sequence[Any] | None = None,
    ) -> None:
        """`Program.enable_trace`, as older programs say it, in the sequence or before it.

        Args:
            trace_size: how many bytes the record has; 0 is no record
            workers: whose tiles are recorded; all that have `trace` if none are given
            ddr_id: -1 for a record behind the last output; it has a buffer of its own otherwise, the last argument
            coretile_events: what is recorded of cores
            coremem_events: of their memories
            memtile_events: of mem tiles
            shimtile_events: of shim tiles
        """
        if ddr_id not in range(BEHIND_LAST_OUTPUT, MOST_BUFFERS):
            remedy = f"give {BEHIND_LAST_OUTPUT}, or the number of one of the {MOST_BUFFERS} buffers of a kernel"
            refuse(f"there is no buffer {ddr_id!r} for a trace", (None, remedy))
        events = (coretile_events, coremem_events, memtile_events, shimtile_events)
        self.tracing = Tracing(trace_size, workers, ddr_id == BEHIND_LAST_OUTPUT, *events) if trace_size else None

    def set_barrier(self, barrier: WorkerRuntimeBarrier, value: int) -> None:
        """Set a `barrier` to a `value` for all of its workers."""
        barrier.set(value)

    def write_rtp(self, buf: Buffer | str, index: int, value: Any) -> None:
        """Write a `value` to the element `index` of the runtime parameters in `buf`."""
        write_parameter(buf, index, value)

    def resolve(self, loc: Any = None, ip: Any = None, *, prologue: Callable[[], None] | None = None) -> None:
        """Build the sequence, in a device whose other parts are built; `prologue` comes first in it."""
        if self._function is not None:
            self._resolve_function(self._function, prologue)
        elif self._written is not None:
            self._written.resolve(prologue)
        else:
            refuse(
                "this Runtime has no sequence",
                (None, "give it a function: Runtime(function, fn_args), or write `with rt.sequence(...)`"),
                at=self.where,
            )

    def _resolve_function(self, function: Callable[..., Any], prologue: Callable[[], None] | None) -> None:
        inputs = {n: given for n, given in enumerate(self._fn_args) if _is_input(given)}
        names = parameter_names(function, len(self._fn_args))
        with at(self.where):
            bind(function, self._fn_args, {}, f"fn_args do not fit '{getattr(function, '__name__', function)}'")
            op = sequence_op([*inputs.values()], argument_names([*inputs.values()], [names[n] for n in inputs]))
        with InsertionPoint(op.body.block):
            if prologue is not None:
                prologue()
            ssa = iter(op.body.block.args)  # only types among the arguments became those of the sequence
            given = [argument(a, next(ssa)) if n in inputs else _constant(a) for n, a in enumerate(self._fn_args)]
            active = ActiveSequence(given, self._strict, in_device=True)
            with active_sequence_scope(active):
                function(*given)
                active.finish()
        # a program may be resolved several times
        self.parameters += [p for p in active.parameters if p not in self.parameters]


def _is_input(given: Any) -> bool:
    """Whether it stands for an argument of the sequence: a type."""
    return is_type(given) or is_array_type(given) or isinstance(given, type)


def _constant(given: Any) -> Any:
    """An integer as a number of the program, as it would be if its type were an argument; all else as it is."""
    # switches of the program's text stay Python's
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        return given
    number = cast("int | np.integer[Any]", given)
    return constant(int(number), i32 if isinstance(number, int) else type(number))
