"""What may be written in more than one way reads the same, and prints in the one way that MLIR prints."""

from __future__ import annotations

import pytest

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify

ARGUMENTS = (
    "%n: index, %m: index, %i: i32, %x: f32, %c: i1, %A: memref<8x8xf32>, %B: memref<?xf32>, "
    "%v: vector<8xf32>, %bytes: memref<64xi8>"
)


def printed(body: str) -> str:
    """The body of a function with the arguments above, as we print it; names of arguments are those of the source."""
    module = parse_source(make_context(), f"func.func @f({ARGUMENTS}) {{\n{body}\nreturn\n}}", "test")
    assert not verify(module)
    text = module_text(module)
    for number, argument in enumerate(ARGUMENTS.split(", %")):
        name = argument.removeprefix("%").split(":")[0]
        text = text.replace(f"%arg{number} ", f"%{name} ").replace(f"%arg{number},", f"%{name},")
        text = text.replace(f"%arg{number}]", f"%{name}]").replace(f"%arg{number})", f"%{name})")
        text = text.replace(f"%arg{number}[", f"%{name}[").replace(f"%arg{number}\n", f"%{name}\n")
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if "func.func" in line)
    return "\n".join(line.removeprefix("    ") for line in lines[first + 1 : -3])


@pytest.mark.parametrize(
    "source, expected",
    [
        pytest.param('%0 = arith.cmpi "sge", %i, %i : i32', "%0 = arith.cmpi sge, %i, %i : i32", id="quoted predicate"),
        pytest.param("%0 = arith.constant 7", "%c7_i64 = arith.constant 7 : i64", id="constant without a type"),
        pytest.param(
            "%0 = arith.addi %i, %i overflow<nuw, nsw> : i32",
            "%0 = arith.addi %i, %i overflow<nsw, nuw> : i32",
            id="flags in another order",
        ),
        pytest.param(
            "%0 = arith.addf %x, %x fastmath<none> : f32", "%0 = arith.addf %x, %x : f32", id="flags that say nothing"
        ),
        pytest.param(
            "%0 = memref.subview %A[0,%n][2,2][1,1] : memref<8x8xf32> to memref<2x2xf32, strided<[8, 1], offset: ?>>",
            "%subview = memref.subview %A[0, %n] [2, 2] [1, 1]"
            " : memref<8x8xf32> to memref<2x2xf32, strided<[8, 1], offset: ?>>",
            id="lists without spaces",
        ),
        pytest.param(
            "%0 = memref.load %A[%n, %m] {nontemporal = false} : memref<8x8xf32>",
            "%0 = memref.load %A[%n, %m] : memref<8x8xf32>",
            id="default written out",
        ),
        pytest.param(
            "%0 = memref.transpose %A (i, j) -> (j, i) : memref<8x8xf32> to memref<8x8xf32, strided<[1, 8]>>",
            "%transpose = memref.transpose %A (d0, d1) -> (d1, d0)"
            " : memref<8x8xf32> to memref<8x8xf32, strided<[1, 8]>>",
            id="names of dimensions",
        ),
        pytest.param(
            "scf.for %k = %n to %m step %n { scf.yield }",
            "scf.for %arg9 = %n to %m step %n {\n}",
            id="terminator that may be left out",
        ),
        pytest.param(
            "%0 = scf.if %c -> f32 { scf.yield %x : f32 } else { scf.yield %x : f32 }",
            "%0 = scf.if %c -> (f32) {\n  scf.yield %x : f32\n} else {\n  scf.yield %x : f32\n}",
            id="one result type without parentheses",
        ),
        pytest.param(
            "scf.parallel (%k) = (%n) to (%m) step (%n) { }",
            "scf.parallel (%arg9) = (%n) to (%m) step (%n) {\n  scf.reduce \n}",
            id="reduction of nothing",
        ),
        pytest.param(
            "scf.forall (%k) = (0) to (%n) step (1) { }",
            "scf.forall (%arg9) in (%n) {\n}",
            id="bounds that count from zero by one",
        ),
        pytest.param(
            "affine.for %k = 0 to 8 { %0 = affine.load %B[%k * 2 + %k - 1 + 3 * 2] : memref<?xf32> }",
            "affine.for %arg9 = 0 to 8 {\n  %0 = affine.load %B[%arg9 * 3 + 5] : memref<?xf32>\n}",
            id="subscripts are simplified",
        ),
        pytest.param(
            "affine.for %k = 0 to 8 step 1 { affine.yield }",
            "affine.for %arg9 = 0 to 8 {\n}",
            id="step of one",
        ),
        pytest.param(
            "%0 = vector.transfer_read %A[%n, %m], %x {in_bounds = [false], "
            "permutation_map = affine_map<(d0, d1) -> (d1)>} : memref<8x8xf32>, vector<8xf32>",
            "%0 = vector.transfer_read %A[%n, %m], %x : memref<8x8xf32>, vector<8xf32>",
            id="transfer attributes that say nothing",
        ),
        pytest.param("vector.print %x : f32 punctuation <newline>", "vector.print %x : f32", id="punctuation default"),
    ],
)
def test_reads(source: str, expected: str):
    assert printed(source) == expected


def test_call_without_prefix():
    module = parse_source(
        make_context(),
        "func.func private @g(i32)\nfunc.func @f(%i: i32) { func.call @g(%i) : (i32) -> () return }",
        "t",
    )
    assert "    call @g(%arg0) : (i32) -> ()" in module_text(module).splitlines()


def test_attributes_of_a_declaration_are_kept():
    text = 'func.func private @f(i32 {a.b = "c"}, f32) -> (i32 {a.d}, f32) attributes {a.e}'
    assert module_text(parse_source(make_context(), text, "t")).splitlines()[1] == f"  {text}"


def test_index_switch_default_may_say_nothing():
    text = "scf.index_switch %n case 1 { scf.yield } default { }"
    assert printed(text) == "scf.index_switch %n \ncase 1 {\n  scf.yield\n}\ndefault {\n}"
