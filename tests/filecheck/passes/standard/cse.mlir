// RUN: tilewright opt --cse --allow-unregistered-dialect %s | filecheck %s

// The order of operands does not matter where they commute; reads are the same until something is written.
func.func @same(%x: i32, %y: i32, %m: memref<4xi32>, %i: index) -> (i32, i32, i32, i32, i32) {
  %0 = arith.addi %x, %y : i32
  %1 = arith.addi %y, %x : i32
  %2 = memref.load %m[%i] : memref<4xi32>
  %3 = memref.load %m[%i] : memref<4xi32>
  memref.store %0, %m[%i] : memref<4xi32>
  %4 = memref.load %m[%i] : memref<4xi32>
  return %0, %1, %2, %3, %4 : i32, i32, i32, i32, i32
}
// CHECK-LABEL: func.func @same
// CHECK-NEXT:    %0 = arith.addi %arg0, %arg1 : i32
// CHECK-NEXT:    %1 = memref.load %arg2[%arg3] : memref<4xi32>
// CHECK-NEXT:    memref.store %0, %arg2[%arg3] : memref<4xi32>
// CHECK-NEXT:    %2 = memref.load %arg2[%arg3] : memref<4xi32>
// CHECK-NEXT:    return %0, %0, %1, %1, %2

// What a block computes holds in the blocks that it dominates, not in its siblings.
func.func @dominance(%c: i1, %x: i32) -> i32 {
  %0 = arith.muli %x, %x : i32
  cf.cond_br %c, ^left, ^right
^left:
  %1 = arith.addi %x, %x : i32
  "test.use"(%1) : (i32) -> ()
  cf.br ^end
^right:
  %2 = arith.addi %x, %x : i32
  "test.use"(%2) : (i32) -> ()
  cf.br ^end
^end:
  %3 = arith.muli %x, %x : i32
  %4 = arith.subi %3, %0 : i32
  return %4 : i32
}
// CHECK-LABEL: func.func @dominance
// CHECK-NEXT:    %0 = arith.muli %arg1, %arg1 : i32
// CHECK:         arith.addi %arg1, %arg1 : i32
// CHECK:         arith.addi %arg1, %arg1 : i32
// CHECK-NOT:     arith.muli
// CHECK:         arith.subi %0, %0 : i32

// Operations with equal regions are equal, and a function keeps what another one computed out.
func.func @regions(%c: i1, %x: i32) -> (i32, i32) {
  %0 = scf.if %c -> (i32) {
    %1 = arith.muli %x, %x : i32
    scf.yield %1 : i32
  } else {
    scf.yield %x : i32
  }
  %2 = scf.if %c -> (i32) {
    %3 = arith.muli %x, %x : i32
    scf.yield %3 : i32
  } else {
    scf.yield %x : i32
  }
  return %0, %2 : i32, i32
}
// CHECK-LABEL: func.func @regions
// CHECK-NEXT:    %0 = scf.if %arg0 -> (i32) {
// CHECK-NEXT:      %1 = arith.muli %arg1, %arg1 : i32
// CHECK:         return %0, %0 : i32, i32
