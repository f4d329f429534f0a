// A core reads words straight from its stream port and writes others to it: no buffers, no locks.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  aie.flow(%shim, DMA : 0, %tile, Core : 0)
  aie.flow(%tile, Core : 0, %shim, DMA : 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %core = aie.core(%tile) {
    %port = arith.constant 0 : i32
    %zero = arith.constant 0 : i32
    cf.br ^next(%zero : i32)
  ^next(%before: i32):
    %word = aie.get_stream(%port : i32) : i32
    %after = arith.addi %before, %word : i32
    aie.put_stream(%port : i32, %after : i32)
    cf.br ^next(%after : i32)
  }
  aie.runtime_sequence @running_sum(%in: memref<24xi32>, %out: memref<24xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 24][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<24xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 24][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<24xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
