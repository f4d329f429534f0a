// The sequence writes into a tile's memory: a block of words, then some bits of one of them.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  %table = aie.buffer(%tile) {address = 4096 : i32, sym_name = "table"} : memref<4xi32>
  %go = aie.lock(%tile) {sym_name = "go", init = 0 : i32}
  aie.flow(%tile, DMA : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  memref.global "private" constant @words : memref<4xi32> = dense<[1, 2, 0x12345678, 4]>
  %mem = aie.mem(%tile) {
    %send = aie.dma_start(MM2S, 0, ^table, ^end)
  ^table:
    %one = arith.constant 1 : i32
    aie.use_lock(%go, AcquireGreaterEqual, %one)
    aie.dma_bd(%table : memref<4xi32> offset = 0 len = 4)
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.runtime_sequence @write(%out: memref<4xi32>) {
    %words = memref.get_global @words : memref<4xi32>
    aiex.npu.blockwrite(%words) {address = 4096 : ui32, column = 0 : i32, row = 2 : i32} : memref<4xi32>
    %address = arith.constant 4104 : i32
    %value = arith.constant 0xFFFF : i32
    %mask = arith.constant 0x0F0F : i32
    aiex.npu.maskwrite32(%address, %value, %mask) {column = 0 : i32, row = 2 : i32} : i32, i32, i32
    aiex.set_lock(%go, 1)
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 4][0, 0, 0, 1]) {id = 0 : i64, metadata = @out} : memref<4xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
