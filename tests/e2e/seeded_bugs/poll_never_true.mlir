// A poll of the wrong lock: this one never changes.
// RAISES: hang
// SAYS error: hang: the controller polls mem(0,1) Lock5 until it is 0x1 under the mask 0x3f, it is 0x0
// SAYS note: most likely cause: nobody who still runs changes mem(0,1) Lock5: poll for a value that it gets
// GIVES: b == a
// TXN: maskpoll mem(0,1) Lock5 == 0x1 mask 0x3f  // BUG
// TXN: maskpoll mem(0,1) Lock0 == 0x1 mask 0x3f  // FIX
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
