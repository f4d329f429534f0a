"""A core's body, however it is executed: what waits in it, what takes how long, which buffers it uses.

Operations that reach out of the core (locks, streams, cascades, external kernels) are waits. Before one, the program
puts the numbers that matter into the context; after it, it takes the results from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.func import CallOp, callee_of
from tilewright.dialects.memref import GetGlobalOp, GlobalOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.symbols import lookup_symbol
from tilewright.native.ranges import Ranges
from tilewright.native.region_order import goes_round

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


class Suspension:
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


def buffers_of(op: Operation, seen: set[Operation]) -> Iterator[Operation]:
    """What defines the buffers that an operation, or a function that it calls, refers to."""
    for inner in op.walk():
        yield from (operand.owner for operand in inner.operands if isinstance(operand.owner, BufferOp))
        if isinstance(inner, GetGlobalOp):
            yield global_of(inner)
        if isinstance(inner, CallOp) and (callee := callee_of(inner)) not in seen:
            seen.add(callee)
            yield from buffers_of(callee, seen)


def global_of(op: GetGlobalOp) -> GlobalOp:
    found = lookup_symbol(op, op.name_)
    if not isinstance(found, GlobalOp):
        fail_op(op, f"refers to @{op.name_.string_value()}, which is no memref.global")
    return found


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
