"""Programs: a device, what runs on it, and what the host does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import LocationAttr

from tilewright.ir.diagnostics import shortened
from tilewright.iron.builders.functions import PythonFunction
from tilewright.iron.builders.location import at, refuse, user_location
from tilewright.iron.builders.module import Module, mlir_mod_ctx
from tilewright.iron.dataflow.links import ObjectFifoLink
from tilewright.iron.dataflow.objectfifo import ObjectFifo
from tilewright.iron.device.device import Device
from tilewright.iron.device.tile import Tile
from tilewright.iron.placers import Placer
from tilewright.iron.resolvable import is_resolvable, resolving
from tilewright.iron.runtime.runtime import Runtime
from tilewright.iron.scratchpad_parameter import ScratchpadParameter
from tilewright.iron.tracing import Tracing
from tilewright.iron.worker import Worker
from tilewright.support.tracebacks import user_facing

if TYPE_CHECKING:
    from tilewright.iron.dataflow.flow import Flow, PacketFlow
    from tilewright.iron.dataflow.tile_dma import TileDma
    from tilewright.iron.utils.trace.config import TraceConfig


@user_facing
class Program:
    """A whole design. `tilewright.compile(program)` compiles it, `resolve_program()` gives its MLIR."""

    def __init__(
        self,
        device: Device | None,
        rt: Runtime | Callable[..., Any],
        workers: Sequence[Worker] | None = None,
        *,
        arg_types: Sequence[Any] | None = None,
        flows: Sequence[Flow | PacketFlow] | None = None,
        tile_dmas: Sequence[TileDma] | None = None,
        trace: TraceConfig | None = None,
    ):
        """What a device is to do.

        Args:
            device: such as `NPU2()`
            rt: what the host does: the `Runtime` with its sequence, or the sequence as a function
            workers: what runs on cores; those that the sequence starts need not be here
            arg_types: the types of a function's arguments, all of them
            flows: routes that are part of the program, as with `Runtime.add_flow`
            tile_dmas: DMA programs that are part of it, as with `Runtime.add_tile_dma`
            trace: what `enable_trace` would be told
        """
        self.where: LocationAttr = user_location()
        if device is None:
            refuse(
                "Program requires a device, but none was selected.",
                (None, "give one, such as NPU2(), or choose one with iron.set_current_device"),
            )
        if isinstance(rt, Runtime) and arg_types is not None:
            refuse("a Runtime has the types of its sequence's arguments itself", (None, "leave out arg_types"))
        self.device = device
        self.runtime = rt if isinstance(rt, Runtime) else Runtime.of_function(rt, arg_types or ())
        for flow in flows or ():
            self.runtime.add_flow(flow)
        for tile_dma in tile_dmas or ():
            self.runtime.add_tile_dma(tile_dma)
        self._workers = list(workers or ())
        self._tracing: Tracing | None = None
        if trace is not None:
            behind, column = trace.reuse_output_buffer, trace.egress_shim_col
            self.enable_trace(trace.trace_size, reuse_output_buffer=behind, egress_shim_col=column)

    def __repr__(self) -> str:
        fifos = shortened(", ".join(fifo.name for fifo in self._fifos()))
        workers = f"{len(self.workers)} worker{'s' * (len(self.workers) != 1)}"
        return f"<Program on {self.device}: {workers}, ObjectFifos {fifos or 'none'}>"

    def _repr_html_(self) -> str:
        from tilewright.report.markup import listing_html

        fifos = [(fifo.name, *fifo.facts().values()) for fifo in self._fifos()]
        headings = "ObjectFifo", "object", "deep", "from", "to"
        workers = [[*worker.facts().values()] for worker in self.workers]
        return listing_html(f"program on {self.device}", [(("worker", "on", "takes"), workers), (headings, fifos)])

    @property
    def workers(self) -> list[Worker]:
        """What runs on cores: the workers that were given, and those that the runtime sequence starts."""
        return list(dict.fromkeys([*self._workers, *self.runtime.workers]))

    def enable_trace(
        self,
        trace_size: int | None = None,
        workers: Sequence[Worker] | None = None,
        reuse_output_buffer: bool = False,
        coretile_events: Sequence[Any] | None = None,
        coremem_events: Sequence[Any] | None = None,
        memtile_events: Sequence[Any] | None = None,
        shimtile_events: Sequence[Any] | None = None,
        egress_shim_col: int = 0,
        core_trace_mode: Any = None,
    ) -> None:
        """Have the hardware record events of these workers, or of all that have `trace`, in `trace_size` bytes.

        `coretile_events`, `coremem_events`, `memtile_events` and `shimtile_events` choose events, `core_trace_mode`
        what is recorded of them. The record goes to a buffer of its own, the sequence's last argument, or with
        `reuse_output_buffer` behind the last output, through the shim tile of column `egress_shim_col`.
        """
        events = (coretile_events, coremem_events, memtile_events, shimtile_events)
        settings = (reuse_output_buffer, *events, egress_shim_col, core_trace_mode)
        self._tracing = Tracing(trace_size, workers, *settings) if trace_size else None

    @property
    def tracing(self) -> Tracing | None:
        """What is recorded: as this program was told, else as its runtime was."""
        return self._tracing or self.runtime.tracing

    def resolve_program(self, device_name: str | Placer = "main") -> Module:
        """The program as MLIR, checked, with its device called `device_name`; older programs give a placer here."""
        from tilewright.iron.dialects.aie import device

        name = "main" if isinstance(device_name, Placer) else device_name
        with resolving(), mlir_mod_ctx() as ctx:
            ctx.module.op.location = self.where
            for arg in self._arguments():
                if isinstance(arg, ScratchpadParameter):
                    arg.resolve()
            # the device has the program's line; its body is written by lines of its own
            with at(self.where):
                decorate = device(self.device.resolve(), sym_name=name)
            decorate(self._body)
            # those that only the sequence uses are known now
            for parameter in self.runtime.parameters:
                parameter.resolve()
        ctx.module.verify()
        return ctx.module

    def _body(self) -> None:
        """Everything, in the order in which parts refer to each other: the sequence may refer to all, it is last."""
        fifos = self._fifos()
        self._check_workers(fifos)
        for tile in self._tiles(fifos):
            self.device.resolve_tile(tile)
        for part in (*fifos, *self.runtime.flows, *self.runtime.locks):
            part.resolve()
        # buffers that only DMA programs use are on the tiles of those
        for dma in self.runtime.tile_dmas:
            for buffer in dma.all_buffers_and_locks()[0]:
                buffer.place_on(dma.tile)
                buffer.resolve()
        self._build_workers()
        for dma in self.runtime.tile_dmas:
            dma.resolve()
        if self.tracing is not None:
            self.tracing.configure(self.workers)
        self.runtime.resolve(prologue=None if self.tracing is None else self.tracing.start)

    def _build_workers(self) -> None:
        for arg in self._arguments():
            if isinstance(arg, PythonFunction):
                arg.emit()
            elif is_resolvable(arg):
                arg.resolve()
        for worker in self.workers:
            worker.resolve()
        # a cascade is between tiles of two workers
        for worker in self.workers:
            for cascade in worker.cascades:
                cascade.resolve()

    def _arguments(self) -> Iterator[Any]:
        return (arg for worker in self.workers for arg in worker.flat_fn_args)

    def _fifos(self) -> list[ObjectFifo]:
        """All ObjectFifos by name: those that workers and the sequence use, and what is linked with them."""
        found = dict[ObjectFifo, None]()
        open = [handle.fifo for handle in (*self.runtime.fifos, *(h for w in self.workers for h in w.fifos))]
        while open:
            fifo = open.pop()
            if fifo not in found:
                found[fifo] = None
                links = [end.endpoint for end in fifo.ends() if isinstance(end.endpoint, ObjectFifoLink)]
                open += [end.fifo for link in links for end in (*link.sources, *link.targets)]
        return sorted(found, key=lambda fifo: fifo.name)  # a fixed order, upstream's

    def _tiles(self, fifos: Sequence[ObjectFifo]) -> Iterator[Tile]:
        """All tiles, in the order of those who use them."""
        for worker in self.workers:
            yield worker.tile
            for arg in worker.flat_fn_args:
                if is_resolvable(arg):
                    yield from arg.tiles()
        for fifo in fifos:
            yield from fifo.tiles()
        for route in (*self.runtime.flows, *self.runtime.tile_dmas):
            yield from route.all_tiles()
        for lock in self.runtime.locks:
            yield lock.tile

    def _check_workers(self, fifos: Sequence[ObjectFifo]) -> None:
        """What is at the end of a fifo is part of the program; nothing else would ever fill or empty it."""
        known = set(self.workers)
        for fifo in fifos:
            for end in fifo.ends():
                if isinstance(end.endpoint, Worker) and end.endpoint not in known:
                    refuse(
                        f"{end.endpoint} has {end}, but it is not placed: the program does not have it",
                        (self.where, "put it among the workers: Program(device, rt, workers=[...])"),
                        at=end.endpoint.where,
                    )
