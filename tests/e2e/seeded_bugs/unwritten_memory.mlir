// A DMA sends a buffer that has no initial value and that nobody has written; this has to be asked for.
// RAISES: unwritten-memory
// LEVEL: unwritten-memory=fault
// GIVES: b == 7
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %out = aie.buffer(%tile) {sym_name = "out", address = 1024 : i32} : memref<16xi32>  // BUG
  %out = aie.buffer(%tile) {sym_name = "out", address = 1024 : i32} : memref<16xi32> = dense<7>  // FIX
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.mem(%tile) {
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.dma_bd(%out : memref<16xi32>, 0, 16)
    // SAYS error: BD 0 on MM2S 0 of tile (0, 2) reads 16 words of core tile (0, 2) that nobody has written, the first at 0x400
    // SAYS note: give the buffer an initial value, or let this wait for a lock until it is written
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.runtime_sequence @get(%a: memref<16xi32>, %b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @b}
  }
}
