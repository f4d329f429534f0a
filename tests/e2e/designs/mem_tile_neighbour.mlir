// A mem tile fills the memory of the mem tile east of it, whose own channel sends it on: they share a pair of locks.
aie.device(npu2_2col) {
  %shim = aie.tile(0, 0)
  %shim1 = aie.tile(1, 0)
  %west = aie.tile(0, 1)
  %east = aie.tile(1, 1)
  %buffer = aie.buffer(%east) : memref<16xi32>
  %empty = aie.lock(%east) {init = 1 : i32}
  %full = aie.lock(%east) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %west, DMA : 0)
  aie.flow(%east, DMA : 0, %shim1, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim1, S2MM, 0)
  %dma_west = aie.memtile_dma(%west) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
      aie.use_lock(%full, Release, %one)
    }]
    aie.end
  }
  %dma_east = aie.memtile_dma(%east) {
    %send = aie.dma(MM2S, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%full, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer : memref<16xi32> offset = 0 len = 16)
      aie.use_lock(%empty, Release, %one)
    }]
    aie.end
  }
  aie.runtime_sequence @copy(%in: memref<48xi32>, %out: memref<48xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<48xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<48xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
