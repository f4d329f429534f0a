# ruff: noqa: E501  (rows of MLIR text)
"""What the reader makes of a text: operations as xDSL's own parser makes them, names and locations as MLIR has them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import mlir_modules
import pytest
from helpers import MLIR_OPT, mlir_opt, needs_mlir_opt
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser as StockParser
from xdsl.utils.exceptions import ParseError

from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError, file_position
from tilewright.ir.locations import FileLineColRange
from tilewright.ir.operation_parser import OperationParser
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text


def read(text: str | bytes, allow_unregistered: bool = True) -> ModuleOp:
    return parse_source(make_context(allow_unregistered), text, "t.mlir")


def stock_context() -> Context:
    """Only what xDSL defines, as xDSL defines it."""
    ctx = Context(allow_unregistered=True)
    for name, factory in get_all_dialects().items():
        ctx.register_dialect(name, factory)
    return ctx


def attribute(text: str) -> Attribute:
    return OperationParser(make_context(allow_unregistered=True), text, "t.mlir").parse_attribute()


# Files


def test_operations_without_a_module_get_one() -> None:
    module = read("func.func private @f()\nfunc.func private @g()")
    assert [op.name for op in module.ops] == ["func.func", "func.func"]
    assert file_position(module.location) == ("t.mlir", 1, 1)


def test_single_module_is_not_wrapped() -> None:
    module = read('#x = 1\nmodule @m { module @n {} }\n{-# external_resources: {a: {b: true, c: "d"}} #-}')
    assert module.sym_name == StringAttr("m")
    assert file_position(module.location) == ("t.mlir", 2, 1)


@pytest.mark.parametrize("text", ["", " \n\t", "// only a comment", "#x = 1\n!t = i32\n"])
def test_nothing_is_an_empty_module(text: str) -> None:
    assert not list(read(text).ops)


def test_reading_leaves_the_interpreter_as_it_was() -> None:
    before = gc.isenabled(), sys.getrecursionlimit()
    read("module {}")
    with pytest.raises(DiagnosedError):
        read("module {")
    assert (gc.isenabled(), sys.getrecursionlimit()) == before


def test_api_of_xdsl_raises_parse_errors() -> None:
    with pytest.raises(ParseError):
        OperationParser(make_context(), "1").parse_keyword("two")


# The same as xDSL


def same(text: str) -> None:
    ctx = stock_context()
    stock = StockParser(ctx, text, "t.mlir").parse_module()
    ours = parse_source(ctx, text, "t.mlir")
    assert module_text(stock, generic=True) == module_text(ours, generic=True)
    ours.verify()


@pytest.mark.parametrize(
    "text",
    [
        "func.func @f(%a: i32) -> (i32, i32) { return %a, %a : i32, i32 }",
        '%0:2, %1 = "t.x"(%2#1) ({^a(%q: i32): "t.y"()[^a, ^b] : () -> () ^b: }, {}) : (i8) -> (i1, i2, i3)\n'
        '%2:2 = "t.z"() <{p = 1 : i8}> {q, r = []} : () -> (i8, i8)',
        "func.func @f(%c: i1, %m: memref<?x4xf32>, %i: index) {\n  %x = memref.load %m[%i, %i] : memref<?x4xf32>\n"
        "  %y = scf.if %c -> (f32) { scf.yield %x : f32 } else { scf.yield %x : f32 }\n"
        "  scf.for %k = %i to %i step %i { memref.store %y, %m[%k, %i] : memref<?x4xf32> }\n  return\n}",
        '#m = affine_map<(d0, d1)[s0] -> (d0 + s0, d1 mod 4)>\n!v = vector<[4]x2xi32>\n"t.x"() {m = #m, v = !v} : () -> ()',
        "func.func @f(%a: vector<2xf32>) { %0 = vector.shuffle %a, %a [0, 3] : vector<2xf32>, vector<2xf32> return }",
        "func.func @f(%a: i32) { cf.switch %a : i32, [default: ^bb1(%a : i32), 42: ^bb2] ^bb1(%x: i32): return ^bb2: return }",
    ],
)
def test_same_as_xdsl(text: str) -> None:
    same(text)


VALUES = st.sampled_from(["%a", "%b", "%c0", "%late#1"])
LINES = st.one_of(
    st.builds("%v{0} = arith.addi %a, %b : i32".format, st.integers(0, 10**6)),
    st.builds(
        "%v{0} = arith.muli %b, %b overflow<nsw> {{x = {1} : i8}} : i32".format, st.integers(), st.integers(-128, 255)
    ),
    st.builds("%v{0} = arith.constant {1} : i32".format, st.integers(), st.integers(-(2**31), 2**32 - 1)),
    st.builds("%v{0} = arith.constant {1!r} : f64".format, st.integers(), st.floats(1e-3, 1e3)),
    st.builds("%v{0} = memref.load %m[%i, %i] : memref<4x{1}xi32>".format, st.integers(), st.just("?")),
    st.builds("memref.store %a, %m[%i, %i] : memref<4x?xi32>".format),
    st.builds(
        '"t.x"({0}) {{k = {1}}} : (i32) -> ()'.format, VALUES, st.sampled_from(["1", '"s"', "[i8, @a::@b]", "{z}"])
    ),
)


def _lines(body: list[str]) -> list[str]:
    return [line.replace("%v", f"%v{number}_") for number, line in enumerate(body)]


@settings(deadline=None, max_examples=40)
@given(st.lists(LINES, max_size=12), st.lists(LINES, max_size=6))
def test_random_functions_are_the_same_as_xdsl(outer: list[str], inner: list[str]) -> None:
    body = "\n".join(_lines(outer))
    nested = "\n".join(_lines(inner)).replace("%v", "%w")
    same(
        "func.func @f(%a: i32, %b: i32, %c0: i32, %i: index, %m: memref<4x?xi32>) {\n"
        f'{body}\nscf.for %k = %i to %i step %i {{\n{nested}\n}}\n%late:2 = "t.y"() : () -> (i8, i32)\nreturn\n}}'
    )


# The same as MLIR


@needs_mlir_opt
@pytest.mark.parametrize("seed", range(3))
def test_locations_are_those_of_mlir(seed: int) -> None:
    """What mlir-opt writes at the end of each operation is what the reader finds by itself."""
    program = next(mlir_modules.modules(seed=100 + seed, count=1, operations=200))
    written = mlir_opt(program, "--mlir-print-debuginfo", "--mlir-print-op-generic", "--allow-unregistered-dialect")
    ours = parse_source(make_context(allow_unregistered=True), program, "<stdin>")
    assert list(places(read(written))) == list(places(ours))


def places(module: ModuleOp) -> Iterator[tuple[str, object]]:
    for op in module.walk():
        yield op.name, file_position(op.location)
        for region in op.regions:
            for block in region.blocks:
                yield from (("argument", file_position(argument.location)) for argument in block.args)


@pytest.mark.parametrize(
    "text, printed",
    [
        pytest.param("0xabc00def : i32", "-1413476881 : i32", id="hexadecimal bits"),
        pytest.param("4294967295 : i32", "-1 : i32", id="upper half of the unsigned range"),
        pytest.param("0xFF : ui8", "255 : ui8", id="unsigned"),
        pytest.param("-128 : si8", "-128 : si8", id="signed"),
        pytest.param("0x10000000000000000 : i128", "18446744073709551616 : i128", id="wide"),
        pytest.param("0x7fc00000 : f32", "0x7FC00000 : f32", id="float bits"),
        pytest.param("0x3f80 : bf16", "1.000000e+00 : bf16", id="bfloat bits"),
        pytest.param("1.e4 : f8E5M2", "1.024000e+04 : f8E5M2", id="small float"),
        pytest.param("true", "true", id="boolean"),
        pytest.param("[1, unit, i32]", "[1, unit, i32]", id="array"),
        pytest.param('{"a b" = 1 : i8, c}', '{"a b" = 1 : i8, c}', id="dictionary"),
        pytest.param('@a::@"b c"::@d', '@a::@"b c"::@d', id="nested symbol"),
        pytest.param('"\\C3\\A9"', '"\\C3\\A9"', id="escaped UTF-8"),
        pytest.param("memref<4xi32, 0>", "memref<4xi32>", id="default memory space"),
        pytest.param("memref<4xi32, affine_map<(d0) -> (d0)>, 3>", "memref<4xi32, 3>", id="identity layout"),
        pytest.param("memref<*xi32, 1>", "memref<*xi32, 1>", id="unranked memref"),
        pytest.param("memref<?x0x4xf32, strided<[?, 1, 2], offset: ?>>", None, id="strided"),
        pytest.param("tensor<4 x 5 x i32>", "tensor<4x5xi32>", id="spaces in dimensions"),
        pytest.param("tensor<0x10xi32>", "tensor<0x10xi32>", id="zero is no hexadecimal"),
        pytest.param("tensor<2xi32, #foo.bar<a<b> -> (c)>>", None, id="encoding"),
        pytest.param("vector<4x[2]xf32>", "vector<4x[2]xf32>", id="scalable"),
        pytest.param("tuple<i32, tuple<>>", "tuple<i32, tuple<>>", id="tuple"),
        pytest.param("complex<f32>", "complex<f32>", id="complex"),
        pytest.param("(i32, (i8) -> ()) -> (i32)", "(i32, (i8) -> ()) -> i32", id="function"),
        pytest.param("array<i1: true, false>", "array<i1: true, false>", id="boolean array"),
        pytest.param("array<f32: 1.0, 0x7FC00000>", "array<f32: 1.000000e+00, 0x7FC00000>", id="float array"),
        pytest.param(
            "dense<[[1, 0xFF], [-3, 4]]> : tensor<2x2xi8>", "dense<[[1, -1], [-3, 4]]> : tensor<2x2xi8>", id="dense"
        ),
        pytest.param('dense<"0x01020304"> : tensor<4xi8>', "dense<[1, 2, 3, 4]> : tensor<4xi8>", id="bytes"),
        pytest.param('dense<"0x05"> : tensor<4xi1>', "dense<[true, false, true, false]> : tensor<4xi1>", id="bits"),
        pytest.param("dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>", None, id="complex splat"),
        pytest.param("dense<> : tensor<0xi32>", "dense<> : tensor<0xi32>", id="no elements"),
        pytest.param("#foo.bar<a = http://x; [1 -> 2]>", None, id="any text in a dialect's attribute"),
        pytest.param("!foo<bar<1>>", None, id="opaque form"),
        pytest.param("affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 == 1, d0 <= s0)>", None, id="set"),
        pytest.param("affine_map<(d0, d1) -> ((d0 + d1) * 2 + d0 * 0, -d0 mod 3, d1 floordiv 1)>", None, id="map"),
    ],
)
def test_attribute(text: str, printed: str | None) -> None:
    """Reads, prints, reads the same again, and prints as MLIR does."""
    source = f'"t.x"() {{a = {text}}} : () -> ()'
    ours = module_text(read(source), generic=True)
    assert module_text(read(ours), generic=True) == ours
    assert printed is None or printed in ours
    if MLIR_OPT is not None:
        theirs = mlir_opt(source, "--mlir-print-op-generic", "--allow-unregistered-dialect")
        assert ours.strip() == theirs.strip()


def test_distinct_attributes_are_the_same_by_number() -> None:
    listed = attribute("[distinct[0]<unit>, distinct[1]<>, distinct[0]<>]")
    assert isinstance(listed, ArrayAttr)
    first, second, third = listed
    assert first == third != second
    assert str(attribute("distinct[7]<5 : i8>")) == "distinct[7]<5 : i8>"


# Names and locations


def arguments(op: Operation) -> list[str | None]:
    return [argument.name_hint for argument in op.regions[0].blocks[0].args]


def test_names_are_kept() -> None:
    module = read(
        'func.func @f(%M: i32, %arg_0: i32, %0: i32, %-a.b$1: i32) { %x:2 = "t.x"() : () -> (i8, i8) return }'
    )
    function = module.body.block.first_op
    assert function is not None
    assert arguments(function) == ["M", "arg_0", None, "-a.b$1"]
    inside = function.regions[0].block.first_op
    assert inside is not None
    assert [result.name_hint for result in inside.results] == ["x", "x"]


@pytest.mark.parametrize(
    "text, kind, position",
    [
        pytest.param('loc("f":3:4)', FileLineColLoc, ("f", 3, 4), id="file"),
        pytest.param('loc("f":3)', FileLineColLoc, ("f", 3, 0), id="line"),
        pytest.param('loc("f":3:4 to 5:6)', FileLineColRange, ("f", 3, 4), id="range"),
        pytest.param('loc("f":3:4 to :6)', FileLineColRange, ("f", 3, 4), id="range in a line"),
        pytest.param('loc("n")', NameLoc, None, id="name"),
        pytest.param('loc("n"("f":3:4))', NameLoc, ("f", 3, 4), id="name with place"),
        pytest.param('loc(fused["n", "f":3:4, "f":3:4])', FusedLoc, ("f", 3, 4), id="fused"),
        pytest.param('loc(fused<"m">["f":3:4])', FusedLoc, ("f", 3, 4), id="fused with metadata"),
        pytest.param('loc(fused["f":3:4, unknown])', FileLineColLoc, ("f", 3, 4), id="fused of one"),
        pytest.param('loc(callsite("f":3:4 at "g":5:6))', CallSiteLoc, ("f", 3, 4), id="call site"),
        pytest.param("loc(unknown)", UnknownLoc, None, id="unknown"),
        pytest.param("loc(#here)", NameLoc, ("f", 3, 4), id="alias"),
        pytest.param("loc(#later)", FileLineColLoc, ("f", 7, 8), id="alias defined further down"),
        pytest.param("", FileLineColLoc, ("t.mlir", 2, 6), id="none written"),
    ],
)
def test_location(text: str, kind: type[Attribute], position: object) -> None:
    source = f'#here = loc("n"("f":3:4))\n%0 = "t.x"() : () -> i8 {text}\nmodule {{}}\n#later = loc("f":7:8)'
    for program in (source, module_text(read(source), debuginfo=True)):
        op = read(program).body.block.first_op
        assert op is not None and isinstance(op.location, kind)
        assert text == "" or file_position(op.location) == position


def test_arguments_have_locations() -> None:
    module = read(
        'func.func @f(%a: i32,\n  %b: i32 loc("x":1:2)) {\n  cf.br ^bb1(%a : i32)\n^bb1(%c: i32 loc(#l)):\n  return }\n#l = loc("y":3:4)'
    )
    blocks = next(iter(module.ops)).regions[0].blocks
    found = [file_position(argument.location) for block in blocks for argument in block.args]
    assert found == [("t.mlir", 1, 14), ("x", 1, 2), ("y", 3, 4)]


def test_found_location_equals_a_written_one() -> None:
    found = next(iter(read("\n\n  module {}\nmodule {}").ops)).location
    written = FileLineColLoc(StringAttr("t.mlir"), IntAttr(3), IntAttr(3))
    assert isinstance(found, FileLineColLoc)
    assert found == written and written == found and hash(found) == hash(written)
    assert (found.filename.data, found.line.data, found.column.data) == ("t.mlir", 3, 3)
    assert found != FileLineColLoc(StringAttr("t.mlir"), IntAttr(3), IntAttr(4))
    assert str(found) == str(written) == 'loc("t.mlir":3:3)'


def test_columns_count_bytes() -> None:
    assert file_position(next(iter(read('#x = "é" module {}\nmodule {}').ops)).location) == ("t.mlir", 1, 11)
