// A channel that does not wait until a buffer is free fills it again while another one, which transposes it, still sends.
// RAISES: unordered-writes
// GIVES: b == a.reshape(4, 8, 8).transpose(0, 2, 1).ravel()
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) {sym_name = "buffer", address = 0 : i32} : memref<64xi32>
  %free = aie.lock(%mem, 0) {init = 4 : i32}
  %full = aie.lock(%mem, 1) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %mem, DMA : 0)
  aie.flow(%mem, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @a(%shim, MM2S, 0)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.memtile_dma(%mem) {
    aie.dma_start(S2MM, 0, ^in0, ^next)
  ^in0:
    aie.use_lock(%free, AcquireGreaterEqual, 1)  // FIX
    aie.dma_bd(%buffer : memref<64xi32>, 0, 16)
    // SAYS error: BD 0 on S2MM 0 of tile (0, 1) writes address
    // SAYS of tile (0, 1) while BD 4 on MM2S 0 of tile (0, 1), which reads it, is not done
    aie.use_lock(%full, Release, 1)
    aie.next_bd ^in1
  ^in1:
    aie.use_lock(%free, AcquireGreaterEqual, 1)  // FIX
    aie.dma_bd(%buffer : memref<64xi32>, 16, 16)
    aie.use_lock(%full, Release, 1)
    aie.next_bd ^in2
  ^in2:
    aie.use_lock(%free, AcquireGreaterEqual, 1)  // FIX
    aie.dma_bd(%buffer : memref<64xi32>, 32, 16)
    aie.use_lock(%full, Release, 1)
    aie.next_bd ^in3
  ^in3:
    aie.use_lock(%free, AcquireGreaterEqual, 1)  // FIX
    aie.dma_bd(%buffer : memref<64xi32>, 48, 16)
    aie.use_lock(%full, Release, 1)
    aie.next_bd ^in0
  ^next:
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%full, AcquireGreaterEqual, 4)
    aie.dma_bd(%buffer : memref<64xi32>, 0, 64, [<size = 8, stride = 1>, <size = 8, stride = 8>])
    // SAYS note: BD 4 on MM2S 0 of tile (0, 1) comes from here
    aie.use_lock(%free, Release, 4)
    aie.next_bd ^out
  ^end:
    aie.end
  }
  aie.runtime_sequence @transpose(%a: memref<256xi32>, %b: memref<256xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @a} : memref<256xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<256xi32>
    aiex.npu.dma_wait {symbol = @b}
  }
}
