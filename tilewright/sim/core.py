"""A core at work: its program runs, native or in Python, from one operation that reaches out of it to the next."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr, MemRefType
from xdsl.ir import Attribute, Operation

from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.cascade import EventOp, GetCascadeOp, GetStreamOp, PutCascadeOp, PutStreamOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count, type_bytes
from tilewright.dialects.aie.locks import UseLockOp
from tilewright.dialects.func import CallOp
from tilewright.dialects.memref import GlobalOp
from tilewright.interpreter.body import Run
from tilewright.interpreter.memory import Buffer, Trapped
from tilewright.ir.diagnostics import fail
from tilewright.ir.run_errors import Fault
from tilewright.native import has_llvm
from tilewright.native.context_layout import (
    CODE,
    DETAIL,
    FINISHED,
    FIRST_WAIT,
    FLOW_RETURN,
    HEADER_BYTES,
    IDLE,
    MOST_FLOW,
    PAUSED,
    SLOT_BYTES,
)
from tilewright.native.host_arrays import NotInNumPy, dtype_of
from tilewright.native.traps import OUTSIDE, Trap
from tilewright.sim.core_body import SuspendPoint
from tilewright.sim.core_kernels import KernelCall, number_from
from tilewright.sim.core_port import CorePort
from tilewright.sim.engine import Process, Signal, Wait
from tilewright.sim.faults import FaultKind
from tilewright.sim.interpreted_core import InterpretedCode
from tilewright.sim.trace import TraceEvent

if TYPE_CHECKING:
    from tilewright.sim.core_code import CoreCode

_NUMBER = Struct("<q")
_HEADER = Struct("<qq")
_DETAILS = Struct("<QQQ")


_RUNNING: dict[int, CoreCode] = {}
"""Code by the frames of it that exist: a frame that is garbage still needs its code to be taken down."""


class CoreProgram:
    """What one core of a design runs. It is translated when it is needed first."""

    def __init__(self, op: CoreOp, *, logs_flow: bool = False, is_native: bool | None = None):
        """With `logs_flow` it tells which way it goes, for a trace of its execution.

        It runs as native code where there is LLVM, or as `is_native` says.
        """
        self.op, self.logs_flow = op, logs_flow
        self.is_native = has_llvm() if is_native is None else is_native
        self._lock = threading.Lock()
        self._code: CoreCode | InterpretedCode | None = None

    def __str__(self) -> str:
        place = self.op.place
        return "core" if place is None else f"core ({place.column}, {place.row})"

    @property
    def location(self) -> LocationAttr:
        return self.op.location

    @property
    def code(self) -> CoreCode | InterpretedCode:
        # Two devices of one design may come to it at once, from two threads.
        with self._lock:
            if self._code is None:
                self._code = self._translated()
            return self._code

    def _translated(self) -> CoreCode | InterpretedCode:
        if not self.is_native:
            return InterpretedCode(self.op)
        from tilewright.sim.core_code import CoreCode  # LLVM takes long to import, and may not be there

        return CoreCode(self.op, logs_flow=self.logs_flow)

    def activate(self, port: CorePort) -> Activation:
        """The program about to begin."""
        return (Activation if self.is_native else InterpretedActivation)(self, port)

    @property
    def is_compiled(self) -> bool:
        return self._code is not None


def core_process(core: CoreProgram, port: CorePort) -> Process[None]:
    """Run a core's program from its beginning to its end, if it has one."""
    activation = core.activate(port)
    try:
        port.record(TraceEvent.CORE)
        code = activation.start()
        while True:
            if code == PAUSED:
                yield from port.pause(activation.cycles, core)
            elif activation.cycles:
                yield from port.spend(activation.cycles)
            if core.logs_flow:
                port.flow(activation.take_flow())
            if code == FINISHED:
                port.record(TraceEvent.CORE_END)
                return
            if code == IDLE:
                # A signal that is never fired: only the explanation of a hang looks at this wait.
                yield Wait(Signal(), lambda: f"{core} is in a loop that does nothing and never ends", by=core)
            elif code != PAUSED:
                yield from activation.serve(code)
                # Kernels and the vendor's functions for locks return; other stops are single instructions.
                if core.logs_flow and isinstance(activation.stop.op, CallOp | UseLockOp):
                    port.flow([port.reached << 2 | FLOW_RETURN])
            code = activation.resume()
    finally:
        activation.destroy()


class BoundCore(NamedTuple):
    """A program on a tile."""

    program: CoreProgram
    port: CorePort

    def process(self) -> Process[None]:
        return core_process(self.program, self.port)


