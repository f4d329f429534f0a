// The host says at run time how many tiles of data to send, each behind the token of the one before, and how long
// they are all together.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%a}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out]([] [])
  aie.runtime_sequence @repeat(%in: memref<16xi32>, %out: memref<256xi32>, %count: i32) {
    %c1 = arith.constant 1 : index
    %tile = arith.constant 16 : i32
    %length = arith.muli %count, %tile : i32
    %end = arith.index_cast %count : i32 to index
    %arrive = aiex.dma_configure_task_for @out {
      aie.dma_bd(%out : memref<256xi32> offset = 0 len = %length)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%arrive)
    %first = aiex.dma_configure_task_for @in {
      aie.dma_bd(%in : memref<16xi32> offset = 0 len = 16)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%first)
    %last = scf.for %n = %c1 to %end step %c1 iter_args(%before = %first) -> (index) {
      %next = aiex.dma_configure_task_for @in {
        aie.dma_bd(%in : memref<16xi32> offset = 0 len = 16)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%next)
      aiex.dma_await_task(%before)
      scf.yield %next : index
    }
    aiex.dma_await_task(%last)
    aiex.dma_await_task(%arrive)
  }
}
