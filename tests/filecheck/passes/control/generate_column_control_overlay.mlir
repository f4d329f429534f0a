// RUN: tilewright opt --aie-generate-column-control-overlay %s | filecheck %s
// RUN: tilewright opt --aie-generate-column-control-overlay=route-shim-to-tct=all-tiles %s | filecheck %s --check-prefix=ALL
// RUN: tilewright opt --aie-generate-column-control-overlay="route-shim-to-tct=disable route-shim-to-tile-ctrl=true" %s | filecheck %s --check-prefix=CONTROL

// Tokens of shim tiles reach the host by the first port south; a column without a shim tile has none to send.
// CHECK:      %shim_noc_tile_2_0 = aie.tile(2, 0)
// CHECK-NEXT: %shim_noc_tile_0_0 = aie.tile(0, 0)
// CHECK-NEXT: %tile_2_4 = aie.tile(2, 4)
// CHECK-NEXT: aie.packet_flow(15) {
// CHECK-NEXT:   aie.packet_source<%shim_noc_tile_0_0, TileControl : 0>
// CHECK-NEXT:   aie.packet_dest<%shim_noc_tile_0_0, South : 0>
// CHECK-NEXT: } {keep_pkt_header = true, priority_route = true}
// CHECK-NEXT: }

// ALL:      aie.packet_flow(15) {
// ALL-NEXT:   aie.packet_source<%shim_noc_tile_0_0, TileControl : 0>
// ALL:      aie.packet_flow(6) {
// ALL-NEXT:   aie.packet_source<%tile_2_4, TileControl : 0>
// ALL-NEXT:   aie.packet_dest<%shim_noc_tile_2_0, South : 0>
// ALL-NEXT: } {keep_pkt_header = true, priority_route = true}
// ALL-NEXT: }

// Control packets may cross column 1, so it is covered as far up as any; the upper rows have a channel of their own.
// CONTROL:      aie.packet_flow(15) {
// CONTROL-NEXT:   aie.packet_source<%shim_noc_tile_0_0, DMA : 0>
// CONTROL-NEXT:   aie.packet_dest<%shim_noc_tile_0_0, TileControl : 0>
// CONTROL-NEXT: } {keep_pkt_header = true, priority_route = true}
// CONTROL-NEXT: aie.shim_dma_allocation @ctrlpkt_col0_mm2s_chan0(%shim_noc_tile_0_0, MM2S, 0)
// CONTROL:      aie.shim_dma_allocation @ctrlpkt_col1_mm2s_chan0(%shim_noc_tile_1_0, MM2S, 0)
// CONTROL:        aie.packet_dest<%mem_tile_1_1, TileControl : 0>
// CONTROL:        aie.packet_dest<%tile_1_2, TileControl : 0>
// CONTROL:        aie.packet_source<%shim_noc_tile_1_0, DMA : 1>
// CONTROL-NEXT:   aie.packet_dest<%tile_1_3, TileControl : 0>
// CONTROL-NEXT: } {keep_pkt_header = true, priority_route = true}
// CONTROL-NEXT: aie.shim_dma_allocation @ctrlpkt_col1_mm2s_chan1(%shim_noc_tile_1_0, MM2S, 1)
// CONTROL:        aie.packet_dest<%tile_1_4, TileControl : 0>
// CONTROL:      aie.packet_flow(6) {
// CONTROL-NEXT:   aie.packet_source<%shim_noc_tile_2_0, DMA : 1>
// CONTROL-NEXT:   aie.packet_dest<%tile_2_4, TileControl : 0>
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %far = aie.tile(2, 4) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 6>}
}
