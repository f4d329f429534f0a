"""Workers: what runs on cores, and barriers between them and the runtime sequence."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation

from tilewright.device import LockAction, TileType
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoAcquireOp, ObjectFifoReleaseOp
from tilewright.ir.diagnostics import file_position
from tilewright.iron.buffer import Buffer
from tilewright.iron.builders.location import at, refuse, user_location
from tilewright.iron.builders.operations import bind
from tilewright.iron.dataflow.endpoint import ObjectFifoEndpoint
from tilewright.iron.dataflow.handle import ObjectFifoHandle
from tilewright.iron.dataflow.objectfifo import ObjectFifo
from tilewright.iron.device.tile import AnyComputeTile, Tile
from tilewright.iron.helpers.util import flatten_fn_args as flat
from tilewright.iron.placed.buffers import lock, use_lock
from tilewright.iron.placed.tiles import core
from tilewright.iron.resolvable import Resolvable, current_resolution
from tilewright.support.tracebacks import user_facing

if TYPE_CHECKING:
    from tilewright.iron.dataflow.cascadeflow import CascadeFlow
    from tilewright.iron.utils.trace.config import TileTrace


@user_facing
class Worker(ObjectFifoEndpoint, Resolvable):
    """A function that a core runs, with everything that it works on: ends of ObjectFifos, buffers, kernels, numbers."""

    def __init__(
        self,
        core_fn: Callable[..., Any] | None,
        fn_args: Sequence[Any] | None = None,
        tile: Tile | None = AnyComputeTile,
        while_true: bool = True,
        stack_size: int | None = None,
        allocation_scheme: str | None = None,
        trace: int | TileTrace | None = None,
        trace_events: list[Any] | None = None,
        dynamic_objfifo_lowering: bool | None = None,
    ):
        """`core_fn(*fn_args)` on a tile, again and again.

        Args:
            core_fn: called once, when the program is built; its loops and operators build what the core does
            fn_args: what it is called with; lists are handed on as they are
            tile: the tile of its core; without one it finds its own
            while_true: whether to start over when the function has ended
            stack_size: in bytes
            allocation_scheme: how the tile's memory is given out, 'basic-sequential' or 'bank-aware'
            trace: whether `Program.enable_trace` records it
            trace_events: which events are recorded
            dynamic_objfifo_lowering: whether loops stay loops, or are unrolled until each object is known
        """
        self.where: LocationAttr = user_location()
        super().__init__(_compute_tile(tile, allocation_scheme))
        self.core_fn = core_fn
        self.fn_args = list(fn_args or ())
        self._while_true = while_true
        self.stack_size, self.allocation_scheme = stack_size, allocation_scheme
        self.trace, self.trace_events = trace, trace_events
        self.dynamic_objfifo_lowering = dynamic_objfifo_lowering
        self.cascades = list["CascadeFlow"]()
        for arg in self.flat_fn_args:
            self._take(arg)

    def _take(self, arg: Any) -> None:
        match arg:
            case ObjectFifoHandle():
                arg.endpoint = self
            case Buffer():
                arg.give_to(self)
            case ObjectFifo():
                refuse(
                    f"a worker is given '{arg.name}' itself, not one of its ends",
                    (None, f"give it {arg.name}.prod() or {arg.name}.cons()"),
                )
            case _:
                pass

    @staticmethod
    def grid(rows: int, cols: int, factory: Callable[[int, int], Worker]) -> list[list[Worker]]:
        """`rows` lists of `cols` workers: what `factory(r, c)` gives."""
        return [[factory(r, c) for c in range(cols)] for r in range(rows)]

    @property
    def tile(self) -> Tile:
        """Where its core is."""
        assert self._tile is not None  # the constructor gives it one
        return self._tile

    def tiles(self) -> list[Tile]:
        return [self.tile]

    @property
    def flat_fn_args(self) -> list[Any]:
        """The arguments, those in lists among them."""
        return list(flat(self.fn_args))

    @property
    def fifos(self) -> list[ObjectFifoHandle]:
        """The ends of ObjectFifos among the arguments."""
        return [arg for arg in self.flat_fn_args if isinstance(arg, ObjectFifoHandle)]

    @property
    def buffers(self) -> list[Buffer]:
        """The buffers among the arguments."""
        return [arg for arg in self.flat_fn_args if isinstance(arg, Buffer)]

    @property
    def _buffers(self) -> list[Buffer]:
        return self.buffers  # tests of upstream's look at it

    @property
    def _function_name(self) -> str:
        return f"'{getattr(self.core_fn, '__name__', 'without a function')}'"

    def resolve(self, loc: Any = None, ip: Any = None) -> None:
        resolution = current_resolution()
        for arg in self.flat_fn_args:
            if isinstance(arg, WorkerRuntimeBarrier):
                arg.add_worker(self)
        # barriers in the body ask whose lock is meant
        resolution.current = self
        with at(self.where):
            decorate = core(
                self.tile.op,
                stack_size=self.stack_size,
                dynamic_objfifo_lowering=self.dynamic_objfifo_lowering,
            )
        built = decorate(self._body)
        resolution.current = None
        if self._while_true:
            self._warn_of_kept_objects(built.op)

    def _warn_of_kept_objects(self, built: Operation) -> None:
        """Say so if a function that runs again and again never hands over what it acquires."""
        released = {_end_of(op) for op in built.walk() if isinstance(op, ObjectFifoReleaseOp)}
        acquired = {_end_of(op): op for op in built.walk() if isinstance(op, ObjectFifoAcquireOp)}
        for end, op in acquired.items():
            file, line, _ = file_position(op.location) or (None, 0, 0)
            if end not in released and file is not None:
                text = f"worker {self._function_name} acquires objects of '{end[0]}' and releases none: each turn has "
                text += f"the same ones; call release(1) on this end of '{end[0]}' when one is done with"
                # at the line that acquires, which calls nothing here any more
                warnings.warn_explicit(text, UserWarning, file, line)

    def _body(self) -> None:
        """The function in a loop, even if it is run once: what is done with fifos depends on there being one."""
        from tilewright.iron.controlflow import range_

        with at(self.where):
            if self.core_fn is not None:
                bind(self.core_fn, self.fn_args, {}, f"fn_args do not fit {self._function_name}")
            # by hand, not with `for`: the loop has the worker's line, what is in it those of the function
            turns = range_(sys.maxsize if self._while_true else 1)
            next(turns)
        if self.core_fn is not None:
            self.core_fn(*self.fn_args)
        with at(self.where):
            next(turns, None)

    def facts(self) -> dict[str, str]:
        """A worker in words: what it runs, where, and what it is given."""
        return {"worker": self._function_name, "on": str(self.tile), "takes": ", ".join(map(str, self.flat_fn_args))}

    def _repr_html_(self) -> str:
        from tilewright.report.markup import facts_html

        return facts_html(str(self), self.facts())

    def __str__(self) -> str:
        return f"worker {self._function_name} on {self.tile}"

    __repr__ = __str__


def _end_of(access: ObjectFifoAcquireOp | ObjectFifoReleaseOp) -> tuple[str, Attribute | None]:
    return access.fifo_name.string_value(), access.port


def _compute_tile(tile: Tile | None, allocation_scheme: str | None) -> Tile:
    """The tile itself where it is one for cores, so that buffers on it are on the worker's tile."""
    tile = tile or AnyComputeTile
    if tile.tile_type is TileType.CoreTile and tile is not AnyComputeTile and allocation_scheme is None:
        return tile
    return tile.with_type(
        TileType.CoreTile,
        allocation_scheme=allocation_scheme,
        mismatch_msg=f"Worker requires a compute tile, but got tile_type={tile.tile_type}",
    )


