// A transfer that goes over the end of a host buffer reads what belongs to somebody else.
// RAISES: outside-memory
// GIVES: b[:32] == a[32:]
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      // SAYS error: BD 3 on MM2S 0 of tile (0, 0) reads bytes 192 to 320 of argument a, which has 256
      aie.dma_bd(%a : memref<64xi32>, 0, 32) {bd_id = 3 : i32}
      aie.end
    }
    aiex.npu.address_patch {addr = 0x1D064 : ui32, arg_idx = 0 : i32, arg_plus = 192 : i32}  // BUG
    aiex.npu.address_patch {addr = 0x1D064 : ui32, arg_idx = 0 : i32, arg_plus = 128 : i32}  // FIX
    aiex.dma_start_task(%task)
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
