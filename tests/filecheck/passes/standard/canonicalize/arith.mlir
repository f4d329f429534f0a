// RUN: tilewright opt --canonicalize %s | filecheck %s

// Constants meet, wrapping at their width, and move to the right of what commutes.
func.func @reassociate(%x: i8) -> (i8, i8, i8) {
  %c100 = arith.constant 100 : i8
  %c-1 = arith.constant -1 : i8
  %0 = arith.addi %c100, %x : i8
  %1 = arith.addi %0, %c100 : i8
  %2 = arith.subi %c100, %0 : i8
  %3 = arith.muli %x, %c-1 : i8
  %4 = arith.addi %x, %3 : i8
  return %1, %2, %4 : i8, i8, i8
}
// CHECK-LABEL: func.func @reassociate(%arg0: i8)
// CHECK-NEXT:    %c0_i8 = arith.constant 0 : i8
// CHECK-NEXT:    %c-56_i8 = arith.constant -56 : i8
// CHECK-NEXT:    %0 = arith.addi %arg0, %c-56_i8 : i8
// CHECK-NEXT:    %1 = arith.subi %c0_i8, %arg0 : i8
// CHECK-NEXT:    return %0, %1, %c0_i8 : i8, i8, i8

// What the hardware may trap on, or what is undefined, is not decided here.
func.func @undefined(%x: i32) -> (i32, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %min = arith.constant -2147483648 : i32
  %m1 = arith.constant -1 : i32
  %0 = arith.divsi %c32, %c0 : i32
  %1 = arith.divsi %min, %m1 : i32
  %2 = arith.shli %m1, %c32 : i32
  return %0, %1, %2 : i32, i32, i32
}
// CHECK-LABEL: func.func @undefined
// CHECK:         arith.divsi %c32_i32, %c0_i32 : i32
// CHECK-NEXT:    arith.divsi %c-2147483648_i32, %c-1_i32 : i32
// CHECK-NEXT:    arith.shli %c-1_i32, %c32_i32 : i32

// The same bits compare differently as signed and as unsigned numbers; equality ignores how they were extended.
func.func @compare(%x: i8, %y: i8, %c: i1) -> (i1, i1, i1, i1) {
  %c1 = arith.constant 1 : i32
  %c-1 = arith.constant -1 : i32
  %true = arith.constant true
  %0 = arith.cmpi slt, %c-1, %c1 : i32
  %1 = arith.cmpi ult, %c-1, %c1 : i32
  %2 = arith.extui %x : i8 to i32
  %3 = arith.extui %y : i8 to i32
  %4 = arith.cmpi eq, %2, %3 : i32
  %5 = arith.cmpi sgt, %x, %y : i8
  %6 = arith.xori %5, %true : i1
  return %0, %1, %4, %6 : i1, i1, i1, i1
}
// CHECK-LABEL: func.func @compare
// CHECK-NEXT:    %true = arith.constant true
// CHECK-NEXT:    %false = arith.constant false
// CHECK-NEXT:    %0 = arith.cmpi eq, %arg0, %arg1 : i8
// CHECK-NEXT:    %1 = arith.cmpi sle, %arg0, %arg1 : i8
// CHECK-NEXT:    return %true, %false, %0, %1 : i1, i1, i1, i1

// Only conversions that lose nothing are computed, and a zero keeps its sign.
func.func @floats(%x: f32) -> (f16, f16, f32, f32) {
  %half = arith.constant 5.000000e-01 : f32
  %tenth = arith.constant 1.000000e-01 : f32
  %negative_zero = arith.constant -0.000000e+00 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %0 = arith.truncf %half : f32 to f16
  %1 = arith.truncf %tenth : f32 to f16
  %2 = arith.addf %x, %negative_zero : f32
  %3 = arith.addf %x, %zero : f32
  return %0, %1, %2, %3 : f16, f16, f32, f32
}
// CHECK-LABEL: func.func @floats
// CHECK-DAG:     %[[HALF:.+]] = arith.constant 5.000000e-01 : f16
// CHECK-DAG:     %[[TENTH:.+]] = arith.constant 1.000000e-01 : f32
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[TRUNCATED:.+]] = arith.truncf %[[TENTH]] : f32 to f16
// CHECK-NEXT:    %[[SUM:.+]] = arith.addf %arg0, %[[ZERO]] : f32
// CHECK-NEXT:    return %[[HALF]], %[[TRUNCATED]], %arg0, %[[SUM]]

// Choices between constants are conversions of the condition.
func.func @select(%c: i1, %x: i32, %y: i32) -> (i32, i1, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %false = arith.constant false
  %0 = arith.select %c, %c1, %c0 : i32
  %1 = arith.select %c, %false, %true : i1
  %2 = arith.select %1, %x, %y : i32
  return %0, %1, %2 : i32, i1, i32
}
// CHECK-LABEL: func.func @select
// CHECK-NEXT:    %true = arith.constant true
// CHECK-NEXT:    %0 = arith.extui %arg0 : i1 to i32
// CHECK-NEXT:    %1 = arith.xori %arg0, %true : i1
// CHECK-NEXT:    %2 = arith.select %arg0, %arg2, %arg1 : i32
// CHECK-NEXT:    return %0, %1, %2

// Elements are folded one by one; zeros of different sign do not make a splat.
func.func @elements(%v: vector<4xi32>) -> (vector<4xi32>, vector<2xf32>, vector<4xi32>) {
  %0 = arith.constant dense<[1, 2, 3, 4]> : vector<4xi32>
  %1 = arith.constant dense<10> : vector<4xi32>
  %2 = arith.constant dense<[1.000000e+00, -1.000000e+00]> : vector<2xf32>
  %3 = arith.constant dense<0.000000e+00> : vector<2xf32>
  %zero = arith.constant dense<0> : vector<4xi32>
  %4 = arith.muli %0, %1 : vector<4xi32>
  %5 = arith.mulf %2, %3 : vector<2xf32>
  %6 = arith.addi %v, %zero : vector<4xi32>
  return %4, %5, %6 : vector<4xi32>, vector<2xf32>, vector<4xi32>
}
// CHECK-LABEL: func.func @elements
// CHECK-DAG:     %[[TENS:.+]] = arith.constant dense<[10, 20, 30, 40]> : vector<4xi32>
// CHECK-DAG:     %[[ZEROS:.+]] = arith.constant dense<[0.000000e+00, -0.000000e+00]> : vector<2xf32>
// CHECK:         return %[[TENS]], %[[ZEROS]], %arg0