class Activation:
    """A program in the middle of its work: the native frame, and the context through which it is spoken to."""

    def __init__(self, core: CoreProgram, port: CorePort):
        self.core, self.code, self.port = core, core.code, port
        self.context = bytearray(self.code.context_bytes)
        self.cycles = 0
        self._view = (ctypes.c_char * len(self.context)).from_buffer(self.context)
        self._memories = [_memory(buffer, port) for buffer in self.code.buffers]
        self._handle: int | None = None
        self._calls: dict[SuspendPoint, KernelCall] = {}
        for number, memory in enumerate(self._memories):
            # Addresses of this process: the memory stays where it is as long as the activation lives.
            _NUMBER.pack_into(self.context, HEADER_BYTES + SLOT_BYTES * number, memory.ctypes.data)
        self._flow = np.zeros(0 if self.code.flow_log is None else 1 + MOST_FLOW, np.int64)
        if self.code.flow_log is not None:
            _NUMBER.pack_into(self.context, self.code.flow_log, self._flow.ctypes.data)

    @property
    def native(self) -> CoreCode:
        """The native code of the program, which is what this class runs."""
        return cast("CoreCode", self.code)

    @property
    def reach(self) -> tuple[int, int]:
        """From which address of this computer to which there are buffers of tiles that the program uses."""
        pairs = zip(self.code.buffers, self._memories, strict=True)
        shared = [memory for buffer, memory in pairs if isinstance(buffer, BufferOp)]
        ends = [(memory.ctypes.data, memory.ctypes.data + memory.nbytes) for memory in shared] or [(0, 0)]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def context_address(self) -> int:
        return ctypes.addressof(self._view)

    @property
    def stop(self) -> SuspendPoint:
        """What the program is at, while it waits for something."""
        return self.code.stops[self._code - FIRST_WAIT]

    @property
    def location(self) -> LocationAttr:
        """Where in the source the program is, as far as that is known."""
        return self.stop.op.location if self._code >= FIRST_WAIT else self.core.location

    @property
    def _code(self) -> int:
        return _NUMBER.unpack_from(self.context, CODE)[0]

    @property
    def handle(self) -> int:
        """What the native code that goes on wants."""
        assert self._handle is not None
        return self._handle

    def start(self) -> int:
        handle = self.native.start(self.context_address)
        assert handle is not None, "a running program has a frame"
        self._handle = handle
        _RUNNING[handle] = self.native
        return self._read_header()

    def resume(self) -> int:
        self.native.resume(self._handle)
        return self._read_header()

    def destroy(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            # First, since another thread may get a frame at the same address as soon as this one is gone.
            code = _RUNNING.pop(handle)
            # LLVM allocated the frame: Python's collector does not know of it.
            code.destroy(handle)

    def _read_header(self) -> int:
        code, self.cycles = _HEADER.unpack_from(self.context, CODE)
        # Traps are numbered downwards from -1.
        if code < 0:
            raise self.trapped(code)
        return code

    def take_flow(self) -> list[int]:
        """Which way the program went since this was asked last, see `native.context_layout`."""
        count = min(int(self._flow[0]), MOST_FLOW)
        self._flow[0] = 0
        return self._flow[1 : 1 + count].tolist()

    def trapped(self, code: int) -> Fault:
        """What the program did that it must not; `code` is negative."""
        details = _DETAILS.unpack_from(self.context, DETAIL)
        return self.fault(self.native.traps[-1 - code], [_signed(detail) for detail in details])

    def fault(self, trap: Trap, details: Sequence[int]) -> Fault:
        text = trap.text.format(*details)
        kind = FaultKind.OUTSIDE_MEMORY if trap.text == OUTSIDE else FaultKind.CORE
        return Fault(f"{self.core}: '{trap.operation.name}' {text}", trap.location, kind=kind)

    def serve(self, code: int) -> Process[None]:
        """Do what the program waits for."""
        number = code - FIRST_WAIT
        stop = self.code.stops[number]
        self.port.reached = number
        service = _SERVICES[type(stop.op)](self, stop)
        # Acquires write rows of their own.
        if stop.lock is not None:
            yield from service
            return
        self.port.record(TraceEvent.WAIT, number)
        yield from self.ended(service, number)

    def ended(self, service: Process[None], number: int) -> Process[None]:
        """A service whose end is written down."""
        yield from service
        self.port.record(TraceEvent.GO, number)

    def kernel_call(self, stop: SuspendPoint) -> KernelCall:
        """The call of an external kernel at a stop."""
        found = self._calls.get(stop)
        if found is None:
            found = self._calls[stop] = KernelCall(self, cast(CallOp, stop.op), stop.slots)
        return found

    def memory_at(self, address: int) -> npt.NDArray[np.uint8] | None:
        """The memory of the buffer that begins at an address of this computer; None if no buffer does."""
        return next((memory for memory in self._memories if memory.ctypes.data == address), None)

    def number(self, slot: int) -> int:
        return _NUMBER.unpack_from(self.context, slot)[0]

    def bytes(self, slot: int, type: Attribute) -> bytes:
        return bytes(self.context[slot : slot + type_bytes(type)])


class InterpretedActivation(Activation):
    """A program in the middle of its work in Python; the context is the same."""

    def __init__(self, core: CoreProgram, port: CorePort):
        super().__init__(core, port)
        code = cast(InterpretedCode, self.code)
        buffers = {op: Buffer(memory) for op, memory in zip(code.buffers, self._memories, strict=True)}
        self._run = Run(buffers, self.context, [] if core.logs_flow else None)
        self._process = code.run(self._run)

    def start(self) -> int:
        return self.resume()

    def resume(self) -> int:
        try:
            code = next(self._process, FINISHED)
        except Trapped as error:
            raise self.fault(error.trap, error.details) from None
        self.cycles, self._run.cycles = self._run.cycles, 0
        _HEADER.pack_into(self.context, CODE, code, self.cycles)
        return code

    def destroy(self) -> None:
        self._process.close()

    def take_flow(self) -> list[int]:
        found, self._run.flow = self._run.flow or [], []
        return found

    def memory_at(self, address: int) -> npt.NDArray[np.uint8] | None:
        found = super().memory_at(address)
        return self._run.allocated.get(address) if found is None else found


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _memory(definition: Operation, port: CorePort) -> npt.NDArray[np.uint8]:
    """The memory of a buffer: the tile's, or, for a `memref.global`, this core's own copy."""
    if isinstance(definition, BufferOp):
        memory = port.memory(definition)
        if memory.nbytes < definition.size_bytes or not memory.flags.c_contiguous:
            raise ValueError(f"a buffer of {definition.size_bytes} bytes cannot be in {memory.nbytes} bytes of memory")
        return memory
    assert isinstance(definition, GlobalOp)
    type = definition.type
    assert isinstance(type, MemRefType)
    memory = np.zeros((element_count(type) or 0) * element_bytes(type), np.uint8)
    initial: Attribute | None = definition.initial_value
    if isinstance(initial, DenseIntOrFPElementsAttr):
        memory.view(_dtype(definition, type))[:] = initial.get_values()
    return memory


def _dtype(definition: GlobalOp, type: MemRefType) -> np.dtype[Any]:
    try:
        return dtype_of(type.element_type)
    except NotInNumPy as error:
        fail(definition, f"cannot be given its initial value: {error}")


def _use_lock(activation: Activation, stop: SuspendPoint) -> Process[None]:
    op, lock = cast(UseLockOp, stop.op), stop.lock
    assert lock is not None
    amount = activation.number(stop.slots[0])
    if op.is_acquire:
        yield from activation.port.acquire(lock, amount, op.lock_action, op.location)
    else:
        activation.port.release(lock, amount, op.location)


def _put_cascade(activation: Activation, stop: SuspendPoint) -> Process[None]:
    op = cast(PutCascadeOp, stop.op)
    data = activation.bytes(stop.slots[0], op.cascade_value.type)
    yield from activation.port.put_cascade(data, op.location)


def _get_cascade(activation: Activation, stop: SuspendPoint) -> Process[None]:
    type = cast(GetCascadeOp, stop.op).cascade_value.type
    data = yield from activation.port.get_cascade(type_bytes(type), stop.op.location)
    activation.context[stop.slots[0] : stop.slots[0] + len(data)] = data


def _put_stream(activation: Activation, stop: SuspendPoint) -> Process[None]:
    op = cast(PutStreamOp, stop.op)
    channel = number_from(activation.context, stop.slots[0], op.channel.type)
    data = activation.bytes(stop.slots[1], op.stream_value.type)
    yield from activation.port.put_stream(channel, data, op.location)


def _get_stream(activation: Activation, stop: SuspendPoint) -> Process[None]:
    op = cast(GetStreamOp, stop.op)
    channel = number_from(activation.context, stop.slots[0], op.channel.type)
    data = yield from activation.port.get_stream(channel, type_bytes(op.stream_value.type), op.location)
    activation.context[stop.slots[1] : stop.slots[1] + len(data)] = data


def _event(activation: Activation, stop: SuspendPoint) -> Process[None]:
    """An event that a trace unit may record; the row of the stop tells of it."""
    yield from ()


def _call_kernel(activation: Activation, stop: SuspendPoint) -> Process[None]:
    return activation.kernel_call(stop).process()


_SERVICES: dict[type[Operation], Callable[[Activation, SuspendPoint], Process[None]]] = {
    UseLockOp: _use_lock,
    PutCascadeOp: _put_cascade,
    GetCascadeOp: _get_cascade,
    PutStreamOp: _put_stream,
    GetStreamOp: _get_stream,
    CallOp: _call_kernel,
    EventOp: _event,
}
