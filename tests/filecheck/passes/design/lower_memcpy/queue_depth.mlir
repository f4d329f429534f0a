// RUN: tilewright opt --aie-lower-memcpy %s | filecheck %s
// A queue holds four tasks: the fifth copy waits for the first. The loop, whose number of iterations is known, is
// written out; what is left is awaited at the end, in order.

// CHECK-COUNT-4: aiex.dma_configure_task(%[[CORE:.+]], S2MM, 0)
// CHECK:         aiex.dma_await_task(%[[FIRST:.+]])
// CHECK-NEXT:    aiex.dma_free_task
// CHECK-NEXT:    aiex.dma_free_task(%[[FIRST]])
// CHECK:         aiex.dma_configure_task
// CHECK-COUNT-4: aiex.dma_await_task
// CHECK-NOT:     aiex.dma_await_task

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<40xi32>
  aiex.token(0) {sym_name = "arrived"}
  aie.core(%core) {
    aiex.useToken @arrived(Acquire, 5)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<40xi32>) {
    %zero = arith.constant 0 : index
    %eight = arith.constant 8 : index
    %end = arith.constant 40 : index
    scf.for %at = %zero to %end step %eight {
      aiex.memcpy @arrived(0, 1) (%shim : <%a, %at, 8>, %core : <%buffer, %at, 8>) : (memref<40xi32>, memref<40xi32>, index, index)
    }
  }
}
