// Two cores that take the same two locks in different orders can each hold what the other one waits for.
// RAISES: hang
// SAYS note: most likely cause: the core of tile (0, 2) and the core of tile (0, 3) wait for each other in a circle: let them take their locks in the same order
// GIVES: b == 7
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile2 = aie.tile(0, 2)
  %tile3 = aie.tile(0, 3)
  %out = aie.buffer(%tile2) {sym_name = "out"} : memref<16xi32> = dense<7>
  %left = aie.lock(%tile2, 0) {init = 1 : i32}
  %right = aie.lock(%tile2, 1) {init = 1 : i32}
  %done = aie.lock(%tile2, 2) {init = 0 : i32}
  aie.flow(%tile2, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.core(%tile2) {
    aie.use_lock(%left, AcquireGreaterEqual, 1)
    aie.use_lock(%right, AcquireGreaterEqual, 1)
    // SAYS note: the core of tile (0, 2) needs lock 1 of tile (0, 2) >= 1, it is 0
    aie.use_lock(%left, Release, 1)
    aie.use_lock(%right, Release, 1)
    aie.use_lock(%done, Release, 1)
    aie.end
  }
  aie.core(%tile3) {
    aie.use_lock(%right, AcquireGreaterEqual, 1)  // BUG
    aie.use_lock(%left, AcquireGreaterEqual, 1)
    // SAYS note: the core of tile (0, 3) needs lock 0 of tile (0, 2) >= 1, it is 0
    aie.use_lock(%right, AcquireGreaterEqual, 1)  // FIX
    aie.use_lock(%left, Release, 1)
    aie.use_lock(%right, Release, 1)
    aie.use_lock(%done, Release, 1)
    aie.end
  }
  aie.mem(%tile2) {
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%done, AcquireGreaterEqual, 2)
    aie.dma_bd(%out : memref<16xi32>, 0, 16)
    aie.next_bd ^out
  ^end:
    aie.end
  }
  aie.runtime_sequence @get(%a: memref<16xi32>, %b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @b}
  }
}
