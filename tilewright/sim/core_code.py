"""A core's body -> native code that runs from one wait to the next."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from weakref import WeakValueDictionary

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.func import CallOp, callee_of
from tilewright.dialects.memref import GetGlobalOp
from tilewright.dialects.memref.types import memref_type
from tilewright.ir.diagnostics import fail_op
from tilewright.native.coroutine import Coroutine
from tilewright.native.functions import call
from tilewright.native.host import NativeModule
from tilewright.native.lowering import HEADER_BYTES, SLOT_BYTES, Handler, Lowering, Unit
from tilewright.native.math_functions import provide_library
from tilewright.native.operations import OPERATIONS
from tilewright.native.traps import Trap, Untranslatable
from tilewright.native.values import (
    I64,
    POINTER,
    Known,
    MemRef,
    all_parts,
    index,
    value_type,
    whole_buffer,
)
from tilewright.sim.core_body import SuspendPoint, Suspension, buffers_of, cycles_of, declared_cycles, global_of


class CoreCode:
    """The native code of a core."""

    def __init__(self, core: CoreOp, *, logs_flow: bool = False):
        """With `logs_flow` it writes down which way it goes."""
        builder = _Builder(core, logs_flow=logs_flow)
        builder.build(core)
        self.flow_log = builder.unit.flow_log
        self.stops: Sequence[SuspendPoint] = builder.stops
        self.traps: Sequence[Trap] = builder.unit.traps
        self.buffers: Sequence[Operation] = builder.unit.buffers
        self.context_bytes = builder.exchange + builder.exchange_bytes
        provide_library()
        # After the library is there: code that calls `exp` links against it.
        self._native = _compiled(builder.unit.module)
        pointer = ctypes.c_void_p
        # PYFUNCTYPE keeps the GIL: a program is resumed thousands of times, for some microseconds each.
        self.start = ctypes.PYFUNCTYPE(pointer, pointer)(self._native.address("start"))
        self.resume_address = self._native.address("resume")
        self.resume = ctypes.PYFUNCTYPE(None, pointer)(self.resume_address)
        self.destroy = ctypes.PYFUNCTYPE(None, pointer)(self._native.address("destroy"))


_modules: WeakValueDictionary[str, NativeModule] = WeakValueDictionary()


def _compiled(module: ir.Module) -> NativeModule:
    """Machine code; cores that differ only in their buffers and locks share it."""
    text = str(module)
    # By text, since llvmlite's modules have no equality.
    found = _modules.get(text)
    if found is None:
        found = _modules[text] = NativeModule(module)
    return found


class _Builder(Coroutine):
    """Builds the coroutine of a core; `stops` are its waits, by their number."""

    def __init__(self, core: CoreOp, *, logs_flow: bool):
        super().__init__(
            Unit(ir.Module("core"), HANDLERS, cycles_of, declared_cycles, Suspension(), asks_for_signals=True)
        )
        self.stops: list[SuspendPoint] = []
        # Slots first: what follows them in the context begins behind the last one.
        for buffer in buffers_of(core, set()):
            self.unit.buffer_slot(buffer)
        self.exchange = HEADER_BYTES + SLOT_BYTES * len(self.unit.buffers)
        if logs_flow:
            self.unit.flow_log = self.exchange
            self.exchange += SLOT_BYTES
        self.exchange_bytes = 0

    def build(self, core: CoreOp) -> None:
        try:
            self._build(core)
        except Untranslatable as error:
            fail_op(core, f"has no native translation: {error}")

    def _build(self, core: CoreOp) -> None:
        buffers = [buffer for buffer in self.unit.buffers if isinstance(buffer, BufferOp)]
        for buffer in buffers:
            self[buffer.buffer] = memref = _buffer(self, buffer, memref_type(buffer.buffer))
            # LLVM may then reorder accesses to it with those to other buffers.
            if not any(_overlap(buffer, other) for other in buffers):
                self.unit.apart.add(memref.base)
        self.lower_region(core.body)
        self.finish()

    def stop(
        self, op: Operation, operands: Sequence[ir.Value], results: Sequence[Attribute] = (), lock: LockOp | None = None
    ) -> None:
        """Wait until the runner of the core has looked at the operands and given the results of the operation."""
        types = [*(value.type for value in operands), *(value_type(type) for type in results)]
        slots = self._slots(types)
        for value, slot in zip(operands, slots, strict=False):
            # Slots are of eight bytes, which is less than LLVM takes for granted for a vector.
            self.builder.store(value, self.in_context(slot), align=1)
        self.stops.append(SuspendPoint(op, tuple(slots), lock))
        self.wait()
        for result, type, slot in zip(op.results, types[len(operands) :], slots[len(operands) :], strict=True):
            self[result] = self.builder.load(self.in_context(slot), typ=type, align=1)

    def _slots(self, types: Sequence[ir.Type]) -> list[int]:
        """Places in the context for values of these types, one after the other."""
        sizes = [-(-_bits(type) // (8 * SLOT_BYTES)) * SLOT_BYTES for type in types]
        # Stops share one place: a program is at one of them at a time.
        self.exchange_bytes = max(self.exchange_bytes, sum(sizes))
        return [self.exchange + sum(sizes[:number]) for number in range(len(sizes))]


def _bits(type: ir.Type) -> int:
    match type:
        case ir.VectorType():
            return type.count * _bits(type.element)
        case ir.IntType():
            return type.width
        case ir.HalfType():
            return 16
        case ir.FloatType():
            return 32
        case _:
            return 64


def _buffer(lowering: Lowering, definition: Operation, type: MemRefType) -> MemRef:
    """A buffer whose address is in the context."""
    slot = lowering.unit.buffer_slot(definition)
    base = lowering.builder.load(lowering.in_context(slot), typ=POINTER)
    return whole_buffer(base, index((element_count(type) or 0) * element_bytes(type)), type)


def _overlap(buffer: BufferOp, other: BufferOp) -> bool:
    """Whether two buffers share memory, which addresses in the program can make them do."""
    first, second = buffer.address_bytes, other.address_bytes
    if buffer is other or buffer.tile is not other.tile or first is None or second is None:
        return False
    return first < second + other.size_bytes and second < first + buffer.size_bytes


def _get_global(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, GetGlobalOp)
    lowering[op.memref] = _buffer(lowering, global_of(op), memref_type(op.memref))


def _lock(lowering: Lowering, op: Operation) -> None:
    lowering[op.results[0]] = Known(op)


def _core(lowering: Lowering) -> _Builder:
    assert isinstance(lowering, _Builder), "functions with waits are built into the core's body"
    return lowering


def _use_lock(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, UseLockOp)
    known = lowering.get(op.lock)
    if not isinstance(known, Known) or not isinstance(known.definition, LockOp):
        fail_op(op, "uses a lock that is only known while the program runs", (op, "pass an aie.lock to it directly"))
    amount = lowering.builder.sext(lowering[op.value], I64)
    _core(lowering).stop(op, [amount], lock=known.definition)


def _exchange(lowering: Lowering, op: Operation) -> None:
    """A stream, the cascade, or an event for the trace unit: operands out, results in."""
    operands = [lowering[operand] for operand in op.operands]
    _core(lowering).stop(op, operands, list(op.result_types))


def _call(lowering: Lowering, op: Operation) -> None:
    """A function of the program, or an external kernel."""
    assert isinstance(op, CallOp)
    if not callee_of(op).is_declaration:
        call(lowering, op)
        return
    operands = [part for operand in op.arguments for part in all_parts(lowering.get(operand))]
    _core(lowering).stop(op, operands, list(op.result_types))


HANDLERS: Mapping[str, Handler] = {
    **OPERATIONS,
    "func.call": _call,
    "memref.get_global": _get_global,
    "aie.lock": _lock,
    "aie.use_lock": _use_lock,
    "aie.put_cascade": _exchange,
    "aie.get_cascade": _exchange,
    "aie.put_stream": _exchange,
    "aie.get_stream": _exchange,
    "aie.event": _exchange,
}
