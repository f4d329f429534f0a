// Two waves turn 128 numbers round: each leaves its own in memory of the block and takes those of the other.
module attributes {gpu.container_module} {
  func.func @reverse(%numbers: memref<128xi32>) {
    %one = arith.constant 1 : index
    %threads = arith.constant 128 : index
    %device = gpu.alloc () : memref<128xi32>
    gpu.memcpy %device, %numbers : memref<128xi32>, memref<128xi32>
    gpu.launch_func @kernels::@reverse blocks in (%one, %one, %one) threads in (%threads, %one, %one)
        args(%device : memref<128xi32>)
    gpu.memcpy %numbers, %device : memref<128xi32>, memref<128xi32>
    return
  }
  gpu.module @kernels {
    gpu.func @reverse(%numbers: memref<128xi32>) workgroup(%line : memref<128xi32, 3>) kernel {
      %last = arith.constant 127 : index
      %me = gpu.thread_id x
      %other = arith.subi %last, %me : index
      %mine = memref.load %numbers[%me] : memref<128xi32>
      memref.store %mine, %line[%me] : memref<128xi32, 3>
      // Here a gpu.barrier is missing.
      %its = memref.load %line[%other] : memref<128xi32, 3>
      memref.store %its, %numbers[%me] : memref<128xi32>
      gpu.return
    }
  }
}
