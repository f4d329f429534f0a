// RUN: tilewright opt --aie-generate-column-control-overlay=emit-standalone-overlay=true %s | filecheck %s

// Designs that are to share an overlay get each other's tiles, and a device of its own holds it alone.
// CHECK:      aie.device(npu1) @one {
// CHECK-NEXT:   %shim_noc_tile_1_0 = aie.tile(1, 0)
// CHECK-NEXT:   %shim_noc_tile_0_0 = aie.tile(0, 0)
// CHECK:      } {has_ctrl_pkt_overlay = true}
// CHECK-NEXT: aie.device(npu1) @two {
// CHECK-NEXT:   %shim_noc_tile_0_0 = aie.tile(0, 0)
// CHECK-NEXT:   %shim_noc_tile_1_0 = aie.tile(1, 0)
// CHECK:      } {has_ctrl_pkt_overlay = true}
// CHECK-NEXT: aie.device(npu1) @aside {
// CHECK-NEXT:   %shim_noc_tile_3_0 = aie.tile(3, 0)
// CHECK-NEXT: } {has_ctrl_pkt_overlay = false, needs_ctrl_pkt_overlay = false}
// CHECK-NEXT: aie.device(npu1) @ctrl_pkt_overlay {
// CHECK-NEXT:   %shim_noc_tile_1_0 = aie.tile(1, 0)
// CHECK-NEXT:   %shim_noc_tile_0_0 = aie.tile(0, 0)
// CHECK-NEXT:   aie.packet_flow(15) {
// CHECK-NEXT:     aie.packet_source<%shim_noc_tile_1_0, TileControl : 0>
// CHECK:          aie.packet_source<%shim_noc_tile_0_0, TileControl : 0>
// CHECK:      } {has_ctrl_pkt_overlay = true}
aie.device(npu1) @one {
  %shim = aie.tile(0, 0)
}
aie.device(npu1) @two {
  %shim = aie.tile(1, 0)
}
aie.device(npu1) @aside {
  %shim = aie.tile(3, 0)
} {needs_ctrl_pkt_overlay = false}
