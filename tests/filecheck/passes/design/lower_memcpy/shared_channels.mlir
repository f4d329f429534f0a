// RUN: tilewright opt --aie-lower-memcpy %s | filecheck %s
// A shim tile sends on two channels, of which the design uses one: both routes share the other, by packets. The copy
// with two destinations is one packet flow to both.

// CHECK:      %[[SHIM:.+]] = aie.tile(0, 0)
// CHECK:      %[[FIRST:.+]] = aie.tile(0, 2)
// CHECK:      %[[SECOND:.+]] = aie.tile(0, 3)
// CHECK:      aiex.dma_configure_task(%[[SHIM]], MM2S, 1, <pkt_type = 0, pkt_id = 0>)
// CHECK:      aiex.dma_configure_task(%[[FIRST]], S2MM, 1)
// CHECK:      aiex.dma_configure_task(%[[SECOND]], S2MM, 0)
// CHECK:      aiex.dma_configure_task(%[[SHIM]], MM2S, 1, <pkt_type = 0, pkt_id = 1>)
// CHECK:      aie.flow(%[[SHIM]], DMA : 0, %[[SECOND]], DMA : 1)
// CHECK-NEXT: aie.packet_flow(0) {
// CHECK-NEXT:   aie.packet_source<%[[SHIM]], DMA : 1>
// CHECK-NEXT:   aie.packet_dest<%[[FIRST]], DMA : 0>
// CHECK-NEXT: }
// CHECK-NEXT: aie.packet_flow(1) {
// CHECK-NEXT:   aie.packet_source<%[[SHIM]], DMA : 1>
// CHECK-NEXT:   aie.packet_dest<%[[FIRST]], DMA : 1>
// CHECK-NEXT:   aie.packet_dest<%[[SECOND]], DMA : 0>
// CHECK-NEXT: }

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %first = aie.tile(0, 2)
  %second = aie.tile(0, 3)
  %one = aie.buffer(%first) : memref<8xi32>
  %two = aie.buffer(%second) : memref<8xi32>
  aiex.token(0) {sym_name = "arrived"}
  aie.core(%first) {
    aiex.useToken @arrived(Acquire, 1)
    aie.end
  }
  aie.core(%second) {
    aiex.useToken @arrived(Acquire, 1)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<8xi32>) {
    aiex.memcpy @arrived(0, 0) (%shim : <%a, 0, 8>, %first : <%one, 0, 8>) : (memref<8xi32>, memref<8xi32>)
    aiex.memcpy @arrived(0, 1) (%shim : <%a, 0, 8>, %first : <%one, 0, 8>, %second : <%two, 0, 8>) : (memref<8xi32>, memref<8xi32>, memref<8xi32>)
  }
  aie.flow(%shim, DMA : 0, %second, DMA : 1)
}
