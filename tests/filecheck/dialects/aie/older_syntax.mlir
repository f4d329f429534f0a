// RUN: tilewright opt %s | filecheck %s

// Older programs write lock values, offsets, lengths and access patterns as attributes, by position. They are read as
// what they mean today.
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) : memref<64xi32>
  %lock = aie.lock(%tile, 0)
  %core = aie.core(%tile) {
    // CHECK:      %c2_i32 = arith.constant 2 : i32
    // CHECK-NEXT: aie.use_lock(%lock_0_2, AcquireGreaterEqual, %c2_i32)
    // CHECK-NEXT: %c1_i32 = arith.constant 1 : i32
    // CHECK-NEXT: aie.use_lock(%lock_0_2, Release, %c1_i32)
    // CHECK-NEXT: %c1_i32_0 = arith.constant 1 : i32
    // CHECK-NEXT: aie.use_lock(%lock_0_2, Acquire, %c1_i32_0, NonBlocking)
    // CHECK-NEXT: %c0_i32 = arith.constant 0 : i32
    // CHECK-NEXT: aie.use_lock(%lock_0_2, Acquire, %c0_i32, Blocking)
    aie.use_lock(%lock, AcquireGreaterEqual, 2)
    aie.use_lock(%lock, Release)
    aie.use_lock(%lock, Acquire, NonBlocking)
    aie.use_lock(%lock, Acquire, 0, Blocking)
    aie.end
  }
  // CHECK:      aie.runtime_sequence(%arg0: memref<64xi32>, %arg1: i64) {
  // CHECK-NEXT:   aie.dma_bd(%arg0 : memref<64xi32> offset = 4)
  // CHECK-NEXT:   aie.dma_bd(%arg0 : memref<64xi32> offset = 4 len = 16)
  // CHECK-NEXT:   aie.dma_bd(%arg0 : memref<64xi32> offset = 0 len = 16 sizes = [2, 8] strides = [32, 1]) {bd_id = 1 : i32}
  // CHECK-NEXT:   aie.dma_bd(%arg0 : memref<64xi32> offset = 0 len = 20 sizes = [2, 8] strides = [32, 1] pad [<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 1, const_pad_after = 1>])
  // CHECK-NEXT:   aie.dma_bd(%arg0 : memref<64xi32> offset = 8 len = 16)
  aie.runtime_sequence(%a: memref<64xi32>, %n: i64) {
    aie.dma_bd(%a : memref<64xi32>, 4)
    aie.dma_bd(%a : memref<64xi32>, 4, 16)
    aie.dma_bd(%a : memref<64xi32>, 0, 16, [<size = 2, stride = 32>, <size = 8, stride = 1>]) {bd_id = 1 : i32}
    aie.dma_bd(%a : memref<64xi32>, 0, 20, [<size = 2, stride = 32>, <size = 8, stride = 1>], [<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 1, const_pad_after = 1>], pad_value = 0)
    aie.dma_bd(%a : memref<64xi32>) {offset = 8 : i32, len = 16 : i32}

    // Values took the place of constants of the same meaning, and offsets and lengths had 64 bits. Today's syntax has no
    // types for these, so that such values keep the old one: to cut them to 32 bits would change what the program does.
    // CHECK-NEXT: aie.dma_bd(%arg0 : memref<64xi32>) dyn_offset(%arg1 : i64) dyn_len(%arg1 : i64) dyn_sizes(%arg1, %arg1 : i64, i64) dyn_strides(%arg1, %arg1 : i64, i64) {bd_id = 2 : i32}
    aie.dma_bd(%a : memref<64xi32>, 0, 16) dyn_offset(%n : i64) dyn_len(%n : i64) dyn_sizes(%n, %n : i64, i64) dyn_strides(%n, %n : i64, i64) {bd_id = 2 : i32}

    // CHECK-NEXT: aie.dma_bd(%arg0 : memref<64xi32> offset = 4 sizes = [2, 8] strides = [32, 1]) dyn_len(%arg1 : i64)
    aie.dma_bd(%a : memref<64xi32>, 4, 16, [<size = 2, stride = 32>, <size = 8, stride = 1>]) dyn_len(%n : i64)
  }
}
