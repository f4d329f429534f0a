// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

aie.device(npu1) {
  %core = aie.tile(1, 3)
  %shim = aie.tile(1, 0)
  %anywhere = aie.logical_tile<MemTile>(?, ?)

  // A circuit, and packets that leave by two ports: ids 4 and 5 share a select, the rest of the rules belong to others.
  %s = aie.switchbox(%core) {
    aie.connect<South : 3, DMA : 0>
    %first = aie.amsel<0>(1)
    %second = aie.amsel<0>(2)
    %out = aie.masterset(DMA : 1, %first)
    %both = aie.masterset(East : 0, %first, %second) {keep_pkt_header = true}
    aie.packet_rules(North : 0) {
      aie.rule(0x1E, 4, %first)
      aie.rule(31, 0x10, %second)
    }
  }
  %m = aie.shim_mux(%shim) {
    aie.connect<DMA : 0, North : 3>
    aie.connect<North : 2, DMA : 0>
  }
  // Ports of a tile without a place are checked once it has one.
  %l = aie.switchbox(%anywhere) {
    aie.connect<FIFO : 7, Core : 9>
  }
  %empty = aie.switchbox(%shim) {
  } {kept = true}
}

// CHECK:      %switchbox_1_3 = aie.switchbox(%tile_1_3) {
// CHECK-NEXT:   aie.connect<South : 3, DMA : 0>
// CHECK-NEXT:   %[[#FIRST:]] = aie.amsel<0> (1)
// CHECK-NEXT:   %[[#SECOND:]] = aie.amsel<0> (2)
// CHECK-NEXT:   %{{.+}} = aie.masterset(DMA : 1, %[[#FIRST]])
// CHECK-NEXT:   %{{.+}} = aie.masterset(East : 0, %[[#FIRST]], %[[#SECOND]]) {keep_pkt_header = true}
// CHECK-NEXT:   aie.packet_rules(North : 0) {
// CHECK-NEXT:     aie.rule(30, 4, %[[#FIRST]])
// CHECK-NEXT:     aie.rule(31, 16, %[[#SECOND]])
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NEXT: %shim_mux_1_0 = aie.shim_mux(%shim_noc_tile_1_0) {
// CHECK-NEXT:   aie.connect<DMA : 0, North : 3>
// CHECK-NEXT:   aie.connect<North : 2, DMA : 0>
// CHECK-NEXT: }
// CHECK-NEXT: %{{.+}} = aie.switchbox(%logical_mem) {
// CHECK-NEXT:   aie.connect<FIFO : 7, Core : 9>
// CHECK-NEXT: }
// CHECK-NEXT: %switchbox_1_0 = aie.switchbox(%shim_noc_tile_1_0) {
// CHECK-NEXT: } {kept = true}
