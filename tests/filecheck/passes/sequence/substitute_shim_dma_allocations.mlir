// RUN: tilewright opt --aie-substitute-shim-dma-allocations %s | filecheck %s

// A task for an allocation becomes a task for the tile, direction and channel that it names, with its packet header.
aie.device(npu1) {
  %shim = aie.tile(1, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 1, <pkt_type = 0, pkt_id = 2>)
  aie.runtime_sequence(%a: memref<8xi32>, %n: i32) {
    %t = aiex.dma_configure_task_for @in repeat %n : i32 {
      aie.dma_bd(%a : memref<8xi32> offset = 0 len = 8)
      aie.end
    } {issue_token = true, repeat_count = 3 : i32}
    aiex.dma_start_task(%t)
  }
}

// CHECK:      %[[TASK:.+]] = aiex.dma_configure_task(%shim_noc_tile_1_0, MM2S, 1, <pkt_type = 0, pkt_id = 2>) repeat %arg1 : i32 {
// CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8xi32> offset = 0 len = 8)
// CHECK-NEXT:   aie.end
// CHECK-NEXT: } {issue_token = true, repeat_count = 3 : i32}
// CHECK-NEXT: aiex.dma_start_task(%[[TASK]])
