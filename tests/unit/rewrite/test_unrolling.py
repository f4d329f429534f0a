"""However a loop is unrolled, it does the same: the calls that are left when all is unrolled are those of the loop."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp

from tilewright.dialects import scf
from tilewright.dialects.func import CallOp, FuncOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.verifier import verify
from tilewright.passes.standard.canonicalize import CanonicalizePass
from tilewright.rewrite.emitter import constant_op
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.unrolling import (
    iterations,
    loops_innermost_first,
    peel_first_iteration,
    unroll,
    unroll_by,
)

PROGRAM = """
func.func private @use(index, index)
func.func @loop(%begin: index, %end: index, %step: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %begin to %end step %step iter_args(%count = %c0) -> (index) {
    func.call @use(%i, %count) : (index, index) -> ()
    %next = arith.addi %count, %c1 : index
    scf.yield %next : index
  }
  func.call @use(%end, %last) : (index, index) -> ()
  return
}
"""


def set_bounds(module: ModuleOp, bounds: tuple[int, int, int]) -> None:
    """Let the function be called with these arguments alone."""
    function = next(op for op in module.walk() if isinstance(op, FuncOp) and op.sym_name.data == "loop")
    block = function.body.block
    for argument, value in zip(block.args, bounds, strict=True):
        constant = constant_op(value, IndexType())
        assert block.first_op is not None
        block.insert_op_before(constant, block.first_op)
        argument.replace_all_uses_with(constant.results[0])


def calls(ctx: Context, module: ModuleOp) -> list[tuple[int | None, int | None]]:
    """The arguments of all calls, in order, once no loop is left."""
    CanonicalizePass().apply(ctx, module)
    for loop in list(loops_innermost_first(module)):
        count = iterations(loop)
        assert count
        unroll(loop, count)
    assert not verify(module)
    CanonicalizePass().apply(ctx, module)
    found = [op for op in module.walk() if isinstance(op, CallOp)]
    return [(scalar_int(call.operands[0]), scalar_int(call.operands[1])) for call in found]


def expected(begin: int, end: int, step: int) -> list[tuple[int, int]]:
    turns = range(begin, end, step)
    return [*((i, count) for count, i in enumerate(turns)), (end, len(turns))]


WAYS: dict[str, Callable[[scf.ForOp, int], object]] = {
    "unrolled": unroll_by,
    "peeled": lambda loop, _: peel_first_iteration(loop),
}


@pytest.mark.parametrize("known", [True, False], ids=["known bounds", "bounds at run time"])
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=30, deadline=None)
@given(st.tuples(st.integers(-9, 9), st.integers(-9, 20), st.integers(1, 4)), st.integers(2, 5))
def test_same_calls(way: str, known: bool, bounds: tuple[int, int, int], factor: int) -> None:
    begin, end, _ = bounds
    if way == "peeled" and end <= begin:  # only a loop that runs is peeled
        return
    ctx = make_context()
    module = parse_source(ctx, PROGRAM, "loop.mlir")
    if known:
        set_bounds(module, bounds)
    WAYS[way](loops_innermost_first(module)[0], factor)
    assert not verify(module)
    if not known:
        set_bounds(module, bounds)
    assert calls(ctx, module) == expected(*bounds)
