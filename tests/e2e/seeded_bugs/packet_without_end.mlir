// A packet holds its arbiter until its last word: one that never ends keeps all others out.
// RAISES: hang
// GIVES: b == np.repeat([7, 8], 16)
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile2 = aie.tile(0, 2)
  %tile3 = aie.tile(0, 3)
  %sevens = aie.buffer(%tile2) {sym_name = "sevens"} : memref<16xi32> = dense<7>
  %eights = aie.buffer(%tile3) {sym_name = "eights"} : memref<16xi32> = dense<8>
  aie.packet_flow(1) {
    aie.packet_source<%tile2, DMA : 0>
    aie.packet_dest<%shim, DMA : 0>
  }
  aie.packet_flow(2) {
    aie.packet_source<%tile3, DMA : 0>
    aie.packet_dest<%shim, DMA : 0>
  }
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.runtime_sequence @collect(%a: memref<32xi32>, %b: memref<32xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<32xi32>
    // SAYS note: BD 1 on S2MM 0 of tile (0, 0) needs a word
    // SAYS (16 of 32 words have come)
    %first = aiex.dma_configure_task(%tile2, MM2S, 0) {
      aie.dma_bd(%sevens : memref<16xi32>, 0, 16) {bd_id = 4 : i32, packet = #aie.packet_info<pkt_type = 0, pkt_id = 1>}
      aie.end
    }
    aiex.npu.maskwrite32 {address = 0x1D094 : ui32, value = 0x80000000 : ui32, mask = 0x80000000 : ui32, column = 0 : i32, row = 2 : i32}  // BUG
    aiex.dma_start_task(%first)
    // SAYS note: most likely cause: a packet that came through
    // SAYS never ended, so arbiter
    // SAYS is held for ever: its last word needs a TLAST
    %second = aiex.dma_configure_task(%tile3, MM2S, 0) {
      aie.dma_bd(%eights : memref<16xi32>, 0, 16) {bd_id = 4 : i32, packet = #aie.packet_info<pkt_type = 0, pkt_id = 2>}
      aie.end
    }
    aiex.dma_start_task(%second)
    aiex.npu.dma_wait {symbol = @b}
  }
}
