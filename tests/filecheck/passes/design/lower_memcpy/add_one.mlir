// RUN: tilewright opt --aie-lower-memcpy %s | filecheck %s
// Tokens become locks of the core's tile. Each copy becomes a task on both sides: the destination is ready before the
// source starts, takes part in the tokens where it is a tile, and is awaited. The core, done once, starts over.

// CHECK:      %[[SHIM:.+]] = aie.tile(0, 0)
// CHECK-NEXT: %[[CORE:.+]] = aie.tile(0, 2)
// CHECK-NEXT: %arrived_lock = aie.lock(%[[CORE]]) {init = 0 : i32, sym_name = "arrived_lock"}
// CHECK-NEXT: %computed_lock = aie.lock(%[[CORE]]) {init = 0 : i32, sym_name = "computed_lock"}
// CHECK-NOT:  aiex.token
// CHECK:      aie.core
// CHECK:        scf.for %{{.+}} = %{{.+}} to %c9223372036854775807 step
// CHECK:          aie.use_lock(%arrived_lock, AcquireGreaterEqual, %c1_i32)
// CHECK:          aie.use_lock(%computed_lock, Release, %c1_i32
// CHECK:      aie.runtime_sequence @run(%[[A:.+]]: memref<8xi32>, %[[B:.+]]: memref<8xi32>)
// CHECK-NEXT:   %[[ARRIVE:.+]] = aiex.dma_configure_task(%[[CORE]], S2MM, 0) {
// CHECK-NEXT:     aie.dma_bd(%source : memref<8xi32> offset = 0 len = 8)
// CHECK-NEXT:     %{{.+}} = arith.constant 1 : i32
// CHECK-NEXT:     aie.use_lock(%arrived_lock, Release, %{{.+}})
// CHECK-NEXT:     aie.end
// CHECK-NEXT:   } {issue_token = true}
// CHECK-NEXT:   aiex.dma_start_task(%[[ARRIVE]])
// CHECK-NEXT:   %[[SEND:.+]] = aiex.dma_configure_task(%[[SHIM]], MM2S, 0) {
// CHECK-NEXT:     aie.dma_bd(%[[A]] : memref<8xi32> offset = 0 len = 8)
// CHECK-NEXT:     aie.end
// CHECK-NEXT:   }
// CHECK-NEXT:   aiex.dma_start_task(%[[SEND]])
// CHECK-NEXT:   %[[RECEIVE:.+]] = aiex.dma_configure_task(%[[SHIM]], S2MM, 0) {
// CHECK:        aiex.dma_start_task(%[[RECEIVE]])
// CHECK-NEXT:   %[[LEAVE:.+]] = aiex.dma_configure_task(%[[CORE]], MM2S, 0) {
// CHECK-NEXT:     %{{.+}} = arith.constant 1 : i32
// CHECK-NEXT:     aie.use_lock(%computed_lock, AcquireGreaterEqual, %{{.+}})
// CHECK-NEXT:     aie.dma_bd(%target : memref<8xi32> offset = 0 len = 8)
// CHECK-NEXT:     aie.end
// CHECK-NEXT:   }
// CHECK-NEXT:   aiex.dma_start_task(%[[LEAVE]])
// CHECK-NEXT:   aiex.dma_await_task(%[[ARRIVE]])
// CHECK-NEXT:   aiex.dma_free_task(%[[SEND]])
// CHECK-NEXT:   aiex.dma_free_task(%[[ARRIVE]])
// CHECK-NEXT:   aiex.dma_await_task(%[[RECEIVE]])
// CHECK:      aie.flow(%[[SHIM]], DMA : 0, %[[CORE]], DMA : 0)
// CHECK-NEXT: aie.flow(%[[CORE]], DMA : 0, %[[SHIM]], DMA : 0)
// CHECK-NEXT: aie.shim_dma_allocation @shim_dma_arrived_0_0_0(%[[SHIM]], MM2S, 0)
// CHECK-NEXT: aie.shim_dma_allocation @shim_dma_computed_0_0_0(%[[SHIM]], S2MM, 0)

aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %source = aie.buffer(%core) {sym_name = "source"} : memref<8xi32>
  %target = aie.buffer(%core) {sym_name = "target"} : memref<8xi32>
  aiex.token(0) {sym_name = "arrived"}
  aiex.token(0) {sym_name = "computed"}
  aie.core(%core) {
    aiex.useToken @arrived(Acquire, 1)
    %zero = arith.constant 0 : index
    %value = memref.load %source[%zero] : memref<8xi32>
    memref.store %value, %target[%zero] : memref<8xi32>
    aiex.useToken @computed(Release, 1)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<8xi32>, %b: memref<8xi32>) {
    aiex.memcpy @arrived(0, 1) (%shim : <%a, 0, 8>, %core : <%source, 0, 8>) : (memref<8xi32>, memref<8xi32>)
    aiex.memcpy @computed(1, 0) (%core : <%target, 0, 8>, %shim : <%b, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}
