// A channel runs one task, makes ready another and queues four; what comes then is dropped (mlir-air #1826).
// RAISES: dropped-push
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<112xi32>, %b: memref<112xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @out} : memref<112xi32>
    // SAYS note: the oldest of them is not done: BD 0 on S2MM 0 of tile (0, 0) needs a word
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 16][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<112xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 32][1, 1, 1, 16][0, 0, 0, 1]) {id = 2 : i64, metadata = @out} : memref<112xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 48][1, 1, 1, 16][0, 0, 0, 1]) {id = 3 : i64, metadata = @out} : memref<112xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 64][1, 1, 1, 16][0, 0, 0, 1]) {id = 4 : i64, metadata = @out} : memref<112xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 80][1, 1, 1, 16][0, 0, 0, 1]) {id = 5 : i64, metadata = @out} : memref<112xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 96][1, 1, 1, 16][0, 0, 0, 1]) {id = 6 : i64, metadata = @out} : memref<112xi32>  // BUG
    // SAYS error: push of BD 6 on S2MM 0 of tile (0, 0) is dropped: 6 tasks are in flight
    // SAYS note: await one of these tasks before this push, or move some to another channel
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 112][0, 0, 0, 1]) {id = 8 : i64, metadata = @in} : memref<112xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 96][1, 1, 1, 16][0, 0, 0, 1]) {id = 6 : i64, metadata = @out} : memref<112xi32>  // FIX
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @out}
  }
}
