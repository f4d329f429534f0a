// The DMA of a core tile writes a matrix row by row and reads it column by column.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 4)
  %buffer = aie.buffer(%tile) : memref<6x10xi32>
  %empty = aie.lock(%tile) {init = 1 : i32}
  %full = aie.lock(%tile) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %tile, DMA : 1)
  aie.flow(%tile, DMA : 1, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %mem = aie.mem(%tile) {
    %receive = aie.dma(S2MM, 1) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer : memref<6x10xi32> offset = 0 len = 60)
      aie.use_lock(%full, Release, %one)
    }]
    %send = aie.dma(MM2S, 1) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%full, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer : memref<6x10xi32> offset = 0 len = 60 sizes = [10, 6] strides = [1, 10])
      aie.use_lock(%empty, Release, %one)
    }]
    aie.end
  }
  aie.runtime_sequence @transpose(%in: memref<60xi32>, %out: memref<60xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 60][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<60xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 60][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<60xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
