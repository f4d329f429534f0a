// RUN: tilewright opt --air-gpu-pipeline-copies %s | filecheck %s
// Lanes meet before they store, as `air.dot` lets them: they do so at the end of the round now. What is outside of the
// array is zero: the choice is a load, as the one before the store is a store.
func.func @edges(%a: memref<?xf32>, %n: index, %inside: i1) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%tile : memref<1xf32, 3>) private(%acc : memref<1xf32, 5>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %is_there = arith.cmpi slt, %k, %n : index
      %value = scf.if %is_there -> f32 {
        %found = memref.load %a[%k] : memref<?xf32>
        scf.yield %found : f32
      } else {
        %zero = arith.constant 0.0 : f32
        scf.yield %zero : f32
      }
      gpu.barrier
      scf.if %inside {
        memref.store %value, %tile[%c0] : memref<1xf32, 3>
      }
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      memref.store %mine, %acc[%c0] : memref<1xf32, 5>
    }
    gpu.terminator
  }
  return
}
// CHECK-LABEL: func.func @edges
// CHECK:      %[[FIRST:.+]] = scf.if
// CHECK-NEXT:   memref.load %{{.+}}[%c0] : memref<?xf32>
// CHECK:      gpu.barrier
// CHECK-NEXT: scf.if %[[INSIDE:.+]] {
// CHECK-NEXT:   memref.store %[[FIRST]], %[[TILE:.+]][%c0] : memref<1xf32, 3>
// CHECK-NEXT: }
// CHECK-NEXT: scf.for
// CHECK-NEXT:   gpu.barrier
// CHECK:        %[[FOLLOWING:.+]] = arith.minui
// CHECK-NEXT:   %[[IS_THERE:.+]] = arith.cmpi slt, %[[FOLLOWING]], %{{.+}} : index
// CHECK-NEXT:   %[[NEXT:.+]] = scf.if %[[IS_THERE]] -> (f32) {
// CHECK-NEXT:     memref.load %{{.+}}[%[[FOLLOWING]]] : memref<?xf32>
// CHECK:        %[[MINE:.+]] = memref.load %[[TILE]][%c0] : memref<1xf32, 3>
// CHECK-NEXT:   memref.store %[[MINE]], %{{.+}}[%c0] : memref<1xf32, 5>
// CHECK-NEXT:   gpu.barrier
// CHECK-NEXT:   scf.if %[[INSIDE]] {
// CHECK-NEXT:     memref.store %[[NEXT]], %[[TILE]][%c0] : memref<1xf32, 3>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
