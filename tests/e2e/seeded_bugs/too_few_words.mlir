// Fewer words go in than are to come out: whoever waits for the rest waits for ever.
// RAISES: hang
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>  // BUG
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>  // FIX
    // SAYS note: most likely cause: MM2S 0 of tile (0, 0) has done its task, 48 words in all, and sends no more
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    // SAYS note: BD 1 on S2MM 0 of tile (0, 0) needs a word
    // SAYS (48 of 64 words have come); MM2S 0 of tile (0, 1) feeds it
    aiex.npu.dma_wait {symbol = @out}
    // SAYS error: hang: the controller waits for a token of S2MM 0 of tile (0, 0)
  }
}
