// One descriptor of a mem tile fills four places in turn: each time that it is loaded it begins a step further on.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) : memref<32xi32>
  %empty = aie.lock(%mem) {init = 4 : i32}
  %full = aie.lock(%mem) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %mem, DMA : 0)
  aie.flow(%mem, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %dma = aie.memtile_dma(%mem) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty, AcquireGreaterEqual, %one)
      aie.dma_bd(%buffer : memref<32xi32> offset = 0 len = 8) {iteration = #aie.bd_iteration<size = 4, stride = 8, current = 0>}
      aie.use_lock(%full, Release, %one)
    }]
    %send = aie.dma(MM2S, 0) [{
      %four = arith.constant 4 : i32
      aie.use_lock(%full, AcquireGreaterEqual, %four)
      aie.dma_bd(%buffer : memref<32xi32> offset = 0 len = 32)
      aie.use_lock(%empty, Release, %four)
    }]
    aie.end
  }
  aie.runtime_sequence @copy(%in: memref<64xi32>, %out: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
