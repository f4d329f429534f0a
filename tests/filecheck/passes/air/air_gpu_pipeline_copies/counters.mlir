// RUN: tilewright opt --air-gpu-pipeline-copies %s | filecheck %s
// Rounds may be counted in any type, with a sign or without.
func.func @counters(%a: memref<64xf32>, %n: i32) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%tile : memref<1xf32, 3>) {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    scf.for %k = %zero to %c64 step %c8 : i32 {
      %place = arith.index_cast %k : i32 to index
      %value = memref.load %a[%place] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
    }
    scf.for unsigned %k = %zero to %n step %c8 : i32 {
      %place = arith.index_cast %k : i32 to index
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
// CHECK:      %[[LAST:.+]] = arith.constant 56 : i32
// CHECK-NEXT: %[[FOLLOWING:.+]] = arith.minui %{{.+}}, %[[LAST]] : i32
// CHECK-NEXT: arith.index_cast %[[FOLLOWING]] : i32 to index
// CHECK:      arith.cmpi ult, %{{.+}}, %arg1 : i32
// CHECK-NEXT: scf.if
// CHECK:      scf.for unsigned
// CHECK:        %[[MORE:.+]] = arith.cmpi ult, %{{.+}}, %arg1 : i32
// CHECK-NEXT:   arith.select %[[MORE]], %{{.+}}, %{{.+}} : i32
