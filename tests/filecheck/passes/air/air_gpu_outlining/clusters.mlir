// RUN: tilewright opt --air-gpu-outlining --split-input-file --verify-diagnostics %s | filecheck %s

// The compiler of the device is told how many blocks run together; where in the grid they are is asked for.
// CHECK:      gpu.func @pairs_module(%arg0: memref<8x4xindex>) kernel
// CHECK-SAME:   known_cluster_size = array<i32: 2, 1, 1>
// CHECK:        %[[ID:.+]] = gpu.cluster_id x
// CHECK:        %[[COUNT:.+]] = gpu.cluster_dim x
// CHECK:        memref.store %{{.+}}, %arg0[%[[ID]], %[[COUNT]]]
func.func @pairs(%m: memref<8x4xindex>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  gpu.launch clusters(%cx, %cy, %cz) in (%nx = %c2, %ny = %c1, %nz = %c1)
      blocks(%bx, %by, %bz) in (%gx = %c8, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %bx, %m[%cx, %nx] : memref<8x4xindex>
    gpu.terminator
  }
  return
}

// -----

func.func @some(%n: index) {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'gpu.launch' op has clusters whose size is not known when it is compiled}}
  gpu.launch clusters(%cx, %cy, %cz) in (%nx = %n, %ny = %c1, %nz = %c1)
      blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.terminator
  }
  return
}
