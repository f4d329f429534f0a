// RUN: tilewright opt --split-input-file --aie-lower-dynamic-bd-pool="recycle" %s | filecheck %s

// Nothing ends this task, and the loop waits by itself: the descriptor goes back, to be taken after all others, when
// all that is done with the task in this turn is done.
// CHECK-LABEL: @waits
// CHECK:       scf.for
// CHECK:         %[[BD:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
// CHECK:         aiex.dma_start_task
// CHECK:         aiex.npu.sync
// CHECK-NEXT:    aiex.dma_bd_pool_push(0, 0) bd_id %[[BD]] {last} : i32
// CHECK-NEXT:  }
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @waits(%a: memref<1024xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 {
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<1024xi32> offset = 0 len = 16)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.npu.sync(%zero, %zero, %one, %zero, %one, %one) : i32, i32, i32, i32, i32, i32
    }
  }
}

// -----

// Nothing waits in this loop: a descriptor that comes round again may be in flight.
// CHECK-LABEL: @does_not
// CHECK-NOT:   aiex.dma_bd_pool_push
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @does_not(%a: memref<1024xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<1024xi32> offset = 0 len = 16)
        aie.end
      }
      aiex.dma_start_task(%task)
    }
  }
}
