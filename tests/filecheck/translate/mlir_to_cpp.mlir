// RUN: tilewright translate --mlir-to-cpp %s | filecheck %s
// The text that MLIR's `mlir-translate --mlir-to-cpp` gives.

// CHECK:      #include <cstdint>
// CHECK-NEXT: static const int32_t limit = 1023;
// CHECK-NEXT: inline bool within(int32_t v1, size_t v2) {
// CHECK-NEXT:   int32_t v3 = 7;
// CHECK-NEXT:   int32_t v4 = (v1 + v3) * v3;
// CHECK-NEXT:   uint32_t v5 = (uint32_t) v4;
// CHECK-NEXT:   for (size_t i6 = v2; i6 < v2; i6 += v2) {
// CHECK-NEXT:     check<int32_t>(v5, limit, 3);
// CHECK-NEXT:   }
// CHECK-NEXT:   bool v7;
// CHECK-NEXT:   if (v1 != v4) {
// CHECK-NEXT:     v7 = true;
// CHECK-NEXT:   } else {
// CHECK-NEXT:     stop(v4);
// CHECK-NEXT:   }
// CHECK-NEXT:   bool v8 = v7;
// CHECK-NEXT:   return v8;
// CHECK-NEXT: }
emitc.include <"cstdint">
emitc.global static const @limit : i32 = 1023
emitc.func @within(%a: i32, %n: !emitc.size_t) -> i1 attributes {specifiers = ["inline"]} {
  %0 = "emitc.constant"() <{value = 7 : i32}> : () -> i32
  %1 = expression %a, %0 : (i32, i32) -> i32 {
    %2 = add %a, %0 : (i32, i32) -> i32
    %3 = mul %2, %0 : (i32, i32) -> i32
    yield %3 : i32
  }
  %2 = cast %1 : i32 to ui32
  for %i = %n to %n step %n : !emitc.size_t {
    %limit = literal "limit" : i32
    call_opaque "check"(%2, %limit) {args = [0 : index, 1 : index, 3 : i32], template_args = [i32]} : (ui32, i32) -> ()
  }
  %result = "emitc.variable"() <{value = #emitc.opaque<"">}> : () -> !emitc.lvalue<i1>
  %differs = expression %a, %1 : (i32, i32) -> i1 {
    %5 = cmp ne, %a, %1 : (i32, i32) -> i1
    yield %5 : i1
  }
  if %differs {
    %true = literal "true" : i1
    assign %true : i1 to %result : <i1>
  } else {
    verbatim "stop({});" args %1 : i32
  }
  %4 = load %result : <i1>
  return %4 : i1
}
