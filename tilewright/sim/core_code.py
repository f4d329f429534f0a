"""A core's body -> native code that runs from one wait to the next.

Operations that reach out of the core (locks, streams, cascades, external kernels) are waits. Before one, the code puts
the numbers that matter into the context; after it, it takes the results from there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from llvmlite import ir
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Attribute, Operation

from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.func import CallOp
from tilewright.dialects.memref import GetGlobalOp, GlobalOp
from tilewright.dialects.memref.types import memref_type
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.symbols import lookup_symbol
from tilewright.native.coroutine import Coroutine
from tilewright.native.flow import goes_round
from tilewright.native.functions import call, callee_of
from tilewright.native.host import NativeModule
from tilewright.native.lowering import HEADER_BYTES, SLOT_BYTES, Handler, Lowering, Trap, Unit
from tilewright.native.math_functions import provide_library
from tilewright.native.operations import OPERATIONS
from tilewright.native.ranges import Ranges
from tilewright.native.values import (
    I64,
    POINTER,
    Known,
    MemRef,
    Untranslatable,
    all_parts,
    index,
    value_type,
    whole_buffer,
)

SUSPENDING = frozenset(
    {"aie.use_lock", "aie.put_cascade", "aie.get_cascade", "aie.put_stream", "aie.get_stream", "aie.event", "scf.while"}
)
"""Operations that wait; a loop of unknown length pauses."""
LONG_WORK = 1 << 26
"""A nest of loops that runs more often than this pauses too."""
DEFAULT_CYCLES = 1  # of an operation that is not in COSTS
DECLARED = "tilewright.cycles"
"""Attribute of a `func.func`: how many cycles a call takes on the device, however the body is written here."""


@dataclass(frozen=True)
class SuspendPoint:
    """A wait in the code: the operation, and where in the context its operands and results are."""

    op: Operation
    slots: tuple[int, ...] = ()
    """Offsets in bytes: operands first, then results."""
    lock: LockOp | None = None


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


class _Suspension:
    """Which operations have a wait in them, or in what they call."""

    def __init__(self) -> None:
        self._known: dict[Operation, bool] = {}
        self._works: dict[Operation, int] = {}
        self._ranges = Ranges()

    def __call__(self, op: Operation) -> bool:
        if op not in self._known:
            # Recursion ends here: a function that calls itself waits only if something else in it does.
            self._known[op] = False
            self._known[op] = self._find(op)
        return self._known[op]

    def _find(self, op: Operation) -> bool:
        if op.name in SUSPENDING:
            return True
        if isinstance(op, CallOp):
            callee = callee_of(op)
            # A function without a body is a kernel, which Python calls, so the program has to stop for it.
            return callee.is_declaration or self(callee)
        # Else Ctrl-C and `max_cycles` would come late.
        if self._work(op) > LONG_WORK:
            return True
        if any(goes_round(region) for region in op.regions if region.blocks):
            return True
        return any(self(inner) for inner in _inside(op))

    def _work(self, op: Operation) -> int:
        """How often the innermost part of a nest of loops runs, as far as that is known."""
        if op not in self._works:
            # As above, for functions that call themselves.
            self._works[op] = 1
            inside = [callee_of(op)] if isinstance(op, CallOp) else _inside(op)
            self._works[op] = max(map(self._work, inside), default=1) * (self._ranges.trips(op) or 1)
        return self._works[op]


def _inside(op: Operation) -> Iterator[Operation]:
    return (inner for region in op.regions for block in region.blocks for inner in block.ops)


class _Builder(Coroutine):
    """Builds the coroutine of a core; `stops` are its waits, by their number."""

    def __init__(self, core: CoreOp, *, logs_flow: bool):
        super().__init__(
            Unit(ir.Module("core"), HANDLERS, cycles_of, declared_cycles, _Suspension(), asks_for_signals=True)
        )
        self.stops: list[SuspendPoint] = []
        # Slots first: what follows them in the context begins behind the last one.
        for buffer in _buffers_of(core, set()):
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


def _buffers_of(op: Operation, seen: set[Operation]) -> Iterator[Operation]:
    """What defines the buffers that an operation, or a function that it calls, refers to."""
    for inner in op.walk():
        yield from (operand.owner for operand in inner.operands if isinstance(operand.owner, BufferOp))
        if isinstance(inner, GetGlobalOp):
            yield _global(inner)
        if isinstance(inner, CallOp) and (callee := callee_of(inner)) not in seen:
            seen.add(callee)
            yield from _buffers_of(callee, seen)


def _global(op: GetGlobalOp) -> GlobalOp:
    found = lookup_symbol(op, op.name_)
    if not isinstance(found, GlobalOp):
        fail_op(op, f"refers to @{op.name_.string_value()}, which is no memref.global")
    return found


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
    lowering[op.memref] = _buffer(lowering, _global(op), memref_type(op.memref))


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


@dataclass(frozen=True)
class OperationCost:
    """`source` says where a number comes from."""

    cycles: int
    source: str


def _free(names: Iterable[str], source: str = "no instruction: resolved by the compiler") -> dict[str, OperationCost]:
    return dict.fromkeys(names, OperationCost(0, source))


# An estimate, since the vendor's scheduler is not public. What only names a value or a place in memory takes no time.
COSTS: Mapping[str, OperationCost] = {
    **_free(("arith.constant", "index.constant", "index.bool.constant", "arith.index_cast", "arith.index_castui")),
    **_free(("builtin.unrealized_conversion_cast",)),
    **_free(("arith.bitcast", "vector.shape_cast", "vector.bitcast", "memref.dim", "memref.rank", "memref.cast")),
    **_free(("memref.subview", "memref.reinterpret_cast", "memref.collapse_shape", "memref.expand_shape")),
    **_free(("memref.memory_space_cast", "memref.view", "memref.transpose", "memref.get_global", "memref.alloca")),
    **_free(("memref.assume_alignment", "memref.alloc", "memref.dealloc", "aie.buffer", "aie.lock")),
    **_free(
        ("aie.use_lock", "aie.put_cascade", "aie.get_cascade", "aie.put_stream", "aie.get_stream"),
        "the tile counts these: timing.py",
    ),
}


def declared_cycles(op: Operation) -> int | None:
    """What a function says that a call of it takes."""
    found = op.attributes.get(DECLARED)
    return found.value.data if isinstance(found, IntegerAttr) else None


def cycles_of(op: Operation) -> int:
    cost = COSTS.get(op.name)
    return DEFAULT_CYCLES if cost is None else cost.cycles
