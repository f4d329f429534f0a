// Four tasks wait in the queue of one channel; the last one's token says that all of them are done.
aie.device(npu2_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo.link [@in] -> [@out]([] [])
  aie.runtime_sequence @shuffle(%in: memref<64xi32>, %out: memref<64xi32>) {
    %arrive = aiex.dma_configure_task_for @out {
      aie.dma_bd(%out : memref<64xi32> offset = 0 len = 64)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%arrive)
    %third = aiex.dma_configure_task_for @in {
      aie.dma_bd(%in : memref<64xi32> offset = 32 len = 16)
      aie.end
    }
    aiex.dma_start_task(%third)
    %first = aiex.dma_configure_task_for @in {
      aie.dma_bd(%in : memref<64xi32> offset = 0 len = 16)
      aie.end
    }
    aiex.dma_start_task(%first)
    %fourth = aiex.dma_configure_task_for @in {
      aie.dma_bd(%in : memref<64xi32> offset = 48 len = 16)
      aie.end
    }
    aiex.dma_start_task(%fourth)
    %second = aiex.dma_configure_task_for @in {
      aie.dma_bd(%in : memref<64xi32> offset = 16 len = 16)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%second)
    aiex.dma_await_task(%second)
    aiex.dma_await_task(%arrive)
  }
}
