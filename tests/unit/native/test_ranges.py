"""What is known about indices before a program runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.native.ranges import Range, Ranges, exactly
from tilewright.native.region_order import goes_round, reverse_postorder

HEADER = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
"""


def program(text: str) -> ModuleOp:
    return parse_source(make_context(), f"func.func @f(%n: index) {{ {HEADER} {text} return }}", "f.mlir")


def marked(module: ModuleOp) -> Operation:
    """The operation with the attribute `here`."""
    return next(op for op in module.walk() if "here" in op.attributes)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("%x = arith.addi %c3, %c10 {here} : index", Range(13, 13)),
        ("scf.for %i = %c0 to %c10 step %c1 { %x = arith.muli %i, %c3 {here} : index }", Range(0, 27)),
        ("scf.for %i = %c1 to %c10 step %c3 { %x = arith.addi %i, %c0 {here} : index }", Range(1, 7)),
        ("scf.for %i = %c0 to %c10 step %c1 { %x = arith.subi %c3, %i {here} : index }", Range(-6, 3)),
        ("affine.for %i = 0 to 8 { %x = affine.apply affine_map<(d) -> (d * 4 + 2)>(%i) {here} }", Range(2, 30)),
        ("scf.for %i = %c0 to %c10 step %c1 { %x = arith.remui %i, %c3 {here} : index }", Range(0, 2)),
        ("scf.for %i = %c0 to %n step %c1 { %x = arith.addi %i, %c1 {here} : index }", None),
        ("%x = arith.remsi %n, %c3 {here} : index", None),
        ("%t = gpu.thread_id x\n%x = arith.remui %t, %c16 {here} : index", Range(0, 15)),
        ("%t = gpu.lane_id\nscf.for %i = %t to %c16 step %c3 { %x = arith.addi %i, %c0 {here} : index }", Range(0, 15)),
    ],
)
def test_range(text: str, expected: Range | None) -> None:
    assert Ranges().of(marked(program(text)).results[0]) == expected


def test_what_may_wrap_is_unknown() -> None:
    module = program("%a = arith.constant 100 : i8\n%x = arith.addi %a, %a {here} : i8")
    assert Ranges().of(marked(module).results[0]) is None


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param("scf.for unsigned %i = %c0 to %far step %c1", id="to a bound that is large without a sign"),
        pytest.param("scf.for %i = %c3 to %c10 step %large", id="beyond the largest number"),
    ],
)
def test_a_variable_that_may_leave_its_bounds_is_unknown(loop: str) -> None:
    constants = f"%far = arith.constant -1 : index\n%large = arith.constant {(1 << 63) - 1} : index"
    module = program(f"{constants}\n{loop} {{ %x = arith.addi %i, %c0 {{here}} : index }}")
    assert Ranges().of(marked(module).results[0]) is None


@given(*(st.tuples(st.integers(-9, 9), st.integers(0, 9)) for _ in range(2)))
def test_arithmetic_of_ranges_holds_all_results(left: tuple[int, int], right: tuple[int, int]) -> None:
    a, b = Range(left[0], left[0] + left[1]), Range(right[0], right[0] + right[1])
    for x in range(a.low, a.high + 1):
        for y in range(b.low, b.high + 1):
            for found, exact in ((a + b, x + y), (a - b, x - y), (a * b, x * y)):
                assert found.low <= exact <= found.high


@pytest.mark.parametrize(
    "bounds, trips", [("%c0 to %c10 step %c3", 4), ("%c10 to %c0 step %c1", 0), ("%c0 to %n step %c1", None)]
)
def test_trips(bounds: str, trips: int | None) -> None:
    loop = marked(program(f"scf.for %i = {bounds} {{ }} {{here}}"))
    assert Ranges().trips(loop) == trips


def test_exactly_one_number() -> None:
    assert exactly(4) * Range(-1, 2) == Range(-4, 8)


def test_blocks_come_after_what_dominates_them() -> None:
    text = """func.func @f(%c: i1) {
      cf.br ^head
    ^tail:
      return
    ^body:
      cf.br ^head
    ^head:
      cf.cond_br %c, ^body, ^tail
    ^unreachable:
      cf.br ^tail
    }"""
    function = next(op for op in parse_source(make_context(), text, "f.mlir").walk() if op.name == "func.func")
    entry, tail, body, head, unreachable = function.regions[0].blocks
    order = reverse_postorder(function.regions[0])
    assert order[:2] == [entry, head] and set(order[2:]) == {body, tail} and unreachable not in order
    assert goes_round(function.regions[0])
