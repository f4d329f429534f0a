// Some rows of some columns of a 256 x 256 matrix, brought to the array; how many is decided when the host asks.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @rows(%matrix: memref<256x256xi32>, %rows: i64, %columns: i64) {
    aiex.npu.dma_memcpy_nd(%matrix[0, 0, 0, 0][1, 1, %rows, %columns][0, 0, 256, 1])
        {id = 0 : i64, issue_token = true, metadata = @in} : memref<256x256xi32>
    aiex.npu.dma_wait {symbol = @in}
  }
}
