// A control packet that writes to an address where there is no register has no effect: the lock stays as it is.
// RAISES: unknown-register
// SAYS error: core(0,3)
// SAYS is not modelled: writing it has no effect
// LEVEL: unknown-register=fault
// GIVES: b == 7
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile2 = aie.tile(0, 2)
  %tile3 = aie.tile(0, 3)
  %command = aie.buffer(%tile2) {sym_name = "command"} : memref<2xi32> = dense<[0x0001E000, 1]>  // BUG
  %command = aie.buffer(%tile2) {sym_name = "command"} : memref<2xi32> = dense<[0x0001F000, 1]>  // FIX
  %out = aie.buffer(%tile3) {sym_name = "out"} : memref<16xi32> = dense<7>
  %go = aie.lock(%tile3, 0) {init = 0 : i32}
  aie.packet_flow(3) {
    aie.packet_source<%tile2, DMA : 0>
    aie.packet_dest<%tile3, TileControl : 0>
  }
  aie.flow(%tile3, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.mem(%tile2) {
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.dma_bd(%command : memref<2xi32>, 0, 2) {packet = #aie.packet_info<pkt_type = 0, pkt_id = 3>}
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.mem(%tile3) {
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%go, AcquireGreaterEqual, 1)
    aie.dma_bd(%out : memref<16xi32>, 0, 16)
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.runtime_sequence @get(%a: memref<16xi32>, %b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @b}
  }
}
