// A core that writes to a stream stops when nobody takes the words.
// RAISES: hang
// GIVES: b == 7
// GIVES: c[:32:4] == 5
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %out = aie.buffer(%tile) {sym_name = "out"} : memref<64xi32> = dense<7>
  %done = aie.lock(%tile, 0) {init = 0 : i32}
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.flow(%tile, Core : 0, %shim, DMA : 1)
  aie.shim_dma_allocation @b(%shim, S2MM, 0)
  aie.shim_dma_allocation @c(%shim, S2MM, 1)
  aie.core(%tile) {
    %port = arith.constant 0 : i32
    %five = arith.constant 5 : i128
    aie.put_stream(%port : i32, %five : i128)
    aie.put_stream(%port : i32, %five : i128)
    aie.put_stream(%port : i32, %five : i128)
    aie.put_stream(%port : i32, %five : i128)
    aie.put_stream(%port : i32, %five : i128)
    aie.put_stream(%port : i32, %five : i128)
    aie.put_stream(%port : i32, %five : i128)
    // SAYS note: the core of tile (0, 2) cannot go on: the stream to
    // SAYS note: most likely cause: no task was pushed on S2MM 1 of tile (0, 0), where the words should go
    aie.put_stream(%port : i32, %five : i128)
    aie.use_lock(%done, Release, 1)
    aie.end
  }
  aie.mem(%tile) {
    aie.dma_start(MM2S, 0, ^out, ^end)
  ^out:
    aie.use_lock(%done, AcquireGreaterEqual, 1)
    aie.dma_bd(%out : memref<64xi32>, 0, 64)
    aie.next_bd ^out
  ^end:
    aie.end
  }
  aie.runtime_sequence @get(%a: memref<64xi32>, %b: memref<64xi32>, %c: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%c[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 2 : i64, metadata = @c} : memref<64xi32>  // FIX
    aiex.npu.dma_wait {symbol = @b}
    aiex.npu.dma_wait {symbol = @c}  // FIX
  }
}
