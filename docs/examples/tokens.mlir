// Eight blocks through a mem tile and back. Two are in flight: from the third on, a push waits for a token first.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<2048xi32>, %b: memref<2048xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 3 : i64, metadata = @out} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<2048xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 512][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 512][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<2048xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 768][1, 1, 1, 256][0, 0, 0, 1]) {id = 3 : i64, metadata = @out} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 768][1, 1, 1, 256][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<2048xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 1024][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 1024][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<2048xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 1280][1, 1, 1, 256][0, 0, 0, 1]) {id = 3 : i64, metadata = @out} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 1280][1, 1, 1, 256][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<2048xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 1536][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 1536][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<2048xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 1792][1, 1, 1, 256][0, 0, 0, 1]) {id = 3 : i64, metadata = @out} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 1792][1, 1, 1, 256][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<2048xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @out}
  }
}
