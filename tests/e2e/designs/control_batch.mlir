// Two control packets travel in one transfer: the second begins where the first one says that it ends. The host sends
// their stream headers, too, so the descriptor adds none and the switches keep them.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %words = aie.buffer(%tile) {address = 1024 : i32} : memref<4xi32>
  %go = aie.lock(%tile, 3) {init = 0 : i32}
  aie.packet_flow(6) {
    aie.packet_source<%shim, DMA : 0>
    aie.packet_dest<%tile, TileControl : 0>
  } {keep_pkt_header = true}
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @control(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %mem = aie.mem(%tile) {
    %send = aie.dma_start(MM2S, 0, ^words, ^end)
  ^words:
    %one = arith.constant 1 : i32
    aie.use_lock(%go, AcquireGreaterEqual, %one)
    aie.dma_bd(%words : memref<4xi32> offset = 0 len = 4)
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.runtime_sequence @write_and_send(%control: memref<9xi32>, %out: memref<4xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 4][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<4xi32>
    aiex.npu.dma_memcpy_nd(%control[0, 0, 0, 0][1, 1, 1, 9][0, 0, 0, 1])
        {id = 0 : i64, metadata = @control} : memref<9xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
