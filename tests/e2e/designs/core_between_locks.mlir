// A core squares what one DMA channel brings, for another to take away; four locks keep the three in step.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 3)
  %source = aie.buffer(%tile) : memref<8xi32>
  %result = aie.buffer(%tile) : memref<8xi32>
  %source_empty = aie.lock(%tile) {init = 1 : i32}
  %source_full = aie.lock(%tile) {init = 0 : i32}
  %result_empty = aie.lock(%tile) {init = 1 : i32}
  %result_full = aie.lock(%tile) {init = 0 : i32}
  aie.flow(%shim, DMA : 0, %tile, DMA : 0)
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %forever = arith.constant 9223372036854775807 : index
    %one = arith.constant 1 : i32
    scf.for %round = %c0 to %forever step %c1 {
      aie.use_lock(%source_full, AcquireGreaterEqual, %one)
      aie.use_lock(%result_empty, AcquireGreaterEqual, %one)
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %source[%i] : memref<8xi32>
        %y = arith.muli %x, %x : i32
        memref.store %y, %result[%i] : memref<8xi32>
      }
      aie.use_lock(%source_empty, Release, %one)
      aie.use_lock(%result_full, Release, %one)
    }
    aie.end
  }
  %mem = aie.mem(%tile) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%source_empty, AcquireGreaterEqual, %one)
      aie.dma_bd(%source : memref<8xi32> offset = 0 len = 8)
      aie.use_lock(%source_full, Release, %one)
    }]
    %send = aie.dma(MM2S, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%result_full, AcquireGreaterEqual, %one)
      aie.dma_bd(%result : memref<8xi32> offset = 0 len = 8)
      aie.use_lock(%result_empty, Release, %one)
    }]
    aie.end
  }
  aie.runtime_sequence @square(%in: memref<32xi32>, %out: memref<32xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<32xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<32xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
