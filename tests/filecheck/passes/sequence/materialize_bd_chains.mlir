// RUN: tilewright opt --aie-materialize-bd-chains %s | filecheck %s

// Starting a chain becomes a task with the chain's descriptors, in which the arguments are put, and a start of that task.
// Repeat count and token are the start's. A chain that leads to no descriptor ends.
// Packets are those of the allocation.
aie.device(npu1) {
  %shim = aie.tile(1, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) {sym_name = "buffer"} : memref<8xi32>
  aie.shim_dma_allocation @in(%shim, S2MM, 1, <pkt_type = 0, pkt_id = 2>)
  aie.bd_chain @two(%a: memref<8xi32>, %b: memref<4xi32>) {
    aie.dma_bd(%a : memref<8xi32> offset = 4 len = 4)
    aie.next_bd ^next
  ^next:
    aie.dma_bd(%b : memref<4xi32>)
    aie.next_bd ^nothing
  ^nothing:
    aie.end
  }
  aie.bd_chain @of_core() {
    aie.next_bd ^first
  ^first:
    aie.dma_bd(%buffer : memref<8xi32>)
    aie.next_bd ^first
  }
  // CHECK: aie.runtime_sequence(%arg0: memref<8xi32>, %arg1: memref<4xi32>)
  aie.runtime_sequence(%x: memref<8xi32>, %y: memref<4xi32>) {
    // CHECK-NEXT: %[[TASK:.+]] = aiex.dma_configure_task(%shim_noc_tile_1_0, S2MM, 1, <pkt_type = 0, pkt_id = 2>) {
    // CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8xi32> offset = 4 len = 4)
    // CHECK-NEXT:   aie.next_bd ^bb1
    // CHECK-NEXT: ^bb1:
    // CHECK-NEXT:   aie.dma_bd(%arg1 : memref<4xi32>)
    // CHECK-NEXT:   aie.end
    // CHECK-NEXT: } {issue_token = true, repeat_count = 3 : i32}
    // CHECK-NEXT: aiex.dma_start_task(%[[TASK]])
    %first = aiex.dma_start_bd_chain_for @two(%x, %y) : (memref<8xi32>, memref<4xi32>) for @in {issue_token = true, repeat_count = 3 : i32}
    // CHECK-NEXT: aiex.dma_await_task(%[[TASK]])
    aiex.dma_await_task(%first)
    // CHECK-NEXT: %[[OTHER:.+]] = aiex.dma_configure_task(%tile_0_2, MM2S, 0) {
    // CHECK-NEXT:   aie.next_bd ^bb1
    // CHECK-NEXT: ^bb1:
    // CHECK-NEXT:   aie.dma_bd(%buffer : memref<8xi32>)
    // CHECK-NEXT:   aie.next_bd ^bb1
    // CHECK-NEXT: }
    // CHECK-NEXT: aiex.dma_start_task(%[[OTHER]])
    %second = aiex.dma_start_bd_chain @of_core() : () on (%core, MM2S, 0)
  }
}
