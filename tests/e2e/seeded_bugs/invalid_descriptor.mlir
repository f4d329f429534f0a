// A channel refuses a descriptor whose valid bit is not set.
// RAISES: invalid-descriptor
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
      // SAYS error: BD 3 on S2MM 0 of tile (0, 0) is not marked valid
      // SAYS note: write the whole descriptor, with its valid bit, before the task is pushed
      aie.dma_bd(%b : memref<64xi32>, 0, 64) {bd_id = 3 : i32}
      aie.end
    } {issue_token = true}
    aiex.npu.maskwrite32 {address = 0x1D07C : ui32, value = 0 : ui32, mask = 0x02000000 : ui32, column = 0 : i32, row = 0 : i32}  // BUG
    aiex.dma_start_task(%task)
    aiex.dma_await_task(%task)
  }
}
