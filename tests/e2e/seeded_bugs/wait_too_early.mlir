// A wait for the result before its data is on the way never ends (mlir-aie #2653).
// RAISES: hang
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  // SAYS note: most likely cause: no task was pushed on MM2S 0 of tile (0, 0): push one
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  // SAYS note: BD 2 on MM2S 0 of tile (0, 1) needs lock 1 (in_cons_cons_lock_0) of tile (0, 1) >= 1, it is 0; only S2MM 0 of tile (0, 1) releases it
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    // SAYS note: BD 1 on S2MM 0 of tile (0, 0) needs a word
    aiex.npu.dma_wait {symbol = @out}  // BUG
    // SAYS error: hang: the controller waits for a token of S2MM 0 of tile (0, 0)
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}  // FIX
  }
}
