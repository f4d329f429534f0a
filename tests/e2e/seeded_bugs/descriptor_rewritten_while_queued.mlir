// A descriptor is read when its task is next, not when it is pushed.
// RAISES: descriptor-in-use
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 16][1, 1, 1, 16][0, 0, 0, 1]) {id = 3 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 32][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    // SAYS note: the task was pushed here
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 48][1, 1, 1, 16][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>  // BUG
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 48][1, 1, 1, 16][0, 0, 0, 1]) {id = 2 : i64, metadata = @out} : memref<64xi32>  // FIX
    // SAYS error: BD 1 of shim tile (0, 0) is rewritten while S2MM 0 of tile (0, 0), in whose queue it waits, needs it
    // SAYS note: await the task before its descriptor is written again, or use another descriptor
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 8 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @out}
  }
}
