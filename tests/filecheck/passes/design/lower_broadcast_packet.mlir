// RUN: tilewright opt --aie-lower-broadcast-packet %s | filecheck %s

// Packets of each id are a flow of their own, the last first.
// CHECK-NOT:  aiex.broadcast_packet
// CHECK:      aie.packet_flow(7) {
// CHECK-NEXT:   aie.packet_source<%tile_0_2, DMA : 1>
// CHECK-NEXT:   aie.packet_dest<%tile_0_4, DMA : 0>
// CHECK-NEXT: }
// CHECK-NEXT: aie.packet_flow(3) {
// CHECK-NEXT:   aie.packet_source<%tile_0_2, DMA : 1>
// CHECK-NEXT:   aie.packet_dest<%tile_0_3, DMA : 0>
// CHECK-NEXT:   aie.packet_dest<%tile_0_4, DMA : 1>
// CHECK-NEXT: }
aie.device(npu1) {
  %from = aie.tile(0, 2)
  %one = aie.tile(0, 3)
  %other = aie.tile(0, 4)
  aiex.broadcast_packet(%from, DMA : 1) {
    aiex.bp_id(3) {
      aiex.bp_dest<%one, DMA : 0>
      aiex.bp_dest<%other, DMA : 1>
    }
    aiex.bp_id(7) {
      aiex.bp_dest<%other, DMA : 0>
    }
  }
}
