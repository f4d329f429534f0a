// The sequence itself runs the DMA of a core tile, and goes on when that tile's token arrives.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
  %tile = aie.tile(0, 2) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 26>}
  %buffer = aie.buffer(%tile) : memref<32xi32>
  aie.flow(%shim, DMA : 0, %tile, DMA : 0)
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.packet_flow(15) {
    aie.packet_source<%shim, TileControl : 0>
    aie.packet_dest<%shim, South : 0>
  } {keep_pkt_header = true}
  aie.packet_flow(26) {
    aie.packet_source<%tile, TileControl : 0>
    aie.packet_dest<%shim, South : 0>
  } {keep_pkt_header = true}
  aie.runtime_sequence @turn_over(%in: memref<32xi32>, %out: memref<32xi32>) {
    %leave = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%in : memref<32xi32> offset = 0 len = 32)
      aie.end
    }
    %fill = aiex.dma_configure_task(%tile, S2MM, 0) {
      aie.dma_bd(%buffer : memref<32xi32> offset = 0 len = 32)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%leave)
    aiex.dma_start_task(%fill)
    aiex.dma_await_task(%fill)
    %drain = aiex.dma_configure_task(%tile, MM2S, 0) {
      aie.dma_bd(%buffer : memref<32xi32> offset = 16 len = 16)
      aie.next_bd ^front
    ^front:
      aie.dma_bd(%buffer : memref<32xi32> offset = 0 len = 16)
      aie.end
    }
    %arrive = aiex.dma_configure_task(%shim, S2MM, 0) {
      aie.dma_bd(%out : memref<32xi32> offset = 0 len = 32)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%drain)
    aiex.dma_start_task(%arrive)
    aiex.dma_await_task(%arrive)
  }
}
