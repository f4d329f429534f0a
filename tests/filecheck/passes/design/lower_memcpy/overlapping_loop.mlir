// RUN: tilewright opt --aie-lower-memcpy %s | filecheck %s
// A loop of copies that ends when a run says: the first iteration comes before it, and each of the others awaits what
// the one before it started. The tasks of the last one are awaited behind it.

// CHECK:      %[[ANY:.+]] = arith.cmpi slt, %{{.+}}, %[[LAST:.+]] : index
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK:        %[[TO:.+]] = aiex.dma_configure_task(%{{.+}}, S2MM, 0)
// CHECK:        %[[FROM:.+]] = aiex.dma_configure_task(%{{.+}}, MM2S, 0)
// CHECK-NOT:    aiex.dma_await_task
// CHECK:        %[[SECOND:.+]] = arith.addi
// CHECK:        %[[RUNNING:.+]]:2 = scf.for %{{.+}} = %[[SECOND]] to %[[LAST]] step %{{.+}} iter_args(%[[BEFORE:.+]] = %[[FROM]], %[[ALSO:.+]] = %[[TO]])
// CHECK:          %[[NEXT:.+]] = aiex.dma_configure_task(%{{.+}}, S2MM, 0)
// CHECK:          aiex.dma_await_task(%[[ALSO]])
// CHECK-NEXT:     aiex.dma_free_task(%[[BEFORE]])
// CHECK-NEXT:     aiex.dma_free_task(%[[ALSO]])
// CHECK-NEXT:     scf.yield %{{.+}}, %[[NEXT]] : index, index
// CHECK:        aiex.dma_await_task(%[[RUNNING]]#1)

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  aiex.token(1) {sym_name = "empty"}
  aiex.token(0) {sym_name = "full"}
  aie.core(%core) {
    aiex.useToken @full(Acquire, 1)
    aiex.useToken @empty(Release, 1)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<64xi32>, %n: i32) {
    %zero = arith.constant 0 : index
    %eight = arith.constant 8 : index
    %last = arith.index_cast %n : i32 to index
    scf.for %at = %zero to %last step %eight {
      aiex.memcpy @empty(1, 0), @full(0, 1) (%shim : <%a, %at, 8>, %core : <%buffer, 0, 8>) : (memref<64xi32>, memref<8xi32>, index)
    }
  }
}
