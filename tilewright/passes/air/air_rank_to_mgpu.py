"""Makes ranks processes: each asks the runtime which one it is and runs the body once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects import arith
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.levels import RankOp
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.ir.diagnostics import fail
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.hierarchies import check_messages_are_lowered, enclosing_function, inline_body, wait_before
from tilewright.passes.air.runtime_calls import GET_RANK, HEAP_DESTROY, HEAP_INIT, call, declare
from tilewright.rewrite.emitter import Emitter

DEFAULT_HEAP_BYTES = 256 << 20


@dataclass(frozen=True)
class AirRankToMgpuPass(Pass):
    name = "air-rank-to-mgpu"

    heap_size: int = field(
        default=DEFAULT_HEAP_BYTES, metadata={"help": "bytes of each rank's symmetric heap", "option": "heap-size"}
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        ranks = ops_of(all_operations(op), RankOp)
        if not ranks:
            return
        if not 1 <= self.heap_size < 1 << 63:
            fail(None, f"heap-size takes bytes, from 1 to {(1 << 63) - 1}; got {self.heap_size}")
        for rank in ranks:
            check_messages_are_lowered(rank)
        declare(op, HEAP_INIT, HEAP_DESTROY, GET_RANK)
        for function in dict.fromkeys(enclosing_function(rank) for rank in ranks):
            self._bracket(function)
        for rank in ranks:
            _inline(rank)

    def _bracket(self, function: FuncOp) -> None:
        """Have the heap as long as the function runs."""
        start = Emitter.at_start(function.body.blocks[0], function.location)
        call(start, HEAP_INIT, [start.i64(self.heap_size)])
        # a function may return at several places
        for block in function.body.blocks:
            if isinstance(block.last_op, ReturnOp):
                call(Emitter.before(block.last_op), HEAP_DESTROY)


def _inline(rank: RankOp) -> None:
    """Put the body in place of the rank, for the one point of its space that this process is."""
    emitter = Emitter.before(rank)
    wait_before(rank, emitter)
    (number,) = call(emitter, GET_RANK)
    flat = emitter.value(arith.IndexCastOp(emitter.value(arith.ExtSIOp(number, i64)), INDEX))
    inline_body(rank, _coordinates(emitter, flat, rank.extents))


def _coordinates(emitter: Emitter, flat: SSAValue, sizes: Sequence[SSAValue]) -> list[SSAValue]:
    """The point of the space that a process is, the first dimension counting fastest."""
    coordinates: list[SSAValue] = []
    # the last one needs no division: no process has a number beyond the world
    for size in sizes[:-1]:
        coordinates.append(emitter.value(arith.RemSIOp(flat, size)))
        flat = emitter.value(arith.DivSIOp(flat, size))
    return [*coordinates, flat] if sizes else []
