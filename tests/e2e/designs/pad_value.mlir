// On AIE2P a mem tile can fill padding with another number than 0: here each word gets a 7 on either side.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<4xi32>>
  aie.objectfifo @out(%mem dimensionsToStream [<size = 4, stride = 1>, <size = 1, stride = 1>], {%shim}, 2 : i32) {
      padDimensions = #aie<bd_pad_layout_array[
          <const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 1, const_pad_after = 1>]>,
      padValue = 7 : i32} : !aie.objectfifo<memref<12xi32>>
  aie.objectfifo.link [@in] -> [@out]([] [])
  aie.runtime_sequence @spread(%in: memref<8xi32>, %out: memref<24xi32>) {
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, 24][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<24xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<8xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
