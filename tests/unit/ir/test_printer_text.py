"""Printed text, where it needs no comparison with another tool to know what is right."""

from __future__ import annotations

from io import StringIO
from time import perf_counter
from typing import Any

import pytest
from xdsl.dialects import builtin, test
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, MemRefType, StringAttr, bf16, f16, f32, f64, i32
from xdsl.ir import Block, Operation, Region
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr, AffineMap

from tilewright.dialects import arith, func
from tilewright.dialects.builtin import ModuleOp
from tilewright.ir.affine_text import expr_text
from tilewright.ir.context import make_context
from tilewright.ir.names import sanitized
from tilewright.ir.parser import parse_source
from tilewright.ir.print_floats import float_text
from tilewright.ir.printer import Printer, module_text, print_module


def printed(op: Operation, **options: Any) -> str:
    out = StringIO()
    Printer(out, **options).print_op(op)
    return out.getvalue()


@pytest.mark.parametrize("value, type, text", [
    pytest.param(0.0, f32, "0.000000e+00", id="zero"),
    pytest.param(-0.0, f64, "-0.000000e+00", id="negative zero"),
    pytest.param(0.1, f64, "1.000000e-01", id="six digits are enough to read it back"),
    pytest.param(1 / 3, f64, "0.33333333333333331", id="all digits, no exponent"),
    pytest.param(1e-5 / 3, f64, "3.3333333333333337E-6", id="all digits, exponent without padding"),
    pytest.param(1234567.0, f32, "0x4996B438", id="an integer of more than six digits has no point"),
    pytest.param(2.0**-9, f16, "1.953130e-03", id="rounded up at six digits"),
    pytest.param(-0.72705078125, f16, "-7.270500e-01", id="cut off at six digits, as LLVM does before it rounds"),
    pytest.param(float("inf"), f32, "0x7F800000", id="infinity"),
    pytest.param(-float("inf"), bf16, "0xFF80", id="negative infinity"),
    pytest.param(float("nan"), f16, "0x7E00", id="not a number"),
])  # fmt: skip
def test_float_literal(value: float, type: builtin.AnyFloat, text: str):
    assert float_text(value, type) == text


def test_affine_expression_is_simplified_as_in_mlir():
    d0, one = AffineExpr.dimension(0), AffineExpr.constant(1)
    reversed_sum = AffineBinaryOpExpr(AffineBinaryOpKind.Add, one, d0)
    assert expr_text(reversed_sum) == "d0 + 1"


def test_equal_maps_share_one_alias_however_they_were_built():
    d0, one = AffineExpr.dimension(0), AffineExpr.constant(1)
    maps = [AffineMap(1, 0, (AffineBinaryOpExpr(AffineBinaryOpKind.Add, *terms),)) for terms in ((d0, one), (one, d0))]
    module = ModuleOp([test.TestOp(attributes={"m": AffineMapAttr(m)}) for m in maps])
    assert module_text(module) == (
        "#map = affine_map<(d0) -> (d0 + 1)>\n"
        "module {\n"
        '  "test.op"() {m = #map} : () -> ()\n'
        '  "test.op"() {m = #map} : () -> ()\n'
        "}\n"
    )


@pytest.mark.parametrize("name, text", [
    ("plain", "plain"), ("with space", "with_space"), ("1st", "_1st"), ("a#b", "a23b"), ("#a", "_23a"), (" a", "_a"),
])  # fmt: skip
def test_names_become_identifiers(name: str, text: str):
    assert sanitized(name) == text


class NamedOp(test.TestOp):
    """An operation that names its results and arguments."""

    def result_names(self):
        return ["first", None, "last"]

    def block_argument_names(self, region_index: int):
        return ["element", None][: len(self.regions[region_index].block.args)]


def test_operation_names_its_results_and_arguments():
    body = Region(Block([test.TestOp(result_types=[i32])], arg_types=[i32, f32]))
    module = ModuleOp([NamedOp(result_types=[i32, i32, i32], regions=[body]), NamedOp(result_types=[i32] * 3)])
    assert module_text(module) == (
        "module {\n"
        '  %first:2, %last = "test.op"() ({\n'
        "  ^bb0(%element: i32, %arg0: f32):\n"
        '    %0 = "test.op"() : () -> i32\n'
        "  }) : () -> (i32, i32, i32)\n"
        '  %first_0:2, %last_1 = "test.op"() : () -> (i32, i32, i32)\n'
        "}\n"
    )
    assert "%arg0: i32, %arg1: f32" in module_text(module, generic=True), "the generic form names nothing"


def function_with_constants(count: int) -> func.FuncOp:
    constants = [arith.ConstantOp.from_int_and_width(i % 7, 32) for i in range(count)]
    return func.FuncOp("f", ((i32,), ()), Region(Block([*constants, func.ReturnOp()], arg_types=[i32])))


def test_operation_alone_prints_with_the_names_it_has_in_its_function():
    function = function_with_constants(2)
    ModuleOp([function])
    _, second, *_ = function.body.block.ops
    assert printed(second) == "%c1_i32 = arith.constant 1 : i32"


def test_value_from_elsewhere_is_unknown():
    elsewhere = test.TestOp(result_types=[i32])
    assert printed(test.TestOp(operands=[elsewhere.res[0]])) == '"test.op"(<<UNKNOWN SSA VALUE>>) : (i32) -> ()'


def test_attribute_prints_outside_of_any_operation():
    out = StringIO()
    printer = Printer(out)
    printer.print_attribute(MemRefType(i32, (4,), memory_space=IntegerAttr(2, 64)))
    printer.print_string(", ")
    printer.print_attribute(StringAttr('a"b'))
    assert out.getvalue() == 'memref<4xi32, 2>, "a\\22b"'


def test_program_is_written_to_the_stream():
    out = StringIO()
    print_module(ModuleOp([]), out)
    assert out.getvalue() == "module {\n}\n"


def nested(depth: int) -> ModuleOp:
    op = test.TestOp()
    for _ in range(depth):
        op = test.TestOp(regions=[Region(Block([op]))])
    return ModuleOp([op])


@pytest.mark.parametrize("generic", [False, True])
def test_deep_nesting_is_no_limit(generic: bool):
    assert module_text(nested(3000), generic=generic).count("test.op") == 3001


def test_printing_takes_linear_time():
    def seconds(count: int) -> float:
        module = ModuleOp([function_with_constants(count)])
        best = float("inf")
        for _ in range(3):
            start = perf_counter()
            module_text(module)
            best = min(best, perf_counter() - start)
        return best

    assert seconds(20_000) < 10 * 3 * seconds(2_000)


def test_invalid_program_is_printed_in_generic_form():
    module = parse_source(make_context(), "aie.device(npu1) { %tile = aie.tile(0, 2) }", "test.mlir")
    tile = next(op for op in module.walk() if op.name == "aie.tile")
    del tile.properties["col"]
    assert module_text(module) == module_text(module, generic=True)
    assert '"aie.tile"() <{row = 2 : i32}> : () -> index' in module_text(module)
