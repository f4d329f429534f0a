// A core ends after one block. The sequence resets it and starts it again for the second; its memory stays.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %block = aie.buffer(%tile) {sym_name = "block"} : memref<8xi32>
  %starts = aie.buffer(%tile) {sym_name = "starts"} : memref<1xi32> = dense<0>
  %empty = aie.lock(%tile) {sym_name = "empty", init = 1 : i32}
  %full = aie.lock(%tile) {sym_name = "full", init = 0 : i32}
  %done = aie.lock(%tile) {sym_name = "done", init = 0 : i32}
  aie.flow(%shim, DMA : 0, %tile, DMA : 0)
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %one = arith.constant 1 : i32
    %hundred = arith.constant 100 : i32
    aie.use_lock(%full, AcquireGreaterEqual, %one)
    %before = memref.load %starts[%c0] : memref<1xi32>
    %now = arith.addi %before, %hundred : i32
    memref.store %now, %starts[%c0] : memref<1xi32>
    scf.for %i = %c0 to %c8 step %c1 {
      %x = memref.load %block[%i] : memref<8xi32>
      %y = arith.addi %x, %now : i32
      memref.store %y, %block[%i] : memref<8xi32>
    }
    aie.use_lock(%done, Release, %one)
    aie.end
  }
  %mem = aie.mem(%tile) {
    %receive = aie.dma(S2MM, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%empty, AcquireGreaterEqual, %one)
      aie.dma_bd(%block : memref<8xi32> offset = 0 len = 8)
      aie.use_lock(%full, Release, %one)
    }]
    %send = aie.dma(MM2S, 0) [{
      %one = arith.constant 1 : i32
      aie.use_lock(%done, AcquireGreaterEqual, %one)
      aie.dma_bd(%block : memref<8xi32> offset = 0 len = 8)
      aie.use_lock(%empty, Release, %one)
    }]
    aie.end
  }
  aie.runtime_sequence @twice(%in: memref<16xi32>, %out: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<16xi32>
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.core_reset(%tile)
    %control = arith.constant 0x32000 : i32
    %enable = arith.constant 1 : i32
    aiex.npu.maskwrite32(%control, %enable, %enable) {column = 0 : i32, row = 2 : i32} : i32, i32, i32
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 8][1, 1, 1, 8][0, 0, 0, 1]) {id = 2 : i64, metadata = @out} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
