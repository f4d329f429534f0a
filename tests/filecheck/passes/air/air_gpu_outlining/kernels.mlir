// RUN: tilewright opt --air-gpu-outlining %s | filecheck %s

// CHECK: module attributes {gpu.container_module}
// CHECK-LABEL: func.func @f
// What a kernel takes from outside are its arguments, in the order of their use; constants are made again inside.
// CHECK: gpu.launch_func @f_module::@f_module blocks in (%c2, %c1, %c1) threads in (%c64, %c1, %c1) args(%arg1 : memref<8xf32>, %arg0 : f32)
// CHECK: gpu.launch_func @f_module_0::@f_module blocks in (%arg2, %c1, %c1) threads in (%c64, %c1, %c1)
func.func @f(%x: f32, %m: memref<8xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1)
      workgroup(%w : memref<4xf32, 3>) private(%p : memref<2xf32, 5>) {
    scf.for %i = %bx to %c2 step %c1 {
      %v = affine.load %m[symbol(%tx)] : memref<8xf32>
      %u = arith.addf %v, %x : f32
      memref.store %u, %w[%i] : memref<4xf32, 3>
      memref.store %u, %p[%i] : memref<2xf32, 5>
    }
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    gpu.barrier
    gpu.terminator
  }
  return
}

// Sizes that are known are told to the compiler of the device. Ids are asked for that are used.
// CHECK:      gpu.module @f_module {
// CHECK-NEXT:   gpu.func @f_module(%arg0: memref<8xf32>, %arg1: f32) workgroup(%arg2 : memref<4xf32, 3>) private(%arg3 : memref<2xf32, 5>) kernel
// CHECK-SAME:     attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
// CHECK-NEXT:     %c2 = arith.constant 2 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     %block_id_x = gpu.block_id x
// CHECK:          %thread_id_x = gpu.thread_id x
// CHECK-NOT:      gpu.block_dim
// CHECK:          cf.br ^bb1(%block_id_x : index)
// CHECK:          memref.load %arg0[%thread_id_x]
// CHECK:          gpu.return
// CHECK:      gpu.module @f_module_0 {
// CHECK-NEXT:   gpu.func @f_module() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
// CHECK:          gpu.barrier
// CHECK-NEXT:     gpu.return
