// RUN: tilewright opt --canonicalize --allow-unregistered-dialect %s | filecheck %s

// Each constant is there once, at the start of the function; later ones come first.
func.func @unique(%c: i1) {
  "test.a"() : () -> ()
  %c1 = arith.constant 1 : i32
  "test.b"(%c1) : (i32) -> ()
  scf.if %c {
    %again = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    "test.c"(%again, %c2) : (i32, i32) -> ()
  }
  return
}
// CHECK-LABEL: func.func @unique
// CHECK-NEXT:    %c2_i32 = arith.constant 2 : i32
// CHECK-NEXT:    %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:    "test.a"() : () -> ()
// CHECK-NEXT:    "test.b"(%c1_i32) : (i32) -> ()
// CHECK-NEXT:    scf.if %arg0 {
// CHECK-NEXT:      "test.c"(%c1_i32, %c2_i32) : (i32, i32) -> ()

// A positive and a negative zero are different constants.
func.func @zeros() -> (f32, f32) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = arith.constant -0.000000e+00 : f32
  return %0, %1 : f32, f32
}
// CHECK-LABEL: func.func @zeros
// CHECK-NEXT:    %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %cst_0 = arith.constant -0.000000e+00 : f32

// Nothing is known of an operation that is not registered, but that constants may not leave it.
func.func @unregistered() {
  "test.region"() ({
    %c1 = arith.constant 1 : i32
    %unused = "test.effect"(%c1) : (i32) -> i32
    "test.end"() : () -> ()
  }) : () -> ()
  return
}
// CHECK-LABEL: func.func @unregistered
// CHECK-NEXT:    "test.region"() ({
// CHECK-NEXT:      %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:      %0 = "test.effect"(%c1_i32) : (i32) -> i32
