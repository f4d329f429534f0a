// RUN: tilewright opt --aie-lower-memcpy %s | filecheck %s
// A copy in the device itself is a program of both DMAs, which keeps its token.

// CHECK:      %[[FROM:.+]] = aie.tile(1, 1)
// CHECK:      %[[TO:.+]] = aie.tile(2, 2)
// CHECK:      aie.mem(%[[FROM]]) {
// CHECK-NEXT:   %{{.+}} = aie.dma_start(MM2S, 0, ^bb1, ^bb2)
// CHECK-NEXT: ^bb1:
// CHECK-NEXT:   aiex.useToken @sent(Acquire, 1)
// CHECK-NEXT:   aie.dma_bd(%{{.+}} : memref<16xi32> offset = 4 len = 8)
// CHECK-NEXT:   aiex.useToken @sent(Release, 2)
// CHECK-NEXT:   aie.next_bd ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT:   aie.end
// CHECK:      aie.mem(%[[TO]]) {
// CHECK-NEXT:   %{{.+}} = aie.dma_start(S2MM, 0, ^bb1, ^bb2)
// CHECK:      aie.flow(%[[FROM]], DMA : 0, %[[TO]], DMA : 0)

aie.device(xcvc1902) {
  %from = aie.tile(1, 1)
  %to = aie.tile(2, 2)
  %source = aie.buffer(%from) : memref<16xi32>
  %target = aie.buffer(%to) : memref<8xi32>
  aiex.token(0) {sym_name = "sent"}
  %source_dma = aie.mem(%from) {
    aie.end
  }
  %target_dma = aie.mem(%to) {
    aie.end
  }
  aiex.memcpy @sent(1, 2) (%from : <%source, 4, 8>, %to : <%target, 0, 8>) : (memref<16xi32>, memref<8xi32>)
}
