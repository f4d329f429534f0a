// RUN: tilewright opt --air-gpu-pipeline-copies %s | filecheck %s
// Sums that are carried in registers stay so; how many rounds there are only a run knows: the first tile is loaded if
// there is a round, and a round that is the last loads its own tile once more.
func.func @carried(%a: memref<?xf32>, %sums: memref<1xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%tile : memref<1xf32, 3>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c8 iter_args(%before = %zero) -> f32 {
      %value = memref.load %a[%k] : memref<?xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      %after = arith.addf %before, %mine : f32
      gpu.barrier
      scf.yield %after : f32
    }
    memref.store %sum, %sums[%c0] : memref<1xf32>
    gpu.terminator
  }
  return
}
// CHECK-LABEL: func.func @carried
// CHECK:      %[[ANY:.+]] = arith.cmpi slt, %c0, %[[N:.+]] : index
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK-NEXT:   %[[FIRST:.+]] = memref.load %[[A:.+]][%c0] : memref<?xf32>
// CHECK-NEXT:   memref.store %[[FIRST]], %[[TILE:.+]][%c0] : memref<1xf32, 3>
// CHECK-NEXT: }
// CHECK-NEXT: %[[SUM:.+]] = scf.for %[[K:.+]] = %c0 to %[[N]] step %c8 iter_args(%[[BEFORE:.+]] = %{{.+}}) -> (f32) {
// CHECK-NEXT:   gpu.barrier
// CHECK-NEXT:   %[[PLUS:.+]] = arith.addi %[[K]], %c8 : index
// CHECK-NEXT:   %[[MORE:.+]] = arith.cmpi slt, %[[PLUS]], %[[N]] : index
// CHECK-NEXT:   %[[FOLLOWING:.+]] = arith.select %[[MORE]], %[[PLUS]], %[[K]] : index
// CHECK-NEXT:   %[[NEXT:.+]] = memref.load %[[A]][%[[FOLLOWING]]] : memref<?xf32>
// CHECK-NEXT:   %[[MINE:.+]] = memref.load %[[TILE]][%c0] : memref<1xf32, 3>
// CHECK-NEXT:   %[[AFTER:.+]] = arith.addf %[[BEFORE]], %[[MINE]] : f32
// CHECK-NEXT:   gpu.barrier
// CHECK-NEXT:   memref.store %[[NEXT]], %[[TILE]][%c0] : memref<1xf32, 3>
// CHECK-NEXT:   scf.yield %[[AFTER]] : f32
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store %[[SUM]], %{{.+}}[%c0] : memref<1xf32>
