// The address of an argument that the sequence does not have cannot be put into a descriptor.
// RAISES: outside-memory
// GIVES: b == a
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    %task = aiex.dma_configure_task(%shim, S2MM, 0) {
      aie.dma_bd(%b : memref<64xi32>, 0, 64) {bd_id = 3 : i32}
      aie.end
    } {issue_token = true}
    aiex.npu.address_patch {addr = 0x1D064 : ui32, arg_idx = 2 : i32, arg_plus = 0 : i32}  // BUG
    aiex.npu.address_patch {addr = 0x1D064 : ui32, arg_idx = 1 : i32, arg_plus = 0 : i32}  // FIX
    // SAYS error: the controller needs the address of argument 2; the arguments that are arrays: 0, 1
    aiex.dma_start_task(%task)
    aiex.dma_await_task(%task)
  }
}
