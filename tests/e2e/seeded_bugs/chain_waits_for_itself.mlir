// A chain of descriptors that waits for a lock which only its own end releases does not begin.
// RAISES: hang
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %in = aie.buffer(%tile) {sym_name = "in"} : memref<16xi32>
  %turn = aie.lock(%tile, 0) {init = 0 : i32}  // BUG
  %turn = aie.lock(%tile, 0) {init = 1 : i32}  // FIX
  %full = aie.lock(%tile, 1) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %tile, DMA : 0)
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @a(%shim, MM2S, 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.mem(%tile) {
    aie.dma_start(S2MM, 0, ^first, ^next)
  ^first:
    aie.use_lock(%turn, AcquireGreaterEqual, 1)
    aie.dma_bd(%in : memref<16xi32>, 0, 8)
    // SAYS note: BD 0 on S2MM 0 of tile (0, 2) needs lock 0 of tile (0, 2) >= 1, it is 0
    // SAYS note: most likely cause: only S2MM 0 of tile (0, 2) itself releases lock 0 of tile (0, 2), and only after this
    aie.next_bd ^second
  ^second:
    aie.use_lock(%full, AcquireGreaterEqual, 0)
    aie.dma_bd(%in : memref<16xi32>, 8, 8)
    aie.use_lock(%full, Release, 1)
    aie.next_bd ^third
  ^third:
    aie.dma_bd(%in : memref<16xi32>, 0, 0)
    aie.use_lock(%turn, Release, 1)
    aie.next_bd ^first
  ^next:
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%full, AcquireGreaterEqual, 1)
    aie.dma_bd(%in : memref<16xi32>, 0, 16)
    aie.next_bd ^out
  ^end:
    aie.end
  }
  aie.runtime_sequence @add(%a: memref<16xi32>, %b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @a} : memref<16xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @b}
  }
}
