// A control packet asks for four words of a tile's memory; they come back in a packet of the id that it names.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %table = aie.buffer(%tile) {address = 1024 : i32} : memref<8xi32> = dense<[3, 1, 4, 1, 5, 9, 2, 6]>
  aie.packet_flow(1) {
    aie.packet_source<%shim, DMA : 0>
    aie.packet_dest<%tile, TileControl : 0>
  }
  aie.packet_flow(2) {
    aie.packet_source<%tile, TileControl : 0>
    aie.packet_dest<%shim, DMA : 0>
  }
  aie.shim_dma_allocation @request(%shim, MM2S, 0)
  aie.shim_dma_allocation @answer(%shim, S2MM, 0)
  aie.runtime_sequence @look(%request: memref<1xi32>, %answer: memref<4xi32>) {
    aiex.npu.dma_memcpy_nd(%answer[0, 0, 0, 0][1, 1, 1, 4][0, 0, 0, 1])
        {id = 1 : i64, metadata = @answer} : memref<4xi32>
    aiex.npu.dma_memcpy_nd(%request[0, 0, 0, 0][1, 1, 1, 1][0, 0, 0, 1], packet = <pkt_id = 1, pkt_type = 0>)
        {id = 0 : i64, metadata = @request} : memref<1xi32>
    aiex.npu.dma_wait {symbol = @answer}
  }
}
