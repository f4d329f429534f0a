"""What the verifier says about programs that no text can express, and how it copes with large ones.

What it says about text is in tests/filecheck/driver/verifier.mlir.
"""

from __future__ import annotations

import time

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import DenseArrayBase, FunctionType, IntegerAttr, StringAttr, i32, i64
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, region_def, traits_def
from xdsl.traits import IsTerminator, NoTerminator, OpTrait, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects import arith, cf, func, scf
from tilewright.dialects.aie.dma_bd import DmaBdOp
from tilewright.dialects.aiex.tasks import DmaConfigureTaskOp
from tilewright.dialects.builtin import ModuleOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.ir.verifier import verify


@irdl_op_definition
class StopOp(IRDLOperation):
    name = "my.stop"
    traits = traits_def(IsTerminator())


@irdl_op_definition
class OtherStopOp(IRDLOperation):
    name = "my.other_stop"
    traits = traits_def(IsTerminator())


@irdl_op_definition
class OuterOp(IRDLOperation):
    name = "my.outer"
    body = region_def()
    traits = traits_def(SingleBlockImplicitTerminator(StopOp))


@irdl_op_definition
class CountsOp(IRDLOperation):
    """Wants to be looked at after what is in it."""

    name = "my.counts"
    body = region_def()
    traits = traits_def(NoTerminator())

    def verify_regions(self) -> None:
        if len(self.body.block.ops) != 2:
            raise VerifyException("expects two operations")


class NeverRight(OpTrait):
    def verify(self, op: Operation) -> None:
        raise VerifyException(f"'{op.name}' can never be right")


@irdl_op_definition
class WrongOp(IRDLOperation):
    name = "my.wrong"
    traits = traits_def(NeverRight())


def messages(op: Operation) -> list[str]:
    return [line for error in verify(op) for line in error.lines()]


def function(*ops: Operation) -> func.FuncOp:
    return func.FuncOp("f", FunctionType.from_lists([], []), Region(Block([*ops, func.ReturnOp()])))


def test_a_value_from_outside_of_an_isolated_operation() -> None:
    one = arith.ConstantOp.from_int_and_width(1, i32)
    module = ModuleOp([one, function(arith.AddiOp(one, one))])
    assert messages(module) == [
        "error: 'arith.addi' op using value defined outside the region",
        "note: required by region isolation constraints",
    ]


def test_values_from_outside_are_fine_where_the_operation_is_not_isolated() -> None:
    true = arith.ConstantOp.from_int_and_width(1, 1)
    one = arith.ConstantOp.from_int_and_width(1, i32)
    branch = scf.IfOp(true, [], Region(Block([arith.AddiOp(one, one), scf.YieldOp()])), Region())
    module = ModuleOp([function(true, one, branch)])
    assert not verify(module)
    assert not verify(branch)


def test_the_name_of_an_operation_is_said_once() -> None:
    assert messages(ModuleOp([WrongOp()])) == ["error: 'my.wrong' op can never be right"]


def test_a_region_ends_with_the_terminator_of_its_operation() -> None:
    assert not verify(OuterOp(regions=[Region(Block([StopOp()]))]))
    assert messages(OuterOp(regions=[Region(Block([OtherStopOp()]))])) == [
        "error: 'my.outer' op expects regions to end with 'my.stop', found 'my.other_stop'",
        "note: in custom textual format, the absence of terminator implies 'my.stop'",
    ]
    blocks = [Block([StopOp()]), Block([StopOp()])]
    assert messages(OuterOp(regions=[Region(blocks)])) == [
        "error: 'my.outer' op expects region #0 to have 0 or 1 blocks"
    ]


def test_rules_about_regions_come_after_what_is_in_them() -> None:
    assert messages(CountsOp(regions=[Region(Block([WrongOp()]))])) == ["error: 'my.wrong' op can never be right"]
    assert messages(CountsOp(regions=[Region(Block([test.TestOp()]))])) == [
        "error: 'my.counts' op expects two operations"
    ]
    assert not verify(CountsOp(regions=[Region(Block([test.TestOp(), test.TestOp()]))]))


def test_a_wrong_function_hides_what_is_wrong_with_the_table_around_it() -> None:
    twice = [function(WrongOp()), function()]
    assert messages(ModuleOp([*twice])) == ["error: 'my.wrong' op can never be right"]
    again = [function(), function()]
    assert messages(ModuleOp([*again]))[0] == "error: redefinition of symbol named 'f'"


def test_visibility() -> None:
    declared = func.FuncOp.external("f", [], [])
    declared.sym_visibility = StringAttr("hidden")
    assert messages(ModuleOp([declared])) == [
        'error: \'func.func\' op visibility expected to be one of ["public", "private", "nested"], but got "hidden"'
    ]


def test_branches_lead_to_blocks_of_the_same_region() -> None:
    elsewhere = Block([func.ReturnOp()])
    other = func.FuncOp("g", FunctionType.from_lists([], []), Region([Block([func.ReturnOp()]), elsewhere]))
    region = Region([Block([cf.BranchOp(elsewhere)]), Block([func.ReturnOp()])])
    module = ModuleOp([other, func.FuncOp("f", FunctionType.from_lists([], []), region)])
    assert messages(module) == ["error: 'cf.br' op branching to block of a different region"]


@pytest.mark.parametrize("depth", [3000])
def test_depth_is_no_problem(depth: int) -> None:
    op: Operation = test.TestOp()
    for _ in range(depth):
        op = CountsOp(regions=[Region(Block([op, test.TestOp()]))])
    assert not verify(op)


def test_cost_grows_with_size_and_not_faster() -> None:
    def seconds(count: int) -> float:
        ops = [arith.ConstantOp.from_int_and_width(1, i32)]
        ops += [arith.ConstantOp.from_int_and_width(i, i32) for i in range(count)]
        calls = [func.CallOp(f"f{i}", [], []) for i in range(count)]
        declared = [func.FuncOp.external(f"f{i}", [], []) for i in range(count)]
        module = ModuleOp([function(*ops, *calls), *declared])
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            assert not verify(module)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(4000) < 8 * seconds(1000)


def test_operations_that_differ_in_numbers_are_told_apart_where_these_matter() -> None:
    """Numbers that any will do are not looked at again; a limit, an enum or a count of operands is."""
    text = """
      aie.device(npu1) {
        %t = aie.tile(0, 0)
        aie.runtime_sequence(%a: memref<64xi32>) {
          %x = aiex.dma_configure_task(%t, MM2S, 0) { aie.dma_bd(%a : memref<64xi32> offset = 0 len = 8) aie.end }
          %y = aiex.dma_configure_task(%t, MM2S, 0) { aie.dma_bd(%a : memref<64xi32> offset = 8 len = 8) aie.end }
        }
      }"""
    module = parse_source(make_context(), text, "t.mlir")
    assert not verify(module)
    first, second = ops_of(all_operations(module), DmaBdOp)
    second.properties["static_offset"] = IntegerAttr(8, i64)
    assert "static_offset" in verify(module)[0].text
    second.properties["static_offset"] = first.properties["static_offset"]
    second.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [1, 1, 0, 0, 0])
    assert "operand count" in verify(module)[0].text
    second.properties["operandSegmentSizes"] = first.properties["operandSegmentSizes"]
    task = ops_of(all_operations(module), DmaConfigureTaskOp)[1]
    task.properties["direction"] = IntegerAttr(7, i32)
    assert "direction" in verify(module)[0].text
