# ruff: noqa: E501  (rows of MLIR text)
"""What a wrong text is told: MLIR's words at MLIR's places. The rows are also checked against mlir-opt-22 where it is installed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from helpers import MLIR_OPT, needs_mlir_opt
from xdsl.dialects.builtin import FileLineColLoc

from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source

ROWS = r"""
func.func @f(%a: i32) { %0 = arith.addi %a %a : i32 return }
  1:43: error: expected ','
func.func @f(%a: i32) {⏎  %0 = arith.addi %a, %a  // comment⏎⏎ // another⏎  return⏎}
  2:25: error: expected ':'
func.func @f(%a: i32) { %0 = arith.addi %a, 3 : i32 return }
  1:44: error: expected SSA operand
func.func @f(%a: i32) { %0 = arith.addi %a, %a : foo return }
  1:49: error: expected non-function type
func.func @f(%a: i32) { %0 arith.addi %a, %a : i32 return }
  1:27: error: expected '=' after SSA name
func.func @f(%a: i32) { %0 = arith.foo %a, %a⏎ return }
  1:30: error: custom op 'arith.foo' is unknown
func.func @f(%a: i32) {⏎  foo %a, %a⏎ return }
  2:3: error: custom op 'foo' is unknown (tried 'func.foo' as well)
func.func @f(%a: i32) {⏎  zork.foo %a⏎ return }
  2:3: error: Dialect `zork' not found for custom op 'zork.foo'
module { } garbage
  1:12: error: custom op 'garbage' is unknown (tried 'builtin.garbage' as well)
"zork.foo"() : () -> ()
  1:11: error: operation being parsed with an unregistered dialect. If this is intended, please use -allow-unregistered-dialect with the MLIR tool used
"foo"() : () -> ()
  1:6: error: operation being parsed with an unregistered dialect. If this is intended, please use -allow-unregistered-dialect with the MLIR tool used
"arith.foo"() : () -> ()
  1:1: error: unregistered operation 'arith.foo' found in dialect ('arith') that does not allow unknown operations
"" () : () -> ()
  1:1: error: empty operation name is invalid
func.func @f() {⏎  %0 = arith.addi %x, %y : i32⏎ return }
  2:19: error: use of undeclared SSA value name
  2:23: error: use of undeclared SSA value name
func.func @f(%a: index) {⏎  scf.for %i = %a to %x step %a {⏎    %x = arith.constant 1 : index }⏎ return }
  2:22: error: use of undeclared SSA value name
func.func @f(%a: i32) {⏎  %a = arith.addi %a, %a : i32⏎ return }
  2:3: error: redefinition of SSA value '%a'
  1:14: note: previously defined here
func.func @f(%a: i32) {⏎  %0 = arith.addi %a, %a : i64⏎ return }
  2:19: error: use of value '%a' expects different type than prior uses: 'i64' vs 'i32'
  1:14: note: prior use here
func.func @f(%a: memref<4xi32, 3>) {⏎  memref.dealloc %a : memref<5xi32, 3>⏎ return }
  2:18: error: use of value '%a' expects different type than prior uses: 'memref<5xi32, 3>' vs 'memref<4xi32, 3>'
  1:14: note: prior use here
func.func @f(%a: i32) {⏎  %0 = arith.addi %x, %a : i32⏎  %1 = arith.addi %x, %x : i64⏎ return }
  3:19: error: use of value '%x' expects different type than prior uses: 'i64' vs 'i32'
  2:19: note: prior use here
func.func @f(%a: i32) {⏎  %0 = arith.addi %x, %a : i32⏎  %x = arith.constant 1 : i64 return }
  3:3: error: definition of SSA value '%x#0' has type 'i64'
  2:19: note: previously used here with type 'i32'
func.func @f(%a: i32) {⏎  %0:2 = arith.addi %a, %a : i32⏎ return }
  2:3: error: operation defines 1 results but was provided 2 to bind
func.func @f(%a: i32) {⏎  %0 = arith.addi %a#1, %a : i32⏎ return }
  2:19: error: reference to invalid result number
func.func @f() {⏎  %0 = func.return }
  2:3: error: cannot name an operation with no results
%a:0 = "foo.x"() : () -> i32
  1:4: error: expected named operation to have at least 1 result
func.func @f() {⏎  cf.br ^bb1⏎}
  2:9: error: reference to an undefined block
func.func @f() {⏎  return⏎
  2:9: error: expected operation name in quotes
func.func @f() {⏎  return⏎ }}
  3:3: error: expected operation name in quotes
module { module @x {
  1:19: error: expected operation name in quotes
"builtin.module"() ({^bb0: ^bb0:}) : () -> ()
  1:28: error: redefinition of block '^bb0'
"builtin.module"() ({^bb0 }) : () -> ()
  1:26: error: expected ':' after block name
"builtin.module"() ({^bb0(%a) }) : () -> ()
  1:29: error: expected ':' and type for SSA operand
"builtin.module"() () -> ()
  1:21: error: expected '{' to begin a region
"builtin.module"( : () -> ()
  1:18: error: expected ')' to end operand list
"builtin.module"() : ()
  1:23: error: expected '->' in function type
"builtin.module"() : (i32) -> ()
  1:22: error: expected 0 operand types but had 1
"builtin.module"() : i32
  1:22: error: expected function type
"builtin.module"() {a = } : () -> ()
  1:24: error: expected attribute value
"builtin.module"() {= 1 } : () -> ()
  1:21: error: expected attribute name
"builtin.module"() {a = 1, a = 2} : () -> ()
  1:28: error: duplicate key 'a' in dictionary attribute
"builtin.module"() {a = 1 b = 2} : () -> ()
  1:26: error: expected '}' in attribute dictionary
"builtin.module"() <{a = 1} : () -> ()
  1:28: error: expected '>' to close properties
#x = [1, 2}
  1:11: error: expected ',' or ']'
#x = #foo
  1:9: error: undefined symbol alias id 'foo'
#x = #foo.bar<1>
  1:11: error: #"foo"<"bar<1>"> : 'none' attribute created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt tool used
#x = !foo.bar
  1:11: error: `!"foo"<"bar">` type created with unregistered dialect. If this is intended, please call allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt tool used
#x = #arith.bar<1>
  1:13: error: unknown attribute `bar` in dialect `arith`
#x = "unterminated
  1:19: error: expected '"' in string literal
#x = "bad\qesc"
  1:10: error: unknown escape in string literal
#x = &
  1:6: error: unexpected character
#x = 99999999999 : i32
  1:6: error: integer constant out of range for attribute
#x = -1 : ui32
  1:7: error: negative integer literal not valid for unsigned integer type
#x = 0xFFFFFFFFFFFFFFFF : index
  1:6: error: integer constant out of range for attribute
#x = 1.5 : i32
  1:14: error: floating point value not valid for specified type
#x = 1 : f32
  1:6: error: unexpected decimal integer literal for a floating point value
  1:6: note: add a trailing dot to make the literal a float
#x = -0x10 : f32
  1:7: error: hexadecimal float literal should not have a leading minus
#x = 0x1FFFFFFFFF : f32
  1:6: error: hexadecimal float constant out of range for type
#x = 1 : memref<i32>
  1:6: error: integer literal not valid for specified type
#x = dense<[1,2]> : tensor<3xi32>
  1:6: error: inferred shape of elements literal ([2]) does not match type ([3])
#x = dense<[1,[2]]> : tensor<3xi32>
  1:18: error: tensor literal is invalid; ranks are not consistent between elements
#x = dense<[1.0]> : tensor<1xi32>
  1:13: error: expected integer elements, but parsed floating-point
#x = dense<300> : tensor<1xi8>
  1:12: error: integer constant out of range for type
#x = dense<5> : tensor<?xi32>
  1:6: error: elements literal type must have static shape
#x = dense<"0x0102"> : tensor<4xi8>
  1:6: error: elements hex data size is invalid for provided type: 'tensor<4xi8>'
#x = dense<"zz"> : tensor<1xi32>
  1:12: error: expected string containing hex digits starting with `0x`
#x = memref<4xi32
  1:17: error: expected ',' or '>' in memref type
#x = memref<4i32>
  1:14: error: expected 'x' in dimension list
#x = memref<4xi32, 5, 6>
  1:24: error: multiple memory spaces specified in memref type
#x = tensor<4x>
  1:15: error: expected non-function type
#x = vector<0xi32>
  1:6: error: vector types must have positive constant sizes but got 0
#x = complex<index>
  1:14: error: invalid element type for complex
#x = i99999999
  1:6: error: integer bitwidth is limited to 16777215 bits
#x = strided<[1, x]>
  1:18: error: expected a 64-bit signed integer or '?'
#x = affine_map<(d0) -> (d1)>
  1:26: error: use of undeclared identifier
#x = affine_map<(d0, d0) -> (d0)>
  1:22: error: redefinition of identifier 'd0'
#x = affine_map<(d0) -> (d0 +)>
  1:30: error: missing right operand of binary operator
#x = affine_map<(d0, d1) -> (d0 * d1)>
  1:33: error: non-affine expression: at least one of the multiply operands has to be either a constant or symbolic
#x = affine_set<(d0) : (d0)>
  1:27: error: expected '== affine-expr' or '>= affine-expr' at end of affine constraint
module {} loc(foo)
  1:15: error: expected location instance
module {} loc(#foo)
  1:15: error: operation location alias was never defined
module {} loc("a":x)
  1:19: error: expected integer line number in FileLineColRange
#x = 3⏎module {} loc(#x)
  2:15: error: expected location, but found '3 : i64'
#a = 1⏎#a = 2
  2:1: error: redefinition of attribute alias id 'a'
!a = i32⏎!a = i64
  2:1: error: redefinition of type alias id 'a'
#a.b = 1
  1:1: error: attribute names with a '.' are reserved for dialect-defined names
{-# foo: {} #-}
  1:5: error: unknown key 'foo' in file metadata dictionary
"""
CASES = [
    (text.replace("⏎", "\n"), [line.strip() for line in lines.strip().split("\n")])
    for text, lines in re.findall(r"^(\S.*)\n((?:  .*\n)+)", ROWS, re.MULTILINE)
]


def complaints(text: str | bytes) -> list[str]:
    with pytest.raises(DiagnosedError) as error:
        parse_source(make_context(), text, "t")
    return [line.removeprefix("t:").rstrip() for line in str(error.value).split("\n")]


@pytest.mark.parametrize("text, expected", CASES, ids=[re.sub(r"\s+", " ", text)[:60] for text, _ in CASES])
def test_complaint(text: str, expected: list[str]) -> None:
    found = complaints(text)
    assert [line for line in found if line in expected or ": error: " in line] == expected


@needs_mlir_opt
@pytest.mark.parametrize("text, expected", CASES, ids=[re.sub(r"\s+", " ", text)[:60] for text, _ in CASES])
def test_mlir_has_the_same_complaint(text: str, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(text)
    result = subprocess.run([str(MLIR_OPT), path], capture_output=True, text=True, check=False)
    found = [
        line.removeprefix(f"{path}:").rstrip() for line in result.stderr.split("\n") if line.startswith(f"{path}:")
    ]
    own_notes = ("note: see current operation", "note: Available dialects")
    assert [line for line in found if not any(note in line for note in own_notes)] == expected


def test_unknown_dialect_is_told_those_that_are_known() -> None:
    note = complaints("zork.foo")[1]
    assert note.startswith("1:1: note: Available dialects: ") and "aie, aievec, aiex," in note


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("\0", "1:1: error: unexpected character", id="NUL"),
        pytest.param(b'module {}\n#x = "\xff"', "2:6: error: invalid UTF-8 in string literal", id="undecodable string"),
        pytest.param(b"\xff\xfe\0\0", "1:1: error: invalid UTF-8", id="undecodable start"),
        pytest.param(bytes(range(256)) * 4, "1:1: error: unexpected character", id="all bytes"),
        pytest.param('#x = "é" &', "1:11: error: unexpected character", id="columns count bytes"),
        pytest.param("#x = 1" + "0" * 5000, None, id="more digits than Python converts"),
        pytest.param("#x = dense<0> : tensor<99999999999x99999999xi64>", None, id="splat larger than memory"),
    ],
)
def test_what_is_no_program_at_all(text: str | bytes, expected: str | None) -> None:
    found = complaints(text)[0]
    assert ": error: " in found and expected in (found, None)


def test_bytes_that_are_no_utf8_are_fine_in_comments() -> None:
    module = parse_source(make_context(), b"// \xe9t\xe9\nmodule {}", "t")
    assert isinstance(module.location, FileLineColLoc) and module.location.line.data == 2


@pytest.mark.parametrize(
    "start, opening",
    [
        pytest.param("", '"builtin.module"() ({', id="regions"),
        pytest.param("", "module {", id="modules"),
        pytest.param("#x = ", "[", id="arrays"),
        pytest.param("#x = ", "{a = ", id="dictionaries"),
        pytest.param("#x = ", "tuple<", id="types"),
        pytest.param("#x = ", "memref<4x", id="element types"),
        pytest.param("#x = ", "(", id="function types"),
        pytest.param("#x = loc(", '"a"(', id="locations"),
        pytest.param("#x = affine_map<(d0) -> (", "(", id="affine expressions"),
        pytest.param("#x = affine_map<(d0) -> (d0", " + d0 * 2 mod 3", id="affine sums"),
        pytest.param("#x = dense<", "[", id="dense literals"),
    ],
)
@pytest.mark.parametrize("depth", [300, 50_000])
def test_nesting_has_a_limit(start: str, opening: str, depth: int) -> None:
    assert "error: nesting too deep" in complaints(start + opening * depth)[0]


def test_nesting_up_to_the_limit_is_read() -> None:
    depth = 250
    module = parse_source(make_context(), "module {" * depth + "}" * depth, "t")
    assert sum(1 for _ in module.walk()) == depth
