// Two transfers write the same host memory at the same time: what is there in the end is up to chance.
// RAISES: unordered-writes
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in0(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out0(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in0] -> [@out0] ([] [])
  aie.objectfifo @in1(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out1(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in1] -> [@out1] ([] [])
  aie.runtime_sequence @copy(%a: memref<2048xi32>, %b: memref<2048xi32>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 0 : i64, metadata = @out0} : memref<2048xi32>
    // SAYS error: BD 0 on S2MM 0 of tile (0, 0) writes byte 2048 of argument b while BD 1 on S2MM 1 of tile (0, 0), which writes it, is not done
    // SAYS note: order them: await the first one, put a lock between them, or let them use different memory
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 512][1, 1, 1, 1024][0, 0, 0, 1]) {id = 1 : i64, metadata = @out1} : memref<2048xi32>  // BUG
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 1024][1, 1, 1, 1024][0, 0, 0, 1]) {id = 1 : i64, metadata = @out1} : memref<2048xi32>  // FIX
    // SAYS note: BD 1 on S2MM 1 of tile (0, 0) comes from here
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 2 : i64, metadata = @in0} : memref<2048xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 1024][1, 1, 1, 1024][0, 0, 0, 1]) {id = 3 : i64, metadata = @in1} : memref<2048xi32>
    aiex.npu.dma_wait {symbol = @out0}
    aiex.npu.dma_wait {symbol = @out1}
  }
}
