// Words go into the memory of a core tile and out again, by DMA alone; a pair of locks says whose turn it is.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) : memref<16xi32>
  %empty = aie.lock(%tile) {init = 1 : i32}
  %full = aie.lock(%tile) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %tile, DMA : 0)
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %mem = aie.mem(%tile) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
      aie.use_lock(%full, Release, %one)
    }]
    %send = aie.dma(MM2S, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%full, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
      aie.use_lock(%empty, Release, %one)
    }]
    aie.end
  }
  aie.runtime_sequence @copy(%in: memref<64xi32>, %out: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
