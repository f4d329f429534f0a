// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --verify-roundtrip %s | tilewright opt | filecheck %s
// C++ code as operations. Inside of a function, operations of the dialect print without its name; those that have no
// syntax of their own print in generic form.

// CHECK:      emitc.include <"vector">
// CHECK-NEXT: emitc.include "words.h"
emitc.include <"vector">
emitc.include "words.h"

// CHECK-NEXT: emitc.declare_func @operators
emitc.declare_func @operators

// CHECK-NEXT: emitc.global static const @limit : i32 = 1023
// CHECK-NEXT: emitc.global extern @table : !emitc.array<2x3xf32>
// CHECK-NEXT: emitc.global @numbers : !emitc.array<2xi32> = dense<[4, 5]>
emitc.global static const @limit : i32 = 1023
emitc.global extern @table : !emitc.array<2x3xf32>
emitc.global @numbers : !emitc.array<2xi32> = dense<[4, 5]>

// CHECK-NEXT: emitc.func private @external(i32, !emitc.ptr<i8>) -> i32 attributes {specifiers = ["extern"]}
emitc.func private @external(i32, !emitc.ptr<i8>) -> i32 attributes {specifiers = ["extern"]}

// CHECK-LABEL: emitc.func @operators(%arg0: i32, %arg1: ui32, %arg2: i1, %arg3: !emitc.ptr<i8>) -> i32 attributes {specifiers = ["inline"]} {
emitc.func @operators(%a: i32, %u: ui32, %c: i1, %p: !emitc.ptr<i8>) -> i32 attributes {specifiers = ["inline"]} {
  // CHECK-NEXT: %0 = add %arg0, %arg0 : (i32, i32) -> i32
  // CHECK-NEXT: %1 = add %arg3, %arg0 : (!emitc.ptr<i8>, i32) -> !emitc.ptr<i8>
  // CHECK-NEXT: %2 = sub %arg3, %1 : (!emitc.ptr<i8>, !emitc.ptr<i8>) -> !emitc.ptrdiff_t
  // CHECK-NEXT: %3 = rem %0, %arg0 : (i32, i32) -> i32
  // CHECK-NEXT: %4 = bitwise_left_shift %3, %arg1 : (i32, ui32) -> i32
  // CHECK-NEXT: %5 = unary_minus %4 : (i32) -> i32
  // CHECK-NEXT: %6 = cmp le, %5, %arg0 : (i32, i32) -> i1
  // CHECK-NEXT: %7 = logical_and %6, %arg2 : i1, i1
  // CHECK-NEXT: %8 = conditional %7, %0, %5 : i32
  // CHECK-NEXT: %9 = cast %8 : i32 to !emitc.size_t
  %0 = add %a, %a : (i32, i32) -> i32
  %1 = add %p, %a : (!emitc.ptr<i8>, i32) -> !emitc.ptr<i8>
  %2 = sub %p, %1 : (!emitc.ptr<i8>, !emitc.ptr<i8>) -> !emitc.ptrdiff_t
  %3 = rem %0, %a : (i32, i32) -> i32
  %4 = bitwise_left_shift %3, %u : (i32, ui32) -> i32
  %5 = unary_minus %4 : (i32) -> i32
  %6 = cmp le, %5, %a : (i32, i32) -> i1
  %7 = logical_and %6, %c : i1, i1
  %8 = conditional %7, %0, %5 : i32
  %9 = cast %8 : i32 to !emitc.size_t

  // CHECK-NEXT: %10 = "emitc.constant"() <{value = #emitc.opaque<"INT32_MAX">}> : () -> i32
  // CHECK-NEXT: %11 = "emitc.variable"() <{value = 5 : i32}> : () -> !emitc.lvalue<i32>
  // CHECK-NEXT: %12 = literal "seed" : i32
  // CHECK-NEXT: assign %12 : i32 to %11 : <i32>
  // CHECK-NEXT: %13 = load %11 : <i32>
  // CHECK-NEXT: %14 = address_of %11 : !emitc.lvalue<i32>
  // CHECK-NEXT: %15 = get_global @table : !emitc.array<2x3xf32>
  // CHECK-NEXT: %16 = subscript %15[%9, %9] : (!emitc.array<2x3xf32>, !emitc.size_t, !emitc.size_t) -> !emitc.lvalue<f32>
  %10 = "emitc.constant"() <{value = #emitc.opaque<"INT32_MAX">}> : () -> i32
  %11 = "emitc.variable"() <{value = 5 : i32}> : () -> !emitc.lvalue<i32>
  %12 = literal "seed" : i32
  assign %12 : i32 to %11 : <i32>
  %13 = load %11 : <i32>
  %14 = address_of %11 : !emitc.lvalue<i32>
  %15 = get_global @table : !emitc.array<2x3xf32>
  %16 = subscript %15[%9, %9] : (!emitc.array<2x3xf32>, !emitc.size_t, !emitc.size_t) -> !emitc.lvalue<f32>

  // CHECK-NEXT: call_opaque "push"(%13, %arg1) : (i32, ui32) -> ()
  // CHECK-NEXT: %17 = call_opaque "choose"(%13) {args = [0 : index, 7 : i32], template_args = [i32]} : (i32) -> i32
  // CHECK-NEXT: %18 = call @external(%17, %arg3) : (i32, !emitc.ptr<i8>) -> i32
  // CHECK-NEXT: verbatim "if ({} > 3) {{[{][{]}} stop(); }" args %18 : i32
  call_opaque "push"(%13, %u) : (i32, ui32) -> ()
  %17 = call_opaque "choose"(%13) {args = [0 : index, 7 : i32], template_args = [i32]} : (i32) -> i32
  %18 = call @external(%17, %p) : (i32, !emitc.ptr<i8>) -> i32
  verbatim "if ({} > 3) {{ stop(); }" args %18 : i32
  return %18 : i32
}

// CHECK-LABEL: emitc.func @control
emitc.func @control(%a: i32, %c: i1, %n: !emitc.size_t) {
  // In an expression, operands go by the names that they have outside.
  // CHECK-NEXT: %0 = expression %arg0, %arg2 : (i32, !emitc.size_t) -> i32 {
  // CHECK-NEXT:   %2 = cast %arg2 : !emitc.size_t to i32
  // CHECK-NEXT:   %3 = mul %arg0, %2 : (i32, i32) -> i32
  // CHECK-NEXT:   yield %3 : i32
  // CHECK-NEXT: }
  %0 = expression %a, %n : (i32, !emitc.size_t) -> i32 {
    %1 = cast %n : !emitc.size_t to i32
    %2 = mul %a, %1 : (i32, i32) -> i32
    yield %2 : i32
  }

  // CHECK-NEXT: for %arg3 = %arg2 to %arg2 step %arg2  : !emitc.size_t {
  // CHECK-NEXT:   if %arg1 {
  // CHECK-NEXT:     verbatim "first();"
  // CHECK-NEXT:   } else {
  // CHECK-NEXT:     verbatim "second();"
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  for %i = %n to %n step %n : !emitc.size_t {
    if %c {
      verbatim "first();"
    } else {
      verbatim "second();"
    }
  }

  // CHECK-NEXT: switch %0 : i32
  // CHECK-NEXT: case 2 {
  // CHECK-NEXT:   verbatim "two();"
  // CHECK-NEXT:   yield
  // CHECK-NEXT: }
  // CHECK-NEXT: default {
  // CHECK-NEXT: }
  switch %0 : i32
  case 2 {
    verbatim "two();"
    yield
  }
  default {
  }

  // CHECK-NEXT: %1 = "emitc.variable"() <{value = #emitc.opaque<"">}> : () -> !emitc.lvalue<i1>
  // CHECK-NEXT: do {
  // CHECK-NEXT:   assign %arg1 : i1 to %1 : <i1>
  // CHECK-NEXT: } while {
  // CHECK-NEXT:   %2 = expression %1 : (!emitc.lvalue<i1>) -> i1 {
  // CHECK-NEXT:     %3 = load %1 : <i1>
  // CHECK-NEXT:     yield %3 : i1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   yield %2 : i1
  // CHECK-NEXT: }
  %again = "emitc.variable"() <{value = #emitc.opaque<"">}> : () -> !emitc.lvalue<i1>
  do {
    assign %c : i1 to %again : <i1>
  } while {
    %1 = expression %again : (!emitc.lvalue<i1>) -> i1 {
      %2 = load %again : <i1>
      yield %2 : i1
    }
    yield %1 : i1
  }
  return
}
