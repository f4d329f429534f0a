// A packet keeps its header to the end of its way: the host sees who sent it, and under which id.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 3)
  %data = aie.buffer(%tile) : memref<4xi32> = dense<[10, 20, 30, 40]>
  aie.packet_flow(9) {
    aie.packet_source<%tile, DMA : 0>
    aie.packet_dest<%shim, DMA : 0>
  } {keep_pkt_header = true}
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %mem = aie.mem(%tile) {
    %send = aie.dma_start(MM2S, 0, ^packet, ^end, repeat_count = 1)
  ^packet:
    aie.dma_bd(%data : memref<4xi32> offset = 0 len = 4) {packet = #aie.packet_info<pkt_id = 9, pkt_type = 2>}
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.runtime_sequence @receive(%out: memref<10xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 10][0, 0, 0, 1]) {id = 0 : i64, metadata = @out} : memref<10xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
