// Machine code of cores runs from packages only, and on npu1: a core of a design needs a program there.
// RAISES: program-memory
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.npu.write32 {address = 0x20000 : ui32, value = 0x15 : ui32, column = 0 : i32, row = 2 : i32}
    aiex.npu.write32 {address = 0x32000 : ui32, value = 1 : ui32, column = 0 : i32, row = 2 : i32}  // BUG
    // SAYS error: the core of core tile (0, 2) is started with machine code in its program memory, which runs from packages only, and on npu1
    // SAYS note: run the design that the code was made from, or bind a kernel to this core
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
