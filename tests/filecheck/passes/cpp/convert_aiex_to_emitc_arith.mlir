// RUN: tilewright opt --split-input-file --convert-aiex-to-emitc %s | filecheck %s
// Numbers wrap around, which signed ones in C++ do not: they are computed without sign.

// CHECK-LABEL: emitc.func @generate_txn_main_wrap(%arg0: i32, %arg1: i16)
// CHECK:      %[[A:.+]] = cast %arg0 : i32 to ui32
// CHECK-NEXT: %[[B:.+]] = cast %arg0 : i32 to ui32
// CHECK-NEXT: %[[SUM:.+]] = add %[[A]], %[[B]] : (ui32, ui32) -> ui32
// CHECK-NEXT: cast %[[SUM]] : ui32 to i32
// C++ multiplies 16-bit numbers as `int`, in which the product does not fit.
// CHECK-NEXT: %[[A:.+]] = cast %arg1 : i16 to ui16
// CHECK-NEXT: %[[A32:.+]] = cast %[[A]] : ui16 to ui32
// CHECK-NEXT: %[[B:.+]] = cast %arg1 : i16 to ui16
// CHECK-NEXT: %[[B32:.+]] = cast %[[B]] : ui16 to ui32
// CHECK-NEXT: %[[PRODUCT:.+]] = mul %[[A32]], %[[B32]] : (ui32, ui32) -> ui32
// CHECK-NEXT: %[[CUT:.+]] = cast %[[PRODUCT]] : ui32 to ui16
// CHECK-NEXT: cast %[[CUT]] : ui16 to i16
aie.device(npu1) {
  aie.runtime_sequence @wrap(%a: i32, %b: i16) {
    %register = arith.constant 64 : i32
    %sum = arith.addi %a, %a : i32
    %product = arith.muli %b, %b : i16
    %wide = arith.extsi %product : i16 to i32
    aiex.npu.write32(%register, %sum) : i32, i32
    aiex.npu.write32(%register, %wide) : i32, i32
  }
}

// -----

// There is no stream where a divisor is zero, and a quotient that does not fit is 0. Of a known divisor nothing is checked.
// CHECK-LABEL: emitc.func @generate_txn_main_divide(%arg0: i32, %arg1: i32)
// CHECK:      verbatim "if ({} == 0) return std::nullopt;" args %arg1 : i32
// CHECK-NEXT: %[[SMALLEST:.+]] = "emitc.constant"() <{value = -2147483648 : i32}> : () -> i32
// CHECK-NEXT: %[[FITS:.+]] = cmp ne, %arg0, %[[SMALLEST]] : (i32, i32) -> i1
// CHECK-NEXT: %[[MINUS_ONE:.+]] = "emitc.constant"() <{value = -1 : i32}> : () -> i32
// CHECK-NEXT: %[[NO_NEGATION:.+]] = cmp ne, %arg1, %[[MINUS_ONE]] : (i32, i32) -> i1
// CHECK-NEXT: %[[DEFINED:.+]] = logical_or %[[FITS]], %[[NO_NEGATION]] : i1, i1
// CHECK-NEXT: %[[OTHERWISE:.+]] = "emitc.constant"() <{value = 0 : i32}> : () -> i32
// CHECK-NEXT: expression %arg0, %arg1, %[[DEFINED]], %[[OTHERWISE]] : (i32, i32, i1, i32) -> i32 {
// CHECK-NEXT:   %[[QUOTIENT:.+]] = div %arg0, %arg1 : (i32, i32) -> i32
// CHECK-NEXT:   %[[CHOSEN:.+]] = conditional %[[DEFINED]], %[[QUOTIENT]], %[[OTHERWISE]] : i32
// CHECK-NEXT:   yield %[[CHOSEN]] : i32
// CHECK-NEXT: }
// CHECK:      rem %arg0, %{{.+}} : (i32, i32) -> i32
aie.device(npu1) {
  aie.runtime_sequence @divide(%a: i32, %b: i32) {
    %register = arith.constant 64 : i32
    %quotient = arith.divsi %a, %b : i32
    %four = arith.constant 4 : i32
    %remainder = arith.remsi %a, %four : i32
    aiex.npu.write32(%register, %quotient) : i32, i32
    aiex.npu.write32(%register, %remainder) : i32, i32
  }
}

// -----

// Upstream has no rounding divisions, minima and maxima. `index` has a sign in the program, `size_t` has none.
// CHECK-LABEL: emitc.func @generate_txn_main_round(%arg0: i32, %arg1: !emitc.size_t)
// CHECK:      %[[QUOTIENT:.+]] = div %arg0, %{{.+}} : (i32, i32) -> i32
// CHECK-NEXT: %[[REMAINDER:.+]] = rem %arg0, %[[EIGHT:.+]] : (i32, i32) -> i32
// CHECK-NEXT: %[[ZERO:.+]] = "emitc.constant"() <{value = 0 : i32}> : () -> i32
// CHECK-NEXT: %[[INEXACT:.+]] = cmp ne, %[[REMAINDER]], %[[ZERO]] : (i32, i32) -> i1
// CHECK-NEXT: %[[MIXED:.+]] = bitwise_xor %[[REMAINDER]], %[[EIGHT]] : (i32, i32) -> i32
// CHECK-NEXT: %[[SIGNS_DIFFER:.+]] = cmp lt, %[[MIXED]], %[[ZERO]] : (i32, i32) -> i1
// CHECK-NEXT: %[[OFF:.+]] = logical_and %[[INEXACT]], %[[SIGNS_DIFFER]] : i1, i1
// CHECK-NEXT: %[[STEP:.+]] = cast %[[OFF]] : i1 to i32
// CHECK-NEXT: sub %[[QUOTIENT]], %[[STEP]] : (i32, i32) -> i32
// CHECK:      %[[LEFT:.+]] = cast %arg1 : !emitc.size_t to !emitc.ptrdiff_t
// CHECK-NEXT: %[[RIGHT:.+]] = cast %[[SEVEN:.+]] : !emitc.size_t to !emitc.ptrdiff_t
// CHECK-NEXT: %[[LESS:.+]] = cmp lt, %[[LEFT]], %[[RIGHT]] : (!emitc.ptrdiff_t, !emitc.ptrdiff_t) -> i1
// CHECK-NEXT: conditional %[[LESS]], %arg1, %[[SEVEN]] : !emitc.size_t
aie.device(npu1) {
  aie.runtime_sequence @round(%a: i32, %n: index) {
    %register = arith.constant 64 : i32
    %eight = arith.constant 8 : i32
    %down = arith.floordivsi %a, %eight : i32
    aiex.npu.write32(%register, %down) : i32, i32
    %seven = arith.constant 7 : index
    %least = arith.minsi %n, %seven : index
    %narrow = arith.index_cast %least : index to i32
    aiex.npu.write32(%register, %narrow) : i32, i32
  }
}