@user_facing
class WorkerRuntimeBarrier:
    """Lets the runtime sequence hold workers back: they wait for a value that it sets.

    Waiting leaves the value as it is. A worker that waits again has to change it in between, with
    `release_with_value`, or it does not wait for the next run.
    """

    def __init__(self, initial_value: int = 0):
        """A barrier at `initial_value`."""
        self.where: LocationAttr = user_location()
        self.initial_value = initial_value

    def add_worker(self, worker: Worker) -> None:
        """Give a worker its lock."""
        with at(worker.where):
            # locks start from 0 anyway
            self._locks()[worker] = lock(worker.tile.op, init=self.initial_value or None)

    def _locks(self) -> dict[Any, Any]:
        return current_resolution().built.setdefault(self, {})

    def wait_for_value(self, value: int) -> None:
        """Wait, in a worker's function, until the barrier is at `value`."""
        self._use(LockAction.Acquire, value)

    def release_with_value(self, value: int) -> None:
        """Add `value` to the barrier, in a worker's function."""
        self._use(LockAction.Release, value)

    def _use(self, action: LockAction, value: int) -> None:
        locks, worker = self._locks(), current_resolution().current
        if worker not in locks:
            refuse("a worker uses a barrier that it was not given", (self.where, "put it in the worker's fn_args"))
        use_lock(locks[worker], action, value=value)

    def set(self, value: int) -> None:
        """Set the barrier to `value` for all of its workers, in a runtime sequence."""
        from tilewright.iron.runtime._context import active_sequence

        active_sequence().later(lambda: self._set_locks(value))

    def _set_locks(self, value: int) -> None:
        from tilewright.iron.dialects.aiex import set_lock_value

        # one on each worker's tile: there is no lock that all of them reach
        for found in self._locks().values():
            set_lock_value(found, value)
