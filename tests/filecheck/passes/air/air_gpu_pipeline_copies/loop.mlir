// RUN: tilewright opt --air-gpu-pipeline-copies %s | filecheck %s
// The next element is loaded while the present one is computed with, and stored when all have read that.
func.func @sums(%a: memref<64xf32>, %sum: memref<1xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%tile : memref<1xf32, 3>) private(%acc : memref<1xf32, 5>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      memref.store %mine, %acc[%c0] : memref<1xf32, 5>
      gpu.barrier
    }
    // What the loop writes to memory of the device it might also read: it stays as it is.
    scf.for %k = %c0 to %c64 step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      memref.store %mine, %a[%k] : memref<64xf32>
      gpu.barrier
    }
    gpu.terminator
  }
  return
}
// CHECK:      %[[FIRST:.+]] = memref.load %arg0[%c0] : memref<64xf32>
// CHECK-NEXT: memref.store %[[FIRST]], %[[TILE:.+]][%c0] : memref<1xf32, 3>
// CHECK-NEXT: scf.for %[[K:.+]] = %c0 to %c64 step %c8 {
// CHECK-NEXT:   gpu.barrier
// CHECK-NEXT:   %[[SUM:.+]] = arith.addi %[[K]], %c8 : index
// CHECK-NEXT:   %[[LAST:.+]] = arith.constant 56 : index
// CHECK-NEXT:   %[[FOLLOWING:.+]] = arith.minui %[[SUM]], %[[LAST]] : index
// CHECK-NEXT:   %[[NEXT:.+]] = memref.load %arg0[%[[FOLLOWING]]] : memref<64xf32>
// CHECK-NEXT:   %{{.+}} = memref.load %[[TILE]][%c0] : memref<1xf32, 3>
// CHECK-NEXT:   memref.store
// CHECK-NEXT:   gpu.barrier
// CHECK-NEXT:   memref.store %[[NEXT]], %[[TILE]][%c0] : memref<1xf32, 3>
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.for %[[K2:.+]] = %c0 to %c64 step %c8 {
// CHECK-NEXT:   memref.load %arg0[%[[K2]]]
