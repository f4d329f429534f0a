// Two channels fill a buffer at the same time, where each should fill its own half.
// RAISES: unordered-writes
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) {sym_name = "buffer", address = 0 : i32} : memref<2048xi32>
  %full = aie.lock(%mem, 0) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %mem, DMA : 0)
  aie.flow(%shim, DMA : 1, %mem, DMA : 1)
  aie.flow(%mem, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @low(%shim, MM2S, 0)
  aie.shim_dma_allocation @high(%shim, MM2S, 1)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.memtile_dma(%mem) {
    aie.dma_start(S2MM, 0, ^low, ^next)
  ^low:
    aie.dma_bd(%buffer : memref<2048xi32>, 0, 1024)
    // SAYS error: BD 0 on S2MM 0 of tile (0, 1) writes address 0x0 of tile (0, 1) while BD 24 on S2MM 1 of tile (0, 1), which writes it, is not done
    // SAYS note: order them: await the first one, put a lock between them, or let them use different memory
    aie.use_lock(%full, Release, 1)
    aie.next_bd ^end
  ^next:
    aie.dma_start(S2MM, 1, ^high, ^last)
  ^high:
    aie.dma_bd(%buffer : memref<2048xi32>, 0, 1024)  // BUG
    aie.dma_bd(%buffer : memref<2048xi32>, 1024, 1024)  // FIX
    // SAYS note: BD 24 on S2MM 1 of tile (0, 1) comes from here
    aie.use_lock(%full, Release, 1)
    aie.next_bd ^end
  ^last:
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%full, AcquireGreaterEqual, 2)
    aie.dma_bd(%buffer : memref<2048xi32>, 0, 2048)
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.runtime_sequence @copy(%a: memref<2048xi32>, %b: memref<2048xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 0 : i64, metadata = @low} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 1024][1, 1, 1, 1024][0, 0, 0, 1]) {id = 1 : i64, metadata = @high} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 2048][0, 0, 0, 1]) {id = 2 : i64, metadata = @b} : memref<2048xi32>
    aiex.npu.dma_wait {symbol = @b}
  }
}
