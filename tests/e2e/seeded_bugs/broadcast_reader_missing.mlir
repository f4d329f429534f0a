// A broadcast goes at the speed of its slowest reader: one that never reads stops all.
// RAISES: hang
// GIVES: b == a
// GIVES: c == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile2 = aie.tile(0, 2)
  %tile3 = aie.tile(0, 3)
  %in2 = aie.buffer(%tile2) {sym_name = "in2"} : memref<16xi32>
  %free2 = aie.lock(%tile2, 0) {init = 1 : i32}
  %full2 = aie.lock(%tile2, 1) {init = 0 : i32}
  %in3 = aie.buffer(%tile3) {sym_name = "in3"} : memref<16xi32>
  %free3 = aie.lock(%tile3, 0) {init = 1 : i32}
  %full3 = aie.lock(%tile3, 1) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %tile2, DMA : 0)
  aie.flow(%shim, DMA : 0, %tile3, DMA : 0)
  aie.flow(%tile2, DMA : 0, %shim, DMA : 0)
  aie.flow(%tile3, DMA : 0, %shim, DMA : 1)
  aie.shim_dma_allocation @a(%shim, MM2S, 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.shim_dma_allocation @c(%shim, S2MM, 1)
  aie.mem(%tile2) {
    aie.dma_start(S2MM, 0, ^in, ^next)
  ^in:
    aie.use_lock(%free2, AcquireGreaterEqual, 1)
    aie.dma_bd(%in2 : memref<16xi32>, 0, 16)
    aie.use_lock(%full2, Release, 1)
    aie.next_bd ^in
  ^next:
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%full2, AcquireGreaterEqual, 1)
    aie.dma_bd(%in2 : memref<16xi32>, 0, 16)
    aie.use_lock(%free2, Release, 1)
    aie.next_bd ^out
  ^end:
    aie.end
  }
  aie.mem(%tile3) {  // FIX
    aie.dma_start(S2MM, 0, ^in, ^next)  // FIX
  ^in:  // FIX
    aie.use_lock(%free3, AcquireGreaterEqual, 1)  // FIX
    aie.dma_bd(%in3 : memref<16xi32>, 0, 16)  // FIX
    aie.use_lock(%full3, Release, 1)  // FIX
    aie.next_bd ^in  // FIX
  ^next:  // FIX
    aie.dma_start(MM2S, 0, ^out, ^end)  // FIX
  ^out:  // FIX
    aie.use_lock(%full3, AcquireGreaterEqual, 1)  // FIX
    aie.dma_bd(%in3 : memref<16xi32>, 0, 16)  // FIX
    aie.use_lock(%free3, Release, 1)  // FIX
    aie.next_bd ^out  // FIX
  ^end:  // FIX
    aie.end  // FIX
  }  // FIX
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>, %c: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @a} : memref<64xi32>
    // SAYS note: BD 0 on MM2S 0 of tile (0, 0) cannot go on
    // SAYS note: most likely cause: no task was pushed on S2MM 0 of tile (0, 3), where the words should go, and a broadcast goes on only when all its readers take
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%c[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 2 : i64, metadata = @c} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @a}
    aiex.npu.dma_wait {symbol = @b}
    aiex.npu.dma_wait {symbol = @c}
  }
}
