// A connection that is missing in a switch on the way: words come to a port that leads nowhere.
// RAISES: hang
// SAYS note: most likely cause: South 0 of the switch of tile (0, 1) is joined to nothing
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) {sym_name = "buffer", address = 0 : i32} : memref<64xi32>
  %free = aie.lock(%mem, 0) {init = 1 : i32}
  %full = aie.lock(%mem, 1) {init = 0 : i32}
  %shim_switch = aie.switchbox(%shim) {
    aie.connect<South : 3, North : 0>
    aie.connect<North : 0, South : 2>
  }
  %shim_mux = aie.shim_mux(%shim) {
    aie.connect<DMA : 0, North : 3>
    aie.connect<North : 2, DMA : 0>
  }
  %mem_switch = aie.switchbox(%mem) {
    aie.connect<South : 1, DMA : 1>  // BUG
    aie.connect<South : 0, DMA : 1>  // FIX
    aie.connect<DMA : 0, South : 0>
  }
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
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @a} : memref<64xi32>
    // SAYS note: BD 0 on MM2S 0 of tile (0, 0) cannot go on: the stream to North 0 of tile (0, 0) is full
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<64xi32>
    %task = aiex.dma_configure_task(%mem, S2MM, 1) {
      aie.use_lock(%free, AcquireGreaterEqual, 1)
      aie.dma_bd(%buffer : memref<64xi32>, 0, 64) {bd_id = 24 : i32}
      aie.use_lock(%full, Release, 1)
      aie.end
    }
    aiex.dma_start_task(%task)
    aiex.npu.dma_wait {symbol = @a}
    aiex.npu.dma_wait {symbol = @b}
  }
}
