// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  aie.bd_chain @chain(%b: memref<8xi32>) {
    aie.dma_bd(%b : memref<8xi32> offset = 0 len = 8)
    aie.end
  }
  aie.runtime_sequence(%a: memref<8xi32>, %n: i32) {
    // Issuing no token and running once are the defaults.
    %plain = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32> offset = 0 len = 8) {bd_id = 1 : i32}
      aie.end
    } {issue_token = false, repeat_count = 0 : i32}
    // A chain has a block for each descriptor.
    %chain = aiex.dma_configure_task(%shim, MM2S, 1, <pkt_type = 0, pkt_id = 1>) repeat %n : i32 bd_id %n, %n : i32, i32 {
      aie.dma_bd(%a : memref<8xi32> offset = 0 len = 4)
      aie.next_bd ^second
    ^second:
      aie.dma_bd(%a : memref<8xi32> offset = 4 len = 4)
      aie.end
    } {issue_token = true, repeat_count = 2 : i32}
    %for = aiex.dma_configure_task_for @out repeat %n : i32 {
      aie.dma_bd(%a : memref<8xi32> offset = 0 len = 8)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%plain)
    aiex.dma_start_task(%for)
    aiex.dma_await_task(%for)
    aiex.dma_free_task(%plain)
    %bd = aiex.dma_bd_pool_pop(0, 0) : i32
    aiex.dma_bd_pool_push(0, 0) bd_id %bd : i32
    %on = aiex.dma_start_bd_chain @chain(%a) : (memref<8xi32>) on (%shim, MM2S, 0) {issue_token = true}
    %through = aiex.dma_start_bd_chain_for @chain(%a) : (memref<8xi32>) for @out
  }
}

// CHECK:      %[[PLAIN:.+]] = aiex.dma_configure_task(%shim_noc_tile_0_0, MM2S, 0) {
// CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8xi32> offset = 0 len = 8) {bd_id = 1 : i32}
// CHECK-NEXT:   aie.end
// CHECK-NEXT: }
// CHECK-NEXT: %{{.+}} = aiex.dma_configure_task(%shim_noc_tile_0_0, MM2S, 1, <pkt_type = 0, pkt_id = 1>) repeat %arg1 : i32 bd_id %arg1, %arg1 : i32, i32 {
// CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8xi32> offset = 0 len = 4)
// CHECK-NEXT:   aie.next_bd ^bb1
// CHECK-NEXT: ^bb1:  // pred: ^bb0
// CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8xi32> offset = 4 len = 4)
// CHECK-NEXT:   aie.end
// CHECK-NEXT: } {issue_token = true, repeat_count = 2 : i32}
// CHECK-NEXT: %[[FOR:.+]] = aiex.dma_configure_task_for @out repeat %arg1 : i32 {
// CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8xi32> offset = 0 len = 8)
// CHECK-NEXT:   aie.end
// CHECK-NEXT: } {issue_token = true}
// CHECK-NEXT: aiex.dma_start_task(%[[PLAIN]])
// CHECK-NEXT: aiex.dma_start_task(%[[FOR]])
// CHECK-NEXT: aiex.dma_await_task(%[[FOR]])
// CHECK-NEXT: aiex.dma_free_task(%[[PLAIN]])
// CHECK-NEXT: %[[BD:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
// CHECK-NEXT: aiex.dma_bd_pool_push(0, 0) bd_id %[[BD]] : i32
// CHECK-NEXT: %{{.+}} = aiex.dma_start_bd_chain @chain(%arg0) : (memref<8xi32>) on (%shim_noc_tile_0_0, MM2S, 0) {issue_token = true}
// CHECK-NEXT: %{{.+}} = aiex.dma_start_bd_chain_for @chain(%arg0) : (memref<8xi32>) for  @out

// GENERIC: "aiex.dma_configure_task"(%{{.+}}, %arg1, %arg1, %arg1) <{channel = 1 : i32, direction = 1 : i32, issue_token = true, operandSegmentSizes = array<i32: 1, 1, 2>, packet = #aie.packet_info<pkt_type = 0, pkt_id = 1>, repeat_count = 2 : i32}>
// GENERIC: "aiex.dma_start_bd_chain"(%arg0, %{{.+}}) <{channel = 0 : i32, direction = 1 : i32, issue_token = true, symbol = @chain}> : (memref<8xi32>, index) -> index
