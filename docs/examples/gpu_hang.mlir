// Block 1 waits until block 0 has set a flag, which it sets to the wrong number.
module attributes {gpu.container_module} {
  func.func @wait() {
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %lanes = arith.constant 64 : index
    %zero = arith.constant 0 : i32
    %start = memref.alloc() : memref<1xi32>
    %first = arith.constant 0 : index
    memref.store %zero, %start[%first] : memref<1xi32>
    %flag = gpu.alloc () : memref<1xi32>
    gpu.memcpy %flag, %start : memref<1xi32>, memref<1xi32>
    gpu.launch_func @kernels::@wait blocks in (%two, %one, %one) threads in (%lanes, %one, %one)
        args(%flag : memref<1xi32>)
    return
  }
  gpu.module @kernels {
    gpu.func @wait(%flag: memref<1xi32>) kernel {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %block = gpu.block_id x
      %sets = arith.cmpi eq, %block, %c0 : index
      scf.if %sets {
        %old = memref.atomic_rmw assign %two, %flag[%c0] : (i32, memref<1xi32>) -> i32
      } else {
        scf.while : () -> () {
          %now = memref.atomic_rmw addi %zero, %flag[%c0] : (i32, memref<1xi32>) -> i32
          %goes_on = arith.cmpi ne, %now, %one : i32
          scf.condition(%goes_on)
        } do {
          scf.yield
        }
      }
      gpu.return
    }
  }
}
