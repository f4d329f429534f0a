// RUN: tilewright opt --air-gpu-pipeline-copies="buffers=2 chip=sm_90" %s | filecheck %s
// A round reads its tile in one place and stores the next in the other: lanes meet once. The number of the place goes
// from round to round beside what the loop carries anyway.
func.func @places(%a: memref<64xf32>, %sums: memref<1xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%tile : memref<4xf32, 3>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %c64 step %c8 iter_args(%before = %zero) -> f32 {
      %value = vector.load %a[%k] {alignment = 16 : i64} : memref<64xf32>, vector<4xf32>
      vector.store %value, %tile[%c0] {alignment = 16 : i64} : memref<4xf32, 3>, vector<4xf32>
      gpu.barrier
      %mine = memref.load %tile[%tx] : memref<4xf32, 3>
      %after = arith.addf %before, %mine : f32
      gpu.barrier
      scf.yield %after : f32
    }
    memref.store %sum, %sums[%c0] : memref<1xf32>
    gpu.terminator
  }
  return
}
// CHECK-LABEL: func.func @places
// CHECK:      workgroup(%[[TILE:.+]] : memref<2x4xf32, 3>)
// CHECK:      arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[PLACE0:.+]] = arith.constant 0 : index
// CHECK-NEXT: %[[FIRST:.+]] = vector.load
// CHECK-NEXT: vector.store %[[FIRST]], %[[TILE]][%[[PLACE0]], %c0] {alignment = 16 : i64} : memref<2x4xf32, 3>, vector<4xf32>
// CHECK-NEXT: %[[SUM:.+]]:2 = scf.for %[[K:.+]] = %c0 to %c64 step %c8 iter_args(%[[BEFORE:.+]] = %{{.+}}, %[[PLACE:.+]] = %[[PLACE0]]) -> (f32, index) {
// CHECK-NEXT:   gpu.barrier
// CHECK:        %[[NEXT:.+]] = vector.load
// CHECK-NEXT:   %[[MINE:.+]] = memref.load %[[TILE]][%[[PLACE]], %{{.+}}] : memref<2x4xf32, 3>
// CHECK-NEXT:   %[[AFTER:.+]] = arith.addf %[[BEFORE]], %[[MINE]] : f32
// CHECK-NEXT:   %[[ONE:.+]] = arith.constant 1 : index
// CHECK-NEXT:   %[[OTHER:.+]] = arith.xori %[[PLACE]], %[[ONE]] : index
// CHECK-NEXT:   vector.store %[[NEXT]], %[[TILE]][%[[OTHER]], %c0]
// CHECK-NEXT:   scf.yield %[[AFTER]], %[[OTHER]] : f32, index
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store %[[SUM]]#0
