// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)

  // Bundles may be quoted, as programs once wrote them.
  aie.flow(%shim, DMA : 0, %core, "DMA" : 1)
  aie.flow(%core, Core : 0, %mem, DMA : 5) {note = "kept"}

  // Packet ids are bytes; the header of a packet can stay on it.
  aie.packet_flow(0x1F) {
    aie.packet_source<%core, Trace : 0>
    aie.packet_dest<%shim, South : 0>
    aie.packet_dest<%mem, DMA : 0>
  } {keep_pkt_header = true, priority_route = true}
  aie.packet_flow(255) {
    aie.packet_source<%mem, DMA : 0>
    aie.packet_dest<%core, TileControl : 0>
    aie.end
  }

  %pl = aie.plio(20)
  aie.wire(%core : South, %mem : North)

  aie.shim_dma_allocation @out(%shim, S2MM, 1)
  aie.shim_dma_allocation @in (%shim, MM2S, 0, <pkt_id = 2, pkt_type = 0>) {plio = true}
  aie.shim_dma_allocation @plain(%shim, MM2S, 1) {plio = false}
}

// CHECK:      aie.flow(%shim_noc_tile_0_0, DMA : 0, %tile_0_2, DMA : 1)
// CHECK-NEXT: aie.flow(%tile_0_2, Core : 0, %mem_tile_0_1, DMA : 5) {note = "kept"}
// CHECK-NEXT: aie.packet_flow(31) {
// CHECK-NEXT:   aie.packet_source<%tile_0_2, Trace : 0>
// CHECK-NEXT:   aie.packet_dest<%shim_noc_tile_0_0, South : 0>
// CHECK-NEXT:   aie.packet_dest<%mem_tile_0_1, DMA : 0>
// CHECK-NEXT: } {keep_pkt_header = true, priority_route = true}
// CHECK-NEXT: aie.packet_flow(-1) {
// CHECK-NEXT:   aie.packet_source<%mem_tile_0_1, DMA : 0>
// CHECK-NEXT:   aie.packet_dest<%tile_0_2, TileControl : 0>
// CHECK-NEXT: }
// CHECK-NEXT: %{{.+}} = aie.plio(20)
// CHECK-NEXT: aie.wire(%tile_0_2 : South, %mem_tile_0_1 : North)
// CHECK-NEXT: aie.shim_dma_allocation @out(%shim_noc_tile_0_0, S2MM, 1)
// CHECK-NEXT: aie.shim_dma_allocation @in(%shim_noc_tile_0_0, MM2S, 0, <pkt_type = 0, pkt_id = 2>) {plio = true}
// CHECK-NEXT: aie.shim_dma_allocation @plain(%shim_noc_tile_0_0, MM2S, 1)

// GENERIC: "aie.flow"(%0, %2) <{dest_bundle = 1 : i32, dest_channel = 1 : i32, source_bundle = 1 : i32, source_channel = 0 : i32}> : (index, index) -> ()
// GENERIC: "aie.packet_flow"() <{ID = 31 : i8, keep_pkt_header = true, priority_route = true}> ({
// GENERIC: "aie.packet_source"(%2) <{bundle = 9 : i32, channel = 0 : i32}> : (index) -> ()
// GENERIC: "aie.end"() : () -> ()
// GENERIC: "aie.shim_dma_allocation"(%0) <{channel_dir = 0 : i32, channel_index = 1 : i64, plio = false, sym_name = "out"}> : (index) -> ()
