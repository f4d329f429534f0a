// More words go in than anybody takes: the streams fill up, and the sender never gets done.
// RAISES: hang
// GIVES: b[:32] == a[:32]
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<128xi32>, %b: memref<128xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 128][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @in} : memref<128xi32>  // BUG
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @in} : memref<128xi32>  // FIX
    // SAYS note: BD 0 on MM2S 0 of tile (0, 0) cannot go on: the stream to North
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<128xi32>
    // SAYS note: most likely cause: S2MM 0 of tile (0, 0) has done its task, 32 words in all, and takes no more: send only what is taken
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @in}
    // SAYS error: hang: the controller waits for a token of MM2S 0 of tile (0, 0)
  }
}
