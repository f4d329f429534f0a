// RUN: tilewright opt --canonicalize %s | filecheck %s

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) {sym_name = "buffer"} : memref<64xi32>
  %lock = aie.lock(%tile, 0) {sym_name = "lock"}

  // Waiting for at least 0 and taking 0 does nothing; waiting for exactly 0 does.
  // CHECK:      aie.core
  // CHECK-NEXT:   %c0_i32 = arith.constant 0 : i32
  // CHECK-NEXT:   aie.use_lock(%lock, Acquire, %c0_i32)
  // CHECK-NEXT:   aie.end
  %core = aie.core(%tile) {
    %zero = arith.constant 0 : i32
    aie.use_lock(%lock, AcquireGreaterEqual, %zero)
    aie.use_lock(%lock, Acquire, %zero)
    aie.end
  }

  // A chain that says the same twice is said once.
  // CHECK:      aie.mem
  // CHECK:      ^bb1:
  // CHECK-NEXT:   aie.dma_bd(%buffer : memref<64xi32> offset = 0 len = 32)
  // CHECK-NEXT:   aie.next_bd ^bb2
  // CHECK-NEXT: ^bb2:
  // CHECK-NEXT:   aie.dma_bd(%buffer : memref<64xi32> offset = 32 len = 32)
  // CHECK-NEXT:   aie.next_bd ^bb1
  // CHECK-NEXT: ^bb3:
  // CHECK-NEXT:   aie.end
  %dma = aie.mem(%tile) {
    %0 = aie.dma_start(MM2S, 0, ^a, ^end)
  ^a:
    aie.dma_bd(%buffer : memref<64xi32> offset = 0 len = 32)
    aie.next_bd ^b
  ^b:
    aie.dma_bd(%buffer : memref<64xi32> offset = 32 len = 32)
    aie.next_bd ^c
  ^c:
    aie.dma_bd(%buffer : memref<64xi32> offset = 0 len = 32)
    aie.next_bd ^d
  ^d:
    aie.dma_bd(%buffer : memref<64xi32> offset = 32 len = 32)
    aie.next_bd ^a
  ^end:
    aie.end
  }

  // CHECK: aie.runtime_sequence
  aie.runtime_sequence(%host: memref<1024xi32>, %n: i64) {
    %four = arith.constant 4 : i32
    %eight = arith.constant 8 : i64
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      // Constants become part of the descriptor, whatever else stays a value.
      // CHECK: aie.dma_bd(%arg0 : memref<1024xi32> offset = 4 len = 4 sizes = [8, %arg1] strides = [16, 1])
      aie.dma_bd(%host : memref<1024xi32> offset = %four len = %four sizes = [%eight, %n] strides = [16, 1])
      aie.next_bd ^rows
    ^rows:
      // Rows without gaps between them are one run.
      // CHECK: aie.dma_bd(%arg0 : memref<1024xi32> offset = 16 len = 64)
      aie.dma_bd(%host : memref<1024xi32> offset = 16 sizes = [4, 16] strides = [16, 1])
      aie.next_bd ^iterated
    ^iterated:
      // The length says that the outer dimension is an iteration: it stays.
      // CHECK: aie.dma_bd(%arg0 : memref<1024xi32> offset = 0 len = 16 sizes = [4, 16] strides = [16, 1])
      aie.dma_bd(%host : memref<1024xi32> offset = 0 len = 16 sizes = [4, 16] strides = [16, 1])
      aie.next_bd ^unknown
    ^unknown:
      // So may one that is known only when the sequence is generated.
      // CHECK: aie.dma_bd(%arg0 : memref<1024xi32> offset = 0 len = %{{.+}} sizes = [4, 16] strides = [16, 1])
      %length = arith.trunci %n : i64 to i32
      aie.dma_bd(%host : memref<1024xi32> offset = 0 len = %length sizes = [4, 16] strides = [16, 1])
      aie.end
    }
  }
}
