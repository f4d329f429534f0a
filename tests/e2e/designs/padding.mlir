// A mem tile puts a frame around a matrix that it sends: zeros before and after each row, and whole rows of them.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) : memref<4x6xi32>
  %empty = aie.lock(%mem) {init = 1 : i32}
  %full = aie.lock(%mem) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %mem, DMA : 0)
  aie.flow(%mem, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %dma = aie.memtile_dma(%mem) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer : memref<4x6xi32> offset = 0 len = 24)
      aie.use_lock(%full, Release, %one)
    }]
    %send = aie.dma(MM2S, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%full, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer : memref<4x6xi32> offset = 0 len = 63 sizes = [4, 6] strides = [6, 1]
          pad [<const_pad_before = 1, const_pad_after = 2>, <const_pad_before = 2, const_pad_after = 1>])
      aie.use_lock(%empty, Release, %one)
    }]
    aie.end
  }
  aie.runtime_sequence @frame(%in: memref<24xi32>, %out: memref<63xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 63][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<63xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 24][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<24xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
