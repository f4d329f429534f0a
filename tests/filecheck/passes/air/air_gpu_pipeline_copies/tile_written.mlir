// RUN: tilewright opt --air-gpu-pipeline-copies %s | filecheck %s
// A round that changes its tile leaves it to what follows: it is not stored again. Rounds below 0 are left alone, too.
func.func @kept(%a: memref<64xf32>, %out: memref<1xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%tile : memref<1xf32, 3>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %below = arith.constant -8 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      %twice = arith.addf %mine, %mine : f32
      memref.store %twice, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
    }
    scf.for %k = %below to %c64 step %c8 {
      %place = arith.addi %k, %c8 : index
      %value = memref.load %a[%place] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
    }
    gpu.terminator
  }
  return
}
// CHECK-NOT: arith.minui
// CHECK:     gpu.terminator
