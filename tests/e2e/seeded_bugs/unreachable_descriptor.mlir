// A mem tile's odd channels only reach its descriptors from 24 on.
// RAISES: unreachable-descriptor
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) {sym_name = "buffer", address = 0 : i32} : memref<64xi32>
  %free = aie.lock(%mem, 0) {init = 1 : i32}
  %full = aie.lock(%mem, 1) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %mem, DMA : 1)
  aie.flow(%mem, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @a(%shim, MM2S, 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.memtile_dma(%mem) {
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%full, AcquireGreaterEqual, 1)
    aie.dma_bd(%buffer : memref<64xi32>, 0, 64)
    aie.use_lock(%free, Release, 1)
    aie.next_bd ^out
  ^end:
    aie.end
  }
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @a} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<64xi32>
    %task = aiex.dma_configure_task(%mem, S2MM, 1) {
      aie.use_lock(%free, AcquireGreaterEqual, 1)
      aie.dma_bd(%buffer : memref<64xi32>, 0, 64) {bd_id = 24 : i32}
      aie.use_lock(%full, Release, 1)
      aie.end
    }
    aiex.npu.write32 {address = 0xA060C : ui32, value = 4 : ui32, column = 0 : i32, row = 1 : i32}  // BUG
    // SAYS error: S2MM 1 of tile (0, 1) cannot use BD 4
    // SAYS note: it can use BD 24 to BD 47: give the transfer one of those
    aiex.npu.write32 {address = 0xA060C : ui32, value = 24 : ui32, column = 0 : i32, row = 1 : i32}  // FIX
    aiex.npu.dma_wait {symbol = @b}
  }
}
