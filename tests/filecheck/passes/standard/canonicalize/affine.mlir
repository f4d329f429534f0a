// RUN: tilewright opt --canonicalize --allow-unregistered-dialect %s | filecheck %s

// CHECK:       #[[MIN:.+]] = affine_map<()[s0, s1] -> (16, s0 + s1)>
// CHECK-NEXT:  #[[NEXT:.+]] = affine_map<()[s0] -> (s0 + 1)>

// Maps compose; what is known of a loop decides divisions; constants become bounds.
func.func @compose(%m: memref<64xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  affine.for %i = %c0 to %c8 {
    affine.for %j = 0 to 8 {
      %0 = affine.apply affine_map<(d0, d1) -> (d0 * 8 + d1)>(%i, %j)
      %1 = affine.load %m[%0] : memref<64xi32>
      affine.store %1, %m[(%i * 8 + %j) floordiv 8] : memref<64xi32>
    }
  }
  return
}
// CHECK-LABEL: func.func @compose
// CHECK-NEXT:    affine.for %arg2 = 0 to 8 {
// CHECK-NEXT:      affine.for %arg3 = 0 to 8 {
// CHECK-NEXT:        %0 = affine.load %arg0[%arg2 * 8 + %arg3] : memref<64xi32>
// CHECK-NEXT:        affine.store %0, %arg0[%arg2] : memref<64xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    return

// Minima lose repetitions and are put in order; of one expression nothing is left but the expression.
func.func @minimum(%a: index, %b: index) -> (index, index) {
  %0 = affine.min affine_map<(d0, d1) -> (d0 + d1, 16, d0 + d1)>(%a, %b)
  %1 = affine.min affine_map<(d0) -> (d0 + 1)>(%a)
  return %0, %1 : index, index
}
// CHECK-LABEL: func.func @minimum
// CHECK-NEXT:    %0 = affine.min #[[MIN]]()[%arg0, %arg1]
// CHECK-NEXT:    %1 = affine.apply #[[NEXT]]()[%arg0]
// CHECK-NEXT:    return %0, %1
