// RUN: tilewright opt --aie-generate-column-control-overlay=route-shim-to-tct=issuing-tiles %s | filecheck %s
// Besides shim tiles, those tiles get a route for their tokens that a sequence has issue some, unless they have one.

// CHECK:      aie.packet_flow(7)
// CHECK:      aie.packet_flow(15) {
// CHECK-NEXT:   aie.packet_source<%[[SHIM:.+]], TileControl : 0>
// CHECK-NEXT:   aie.packet_dest<%[[SHIM]], South : 0>
// CHECK-NEXT: } {keep_pkt_header = true, priority_route = true}
// CHECK-NEXT: aie.packet_flow(27) {
// CHECK-NEXT:   aie.packet_source<%[[CORE:.+]], TileControl : 0>
// CHECK-NEXT:   aie.packet_dest<%[[SHIM]], South : 0>
// CHECK-NEXT: } {keep_pkt_header = true, priority_route = true}
// CHECK-NOT:  aie.packet_flow

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %store = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %silent = aie.tile(0, 3)
  %in_core = aie.buffer(%core) : memref<8xi32>
  %in_store = aie.buffer(%store) : memref<8xi32>
  aie.packet_flow(7) {
    aie.packet_source<%store, TileControl : 0>
    aie.packet_dest<%shim, South : 0>
  } {keep_pkt_header = true}
  aie.runtime_sequence() {
    %first = aiex.dma_configure_task(%core, S2MM, 0) {
      aie.dma_bd(%in_core : memref<8xi32> offset = 0 len = 8)
      aie.end
    } {issue_token = true}
    %second = aiex.dma_configure_task(%store, S2MM, 0) {
      aie.dma_bd(%in_store : memref<8xi32> offset = 0 len = 8)
      aie.end
    } {issue_token = true}
  }
}
