"""The greedy driver: order, locations, constants, dead code, and how often it looks at an operation."""

from __future__ import annotations

import pytest
from helpers import first
from xdsl.dialects.builtin import FileLineColLoc, IntegerAttr, ModuleOp, StringAttr, UnknownLoc, f32, i32
from xdsl.ir import Block, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tilewright.dialects import arith
from tilewright.dialects.func import FuncOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.rewrite.driver import GREEDY, Config, Simplify, rewrite
from tilewright.rewrite.emitter import Emitter


def parse(text: str) -> ModuleOp:
    return parse_source(make_context(allow_unregistered=True), text, "input.mlir")


class Record(RewritePattern):
    """Matches nothing and remembers what it was asked about."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if "name" in op.attributes:
            name = op.attributes["name"]
            assert isinstance(name, StringAttr)
            self.seen.append(name.data)


class AddToSub(RewritePattern):
    """`a + b` becomes `a - (0 - b)`, in three operations that say nothing of where they come from."""

    def __init__(self) -> None:
        self.matches = 0

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter) -> None:
        self.matches += 1
        zero = arith.ConstantOp(IntegerAttr(0, i32))
        negated = arith.SubiOp(zero, op.rhs)
        rewriter.replace(op, [zero, negated, arith.SubiOp(op.lhs, negated)])


NESTED = """
"test.outer"() ({
  "test.inner"() {name = "first"} : () -> ()
  "test.inner"() {name = "second"} : () -> ()
}) {name = "outer"} : () -> ()
"test.last"() {name = "last"} : () -> ()
"""


@pytest.mark.parametrize(
    "top_down, expected",
    [
        pytest.param(True, ["outer", "first", "second", "last"], id="top down: as written"),
        pytest.param(False, ["last", "second", "outer", "first"], id="bottom up: ancestors before their first"),
    ],
)
def test_order(top_down: bool, expected: list[str]) -> None:
    record = Record()
    assert not rewrite(parse(NESTED), record, config=Config(top_down=top_down))
    assert record.seen == expected


def test_new_operations_take_the_location_of_the_matched_one() -> None:
    module = parse("func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n")
    assert rewrite(module, AddToSub())
    made = [op for op in module.walk() if op.name in ("arith.subi", "arith.constant")]
    assert len(made) == 3
    for op in made:
        assert isinstance(op.location, FileLineColLoc)
        assert (op.location.filename.data, op.location.line.data) == ("input.mlir", 2)


def test_operations_that_have_a_location_keep_it() -> None:
    (located,) = parse('"test.op"() : () -> () loc("elsewhere.py":7:1)').body.block.ops
    where = located.location

    class Located(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter) -> None:
            new = arith.SubiOp(op.lhs, op.rhs)
            new.location = where
            rewriter.replace(op, new)

    module = parse("func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n")
    rewrite(module, Located())
    (new,) = (op for op in module.walk() if op.name == "arith.subi")
    assert new.location == where


def test_work_is_linear_in_the_program() -> None:
    count = 2000
    lines = [f"  %{i + 1} = arith.addi %{i}, %{i} : i32" for i in range(count)]
    text = "func.func @f(%0: i32) -> i32 {\n" + "\n".join(lines) + f"\n  return %{count} : i32\n}}\n"
    text = text.replace("%0: i32", "%a: i32").replace("%0,", "%a,").replace("%0 :", "%a :")
    module, pattern = parse(text), AddToSub()
    rewrite(module, pattern)
    assert pattern.matches == count
    assert sum(op.name == "arith.subi" for op in module.walk()) == 2 * count


def test_constants_are_shared_and_dead_code_goes_only_if_asked() -> None:
    text = """
func.func @f() {
  %0 = arith.constant 1 : i32
  "test.use"(%0) : (i32) -> ()
  %1 = arith.constant 1 : i32
  %2 = arith.constant 2 : i32
  "test.use"(%1) : (i32) -> ()
  return
}
"""
    plain, folded = parse(text), parse(text)
    assert not rewrite(plain)
    assert sum(op.name == "arith.constant" for op in plain.walk()) == 3
    assert rewrite(folded, config=GREEDY)
    assert [op.name for op in first(FuncOp, folded).body.block.ops] == [
        "arith.constant",
        "builtin.unregistered",
        "builtin.unregistered",
        "func.return",
    ]


def test_regions_are_simplified_only_if_asked() -> None:
    text = """
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  "test.work"() : () -> ()
  return
^b:
  "test.work"() : () -> ()
  return
}
"""
    for level, blocks in ((Simplify.DISABLED, 3), (Simplify.NORMAL, 3), (Simplify.AGGRESSIVE, 2)):
        module = parse(text)
        rewrite(module, config=Config(simplify=level))
        assert len(first(FuncOp, module).body.blocks) == blocks


def test_a_pattern_that_never_ends_is_stopped() -> None:
    class Flip(RewritePattern):
        """Swaps the operands, for ever."""

        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: arith.SubiOp, rewriter: PatternRewriter) -> None:
            rewriter.replace(op, arith.SubiOp(op.rhs, op.lhs))

    module = parse("func.func @f(%a: i32, %b: i32) -> i32 {\n  %0 = arith.subi %a, %b : i32\n  return %0 : i32\n}\n")
    assert rewrite(module, Flip(), config=Config(max_iterations=2, max_rewrites=3))
    assert "arith.subi" in module_text(module)


def test_emitted_constants() -> None:
    block = Block()
    second = Emitter.at_start(block, UnknownLoc()).constant(-1, i32)
    first = Emitter.at_start(block, UnknownLoc()).constant(0.5, f32)
    assert [op.results[0] for op in block.ops] == [first, second]
    assert (first.type, second.type) == (f32, i32)
    assert isinstance(second.owner, Operation) and isinstance(second.owner.location, UnknownLoc)
