// The host says at run time which half of a buffer to send, and whether to send anything at all.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out]([] [])
  aie.runtime_sequence @choose(%in: memref<32xi32>, %out: memref<16xi32>, %half: i32, %wanted: i1) {
    %width = arith.constant 16 : i32
    %offset = arith.muli %half, %width : i32
    scf.if %wanted {
      %arrive = aiex.dma_configure_task_for @out {
        aie.dma_bd(%out : memref<16xi32> offset = 0 len = 16)
        aie.end
      } {issue_token = true}
      %leave = aiex.dma_configure_task_for @in {
        aie.dma_bd(%in : memref<32xi32> offset = %offset len = 16)
        aie.end
      }
      aiex.dma_start_task(%arrive)
      aiex.dma_start_task(%leave)
      aiex.dma_await_task(%arrive)
    }
  }
}
