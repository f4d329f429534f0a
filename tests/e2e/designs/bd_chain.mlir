// One task of the host's DMA is a chain of three descriptors: parts of two buffers become one stream.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%a}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out(%a, {%shim}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo.link [@in] -> [@out]([] [])
  aie.bd_chain @gather(%first: memref<32xi32>, %second: memref<32xi32>) {
    aie.dma_bd(%first : memref<32xi32> offset = 24 len = 8)
    aie.next_bd ^middle
  ^middle:
    aie.dma_bd(%second : memref<32xi32> offset = 0 len = 32)
    aie.next_bd ^last
  ^last:
    aie.dma_bd(%first : memref<32xi32> offset = 0 len = 24)
    aie.end
  }
  aie.runtime_sequence @gather_all(%first: memref<32xi32>, %second: memref<32xi32>, %out: memref<64xi32>) {
    %arrive = aiex.dma_configure_task_for @out {
      aie.dma_bd(%out : memref<64xi32> offset = 0 len = 64)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%arrive)
    %leave = aiex.dma_start_bd_chain_for @gather(%first, %second) : (memref<32xi32>, memref<32xi32>) for @in
    aiex.dma_await_task(%arrive)
  }
}
