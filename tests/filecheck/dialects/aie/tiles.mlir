// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

// Tiles are named after their kind and place; the default name of a device is not shown.
// CHECK-LABEL: aie.device(npu1) {
aie.device(npu1) @main {
  // CHECK-NEXT: %shim_noc_tile_2_0 = aie.tile(2, 0)
  // CHECK-NEXT: %mem_tile_2_1 = aie.tile(2, 1)
  // CHECK-NEXT: %tile_2_5 = aie.tile(2, 5) {allocation_scheme = "bank-aware", controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
  // CHECK-NEXT: }
  %shim = aie.tile(2, 0)
  %mem = aie.tile(2, 1)
  %core = aie.tile(2, 5) {controller_id = #aie.packet_info<pkt_id = 15, pkt_type = 0>, allocation_scheme = "bank-aware"}
}
// GENERIC:      "aie.device"() <{device = 4 : i32, sym_name = "main"}> ({
// GENERIC-NEXT:   "aie.tile"() <{col = 2 : i32, row = 0 : i32}> : () -> index
// GENERIC:        "aie.tile"() <{allocation_scheme = "bank-aware", col = 2 : i32, row = 5 : i32}> {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>} : () -> index
// GENERIC-NEXT:   "aie.end"() : () -> ()

// CHECK-LABEL: aie.device(xcvc1902) @versal {
// CHECK-NEXT:    %shim_pl_tile_0_0 = aie.tile(0, 0)
// CHECK-NEXT:  } {note = "an attribute of ours"}
"aie.device"() <{device = 1 : i32, sym_name = "versal"}> ({
  %0 = "aie.tile"() <{col = 0 : i32, row = 0 : i32}> : () -> index
  aie.end
}) {note = "an attribute of ours"} : () -> ()

// A logical tile may ask for a column, a row, both or none. Names repeat; the second gets a number.
// CHECK-LABEL: aie.device(npu2_4col) @logical
aie.device(npu2_4col) @logical {
  // CHECK-NEXT: %logical_core = aie.logical_tile<CoreTile>(?, ?)
  // CHECK-NEXT: %logical_core_0 = aie.logical_tile<CoreTile>(3, 2) {allocation_scheme = "basic-sequential"}
  // CHECK-NEXT: %logical_mem = aie.logical_tile<MemTile>(?, 1)
  // CHECK-NEXT: %logical_shim_noc = aie.logical_tile<ShimNOCTile>(1, ?)
  %a = aie.logical_tile<CoreTile>(?, ?)
  %b = aie.logical_tile<CoreTile>(3, 2) {allocation_scheme = "basic-sequential"}
  %c = aie.logical_tile<MemTile>(?, 1)
  %d = aie.logical_tile<ShimNOCTile>(1, ?)
}
// GENERIC: "aie.logical_tile"() <{row = 1 : i32, tile_type = 1 : i32}> : () -> index
