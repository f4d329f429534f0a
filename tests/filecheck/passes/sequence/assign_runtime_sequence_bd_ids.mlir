// RUN: tilewright opt --aie-assign-runtime-sequence-bd-ids %s | filecheck %s

// Descriptors get the lowest numbers that are free on their tile. A task's are free again once it is awaited or freed.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %other = aie.tile(1, 0)
  aie.runtime_sequence(%a: memref<8xi32>) {
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32> offset = 0 len = 4) {bd_id = 0 : i32}
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32> offset = 4 len = 4) {bd_id = 1 : i32}
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32> offset = 0 len = 4)
      aie.next_bd ^second
    ^second:
      aie.dma_bd(%a : memref<8xi32> offset = 4 len = 4)
      aie.end
    } {issue_token = true}
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32>) {bd_id = 0 : i32}
    %elsewhere = aiex.dma_configure_task(%other, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32>) {bd_id = 2 : i32}
    %pinned = aiex.dma_configure_task(%shim, MM2S, 1) {
      aie.dma_bd(%a : memref<8xi32>) {bd_id = 2 : i32}
      aie.end
    }
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32>) {bd_id = 3 : i32}
    %next = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    aiex.dma_start_task(%first)
    aiex.dma_await_task(%first)
    aiex.dma_free_task(%pinned)
    // CHECK: aiex.dma_await_task
    // CHECK-NOT: aiex.dma_free_task
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32> offset = 0 len = 4) {bd_id = 0 : i32}
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32> offset = 4 len = 4) {bd_id = 1 : i32}
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32>) {bd_id = 2 : i32}
    %again = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32> offset = 0 len = 4)
      aie.next_bd ^second
    ^second:
      aie.dma_bd(%a : memref<8xi32> offset = 4 len = 4)
      aie.end
    }
    %last = aiex.dma_configure_task(%shim, MM2S, 1) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
  }
}
