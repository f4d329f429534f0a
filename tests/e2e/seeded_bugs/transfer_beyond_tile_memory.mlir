// A descriptor whose words go over the end of a core tile's memory of 64 KiB.
// RAISES: outside-memory
// GIVES: b == 7
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %out = aie.buffer(%tile) {sym_name = "out", address = 0xFFC0 : i32} : memref<16xi32> = dense<7>
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.runtime_sequence @get(%a: memref<16xi32>, %b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<16xi32>
    %task = aiex.dma_configure_task(%tile, MM2S, 0) {
      aie.dma_bd(%out : memref<16xi32>, 0, 16) {bd_id = 3 : i32}
      aie.end
    }
    aiex.npu.maskwrite32 {address = 0x1D060 : ui32, value = 0x20 : ui32, mask = 0x3FFF : ui32, column = 0 : i32, row = 2 : i32}  // BUG
    // SAYS error: BD 3 on MM2S 0 of tile (0, 2) reaches address 0x1003c of core tile (0, 2), whose memory has 0x10000 bytes
    aiex.dma_start_task(%task)
    aiex.npu.dma_wait {symbol = @b}
  }
}
