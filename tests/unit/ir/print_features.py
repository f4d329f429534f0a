# ruff: noqa: E501  (rows of MLIR text)
"""Programs that show one thing each about printed text."""

_CONTENTS = {
    "names: numbers, arguments and names from operations": """
func.func @f(%a: i32, %b: f32) -> i32 {
  %x = arith.addi %a, %a : i32
  %zero = arith.constant 0 : i32
  %again = arith.constant 0 : i32
  %third = arith.constant 0 : i32
  %yes = arith.constant true
  %yes2 = arith.constant true
  %f = arith.constant 1.0 : f32
  %f2 = arith.constant dense<1> : vector<2xi32>
  %i = arith.constant -1 : index
  return %x : i32
}
""",
    "names: nested regions go on, siblings start over": """
func.func @f(%c: i1, %n: index) {
  %c0 = arith.constant 0 : i32
  scf.if %c {
    %c1 = arith.constant 0 : i32
    %1 = arith.addi %c1, %c0 : i32
    scf.if %c {
      %c2 = arith.constant 0 : i32
      %2 = arith.addi %c2, %1 : i32
    }
    %3 = arith.addi %c1, %c0 : i32
  } else {
    %c1 = arith.constant 0 : i32
    %1 = arith.addi %c1, %c0 : i32
  }
  %after = arith.constant 0 : i32
  scf.for %i = %n to %n step %n {
    scf.for %j = %i to %n step %n {
      "t.use"(%i, %j) : (index, index) -> ()
    }
  }
  scf.for %i = %n to %n step %n {
    "t.use"(%i) : (index) -> ()
  }
  return
}
func.func @g(%a: i32) {
  %c0 = arith.constant 0 : i32
  return
}
""",
    "names: values of the surrounding region count": """
%c0 = arith.constant 0 : i32
%0 = "t.make"() : () -> i32
"t.region"() ({
^bb0(%x: i32):
  %c = arith.constant 0 : i32
  %1 = "t.make"() : () -> i32
  "t.region"() ({
  ^bb0(%y: i32):
    %d = arith.constant 0 : i32
    "t.use"(%x, %y, %c, %d, %1) : (i32, i32, i32, i32, i32) -> ()
  }) : () -> ()
}) : () -> ()
func.func @isolated(%x: i32) {
  %d = arith.constant 0 : i32
  return
}
""",
    "names: groups of results": """
func.func @f(%a: i32, %c: i1) -> i32 {
  %0:3 = "t.three"(%a) : (i32) -> (i32, i32, f32)
  %sum, %over = arith.addui_extended %a, %0#1 : i32, i1
  %low, %high = arith.mulsi_extended %a, %sum : i32
  %1:2 = scf.if %c -> (i32, i32) {
    scf.yield %low, %high : i32, i32
  } else {
    scf.yield %high, %0#0 : i32, i32
  }
  return %1#1 : i32
}
""",
    "blocks: labels and predecessors": """
func.func @f(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^then(%a : i32), ^other
^then(%x: i32):
  cf.cond_br %c, ^then(%x : i32), ^end
^other:
  cf.cond_br %c, ^end, ^end
^end:
  return %a : i32
^unreachable:
  cf.br ^end
}
""",
    "default dialects: module, func and what is nested in them": """
module @outer attributes {x.a = 1 : i32} {
  module {
  }
  builtin.module @named {
    func.func @g()  {
      %0 = builtin.unrealized_conversion_cast to i32
      func.call @g() : () -> ()
      scf.execute_region {
        func.call @g() : () -> ()
        scf.yield
      }
      func.return
    }
  }
  %0 = builtin.unrealized_conversion_cast to i32
}
""",
    "functions: visibility, attributes, results": """
func.func private @declared(i32, memref<4xi32> {x.a}) -> (i32 {x.b = 1 : i32}, f32)
func.func private @nothing()
func.func nested @one() -> i32
func.func public @defined(%a: i32 {x.z, x.a = [1, 2]}, %b: () -> i32) -> (() -> i32) attributes {zeta, alpha = 1 : i8} {
  return %b : () -> i32
}
func.func @"odd name"() {
  call @"odd name"() : () -> ()
  return
}
""",
    "attributes: dictionaries are sorted, nested ones too": """
"t.a"() {b = 1 : i32, a = {d, c = 1.0, b = [{y = 1, x}]}, "a b" = unit, B, a.c = 2, _x, "1" = 3} : () -> ()
"t.b"() <{z = 1 : i32, a = 2 : i32}> {y, b} : () -> ()
""",
    "attributes: numbers": """
"t.i"() {a = 1, b = -1 : i32, c = true, d = false, e = 5 : index, f = 255 : ui8, g = -5 : si8, h = 0x10 : i64} : () -> ()
"t.arrays"() {a = [1, 2 : i32, 3 : index, true], b = [1.0, 2.5 : f32, 1.0e300], c = [], d = [[1], [2.0]]} : () -> ()
"t.f"() {a = 1.0, b = 0.1, c = 0.1 : f32, d = 1.0e-5 : f32, e = 123456.0 : f32, f = 1234567.0 : f32} : () -> ()
"t.f"() {a = 16777216.0 : f32, b = 3.14159265358979 : f64, c = 1.0e22, d = 5.0e-324, e = 0.3 : f16, f = 0.3 : bf16} : () -> ()
"t.f"() {a = 0x7F800000 : f32, b = 0xFF800000 : f32, c = 0x7FC00000 : f32, d = 0x7FF0000000000000 : f64} : () -> ()
"t.f"() {a = 0x7C00 : f16, b = 0xFF80 : bf16, c = -0.0 : f32, d = [0x7FF8000000000000 : f64], e = 1.953125e-03 : f16} : () -> ()
""",
    "attributes: floats of all widths": """
"t.f"() {a = 1.0 : f80, b = 0.1 : f80, c = 0.1 : f128, d = 16777217.0 : f80, e = -16777217.0 : f128, f = 0.3 : tf32} : () -> ()
"t.f"() {a = 0.3 : f8E4M3FN, b = 1.5 : f8E5M2, c = 0.5 : f4E2M1FN, d = 2.0 : f8E8M0FNU, e = 1.0 : f6E2M3FN} : () -> ()
"t.f"() {a = 0.3 : f8E4M3FNUZ, b = 0.4 : f8E3M4, c = 0x7F : f8E4M3FN, d = 0x80 : f8E5M2FNUZ} : () -> ()
"t.f"() {a = dense<[1.0, 0.3]> : tensor<2xf8E4M3FN>, b = array<f16: 0.3, 1.0e-5>, c = dense<[0.3, 2.0]> : tensor<2xbf16>} : () -> ()
""",
    "attributes: strings and symbols": r"""
"t.s"() {a = "plain", b = "q\"q", c = "back\\slash", d = "line\0Afeed\09tab", e = "\C3\A9\00", f = ""} : () -> ()
"t.s"() {a = @sym, b = @a::@b::@c, c = @"with space"::@"1", d = @_x$y.z} : () -> ()
""",
    "attributes: dense elements": """
"t.d"() {a = dense<[1, 2]> : tensor<2xi32>, b = dense<1> : tensor<2xi32>, c = dense<1> : tensor<i32>} : () -> ()
"t.d"() {a = dense<[[1, 2], [3, 4]]> : vector<2x2xi8>, b = dense<[[7, 7], [7, 7]]> : tensor<2x2xi64>} : () -> ()
"t.d"() {a = dense<[true, false]> : tensor<2xi1>, b = dense<> : tensor<0xf32>, c = dense<> : tensor<2x0xi32>} : () -> ()
"t.d"() {a = dense<[0.0, -0.0]> : tensor<2xf32>, b = dense<[[[1.5]], [[0.1]]]> : tensor<2x1x1xf32>} : () -> ()
"t.d"() {a = dense<(1, 2)> : tensor<2xcomplex<i32>>, b = dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>} : () -> ()
"t.d"() {a = dense<[255, 0]> : tensor<2xui8>, b = dense<[-1, 0]> : tensor<2xindex>, c = dense<0x7F800000> : tensor<2xf32>} : () -> ()
"t.a"() {a = array<i8: -1, 2>, b = array<i1: true, false>, c = array<i64>, d = array<f64: 1.0, 0.1>, e = array<i32: 5>} : () -> ()
""",
    "attributes: large dense elements are one hexadecimal string": "".join(
        f'"t.d"() {{a = dense<[{", ".join(str(i * 7 % 5 - low) for i in range(101))}]> : tensor<101x{type}>}} : () -> ()\n'
        for type, low in (
            ("i8", 2),
            ("i4", 2),
            ("i12", 2),
            ("i32", 2),
            ("i64", 2),
            ("ui16", 0),
            ("index", 2),
            ("i48", 2),
        )
    )
    + f'"t.d"() {{a = dense<[{", ".join(["true", "false", "false"] * 34)}]> : tensor<102xi1>}} : () -> ()\n'
    + f'"t.d"() {{a = dense<[{", ".join(["1.0", "0.5"] * 51)}]> : tensor<102xf32>}} : () -> ()\n'
    + f'"t.d"() {{a = dense<[{", ".join(["1.0", "0.5"] * 51)}]> : tensor<102xbf16>}} : () -> ()\n'
    + f'"t.d"() {{a = dense<[{", ".join(["1"] * 200)}]> : tensor<200xi32>}} : () -> ()\n',
    "types: shaped types, layouts and memory spaces": """
"t.t"() {a = memref<4xi32, 2>, b = memref<4xi32, 2 : i32>, c = memref<4xi32, 0>, d = memref<4xi32, "space">} : () -> ()
"t.t"() {a = memref<?x4xf32, strided<[?, 1], offset: ?>>, b = memref<4xf32, strided<[2]>, 1>, c = memref<f32>} : () -> ()
"t.t"() {a = memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1)>>, b = memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>, 3>} : () -> ()
"t.t"() {a = memref<*xi8>, b = memref<*xi8, 1>, c = tensor<*xf32>, d = tensor<?x2xf64>, e = tensor<f32>} : () -> ()
"t.t"() {a = vector<4xf32>, b = vector<[4]xf32>, c = vector<2x[4]xi1>, d = vector<f32>, e = tensor<4xi32, "encoding">} : () -> ()
"t.t"() {a = tuple<>, b = tuple<i32, tuple<f32>>, c = complex<f32>, d = none, e = index, f = si7, g = ui9} : () -> ()
"t.t"() {a = () -> (), b = (i32) -> i32, c = (i32) -> (i32, f32), d = (i32) -> (() -> ()), e = ((i32) -> f32) -> ()} : () -> ()
"t.t"() {a = f16, b = bf16, c = f32, d = f64, e = tf32, f = f80, g = f128, h = f8E4M3FN, i = f8E5M2} : () -> ()
""",
    "types: those of unknown dialects": """
"t.u"() {a = !x.type, b = !x.type<a, b<c>>, c = !x<some thing>, d = #x.attr, e = #x.attr<"str", 1>, f = #x<some thing>} : () -> ()
%0 = "t.u"() : () -> !x.type<4xi32>
""",
    "aliases: maps and sets, in the order of their mention": """
func.func private @declared(memref<4xf32, affine_map<(d0) -> (d0 + 2)>>)
"t.a"() {b = affine_map<(d0) -> (d0 + 1)>, a = affine_map<(d0)[s0] -> (d0 * s0)>} : () -> ()
"t.b"() {a = affine_set<(d0) : (d0 >= 0)>, b = [affine_map<(d0) -> (d0 + 1)>, affine_set<() : (0 == 0)>]} : () -> ()
"t.c"() {a = memref<4xf32, affine_map<(d0) -> (d0 + 2)>>, b = affine_map<(d0) -> (1 + d0)>} : () -> ()
""",
    "aliases: an operation in generic form is searched from the inside": """
"t.outer"() ({
  "t.inner"() {m = affine_map<(d0) -> (d0 + 3)>} : () -> ()
}) {a = affine_map<(d0) -> (d0 + 1)>} : () -> ()
%0 = "t.result"() {a = affine_map<(d0) -> (d0 + 4)>} : () -> memref<2xf32, affine_map<(d0) -> (d0 + 5)>>
"t.operand"(%0) {a = affine_map<(d0) -> (d0 + 6)>} : (memref<2xf32, affine_map<(d0) -> (d0 + 5)>>) -> ()
"t.properties"() <{p = affine_map<(d0) -> (d0 + 7)>}> {a = affine_map<(d0) -> (d0 + 8)>} : () -> ()
func.func @f(%a: i32 {x.m = affine_map<(d0) -> (d0 + 9)>, x.n = affine_map<(d0) -> (d0 + 1)>}) {
  return
}
""",
    "aliases: long tuples": f"""
%0 = "t.tuple"() : () -> tuple<{", ".join(["i32"] * 17)}>
%1 = "t.tuple"() : () -> tuple<{", ".join(["i32"] * 16)}>
%2 = "t.tuple"() : () -> tuple<{", ".join(["i32"] * 17)}, memref<2xf32, affine_map<(d0) -> (d0 + 5)>>>
""",
    "affine expressions: as few parentheses as possible": """
"t.m"() {a = affine_map<(d0, d1)[s0] -> ((d0 + d1) * 2, d0 * 2 + d1 floordiv 3, (d0 + 1) mod 4, d0 - d1 * 3)>} : () -> ()
"t.m"() {a = affine_map<(d0, d1)[s0] -> (-d0, d0 - d1, -(d0 + d1), d0 - (d1 + s0), d0 ceildiv 8 - 1, 5, -5)>} : () -> ()
"t.m"() {a = affine_map<(d0, d1)[s0] -> (d0 - d1 - 3, 2 * d0, 1 + d0 + 2, s0 + d0, d1 + d0, d0 * 0, d0 * 1 + 0)>} : () -> ()
"t.m"() {a = affine_map<(d0) -> (d0 - (d0 floordiv 4) * 4, (d0 * 8) floordiv 4, (d0 * 8 + 3) mod 4, 7 floordiv 2)>} : () -> ()
"t.m"() {a = affine_map<() -> ()>, b = affine_map<()[s0, s1] -> (s0 * s1 + s1)>, c = affine_map<(d0) -> ()>} : () -> ()
"t.m"() {a = affine_set<(d0)[s0] : (d0 - s0 >= 0, 7 - d0 >= 0, d0 mod 2 == 0, d0 <= 5, d0 >= 3)>} : () -> ()
""",
    "locations: all kinds, and what shares an alias": """
module {
  func.func @f(%a: i32 loc("argument"), %b: i32 loc(callsite("a" at "b"))) -> i32 {
    %0 = "t.a"() : () -> i32 loc("file.c":1:2)
    %1 = "t.b"() : () -> i32 loc("name")
    %2 = "t.c"() : () -> i32 loc("name"("file.c":1:2))
    %3 = "t.d"() : () -> i32 loc(callsite("callee"("file.c":3:4) at "file.c":1:2))
    %4 = "t.e"() : () -> i32 loc(fused["file.c":1:2, "file.c":3:4])
    %5 = "t.f"() : () -> i32 loc(fused<"metadata">["file.c":1:2, "name"])
    %6 = "t.g"() : () -> i32 loc(unknown)
    "t.h"() {in_attribute = loc("file.c":1:2)} : () -> () loc("argument")
    "t.i"() ({
    ^bb0(%x: f32 loc("file.c":9:9)):
      "t.j"() : () -> () loc("inner")
    }) : () -> () loc("outer")
    cf.br ^next(%a : i32) loc("branch")
  ^next(%x: i32 loc("block argument"("file.c":3:4))):
    return %x : i32 loc("return")
  } loc("function")
} loc("module")
""",
    "locations: a name that needs escapes": r"""
"t.a"() : () -> () loc("quo\"te and \\ \C3\A9":1:2)
""",
    "operations: unregistered, in generic form": """
"t.none"() : () -> ()
%0:2 = "t.all"(%1) <{p = 1 : i32}> ({
  "t.in"() : () -> ()
}, {
^bb0(%a: i32, %b: f32):
  "t.in"(%a) : (i32) -> ()
^bb1:
  "t.end"()[^bb1] : () -> ()
}, {
}, {
^bb0:
}) {a} : (i32) -> (i32, (i32) -> i32)
%1 = "t.f"() : () -> i32
%2 = "t.g"() : () -> (() -> ())
""",
    "resources: those that are used": """
module {
"t.r"() {a = dense_resource<used> : tensor<2xi32>, b = dense_resource<also.used> : tensor<1xi32>} : () -> ()
}
{-#
  dialect_resources: {
    builtin: {
      unused: "0x0400000001000000",
      used: "0x040000000100000002000000",
      also.used: "0x0400000003000000"
    }
  }
#-}
""",
}

FEATURES = {
    title: text if text.startswith("\nmodule {") else f"module {{{text}}}\n" for title, text in _CONTENTS.items()
}
"""What is shown, and the program that shows it."""
