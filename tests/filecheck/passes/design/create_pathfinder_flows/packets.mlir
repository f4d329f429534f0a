// RUN: tilewright opt --split-input-file --aie-create-pathfinder-flows %s | filecheck %s

// Packets on their way to the host keep their headers if asked to. Ids that come in by one port and leave by the same
// ones need one rule, which looks at the bits that they have in common. The flows stay in the design.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.packet_flow(2) {
    aie.packet_source<%core, Trace : 0>
    aie.packet_dest<%shim, DMA : 1>
  } {keep_pkt_header = true}
  aie.packet_flow(3) {
    aie.packet_source<%core, Trace : 0>
    aie.packet_dest<%shim, DMA : 1>
  } {keep_pkt_header = true}
}
// CHECK:      aie.shim_mux(%shim_noc_tile_0_0) {
// CHECK-NEXT:   aie.connect<North : 3, DMA : 1>
// CHECK-NEXT: }
// CHECK:      aie.switchbox(%shim_noc_tile_0_0) {
// CHECK-NEXT:   %[[SELECT:.+]] = aie.amsel<0> (0)
// CHECK-NEXT:   aie.masterset(South : 3, %[[SELECT]]) {keep_pkt_header = true}
// CHECK-NEXT:   aie.packet_rules(North : [[DOWN:[0-3]]]) {
// CHECK-NEXT:     aie.rule(30, 2, %[[SELECT]])
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK:      aie.switchbox(%tile_0_2) {
// CHECK-NEXT:   %[[SELECT:.+]] = aie.amsel<0> (0)
// CHECK-NEXT:   aie.masterset(South : [[DOWN]], %[[SELECT]])
// CHECK-NEXT:   aie.packet_rules(Trace : 0) {
// CHECK-NEXT:     aie.rule(30, 2, %[[SELECT]])
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK:      aie.packet_flow(2) {
// CHECK:      aie.packet_flow(3) {

// -----

// One id to two destinations takes one select, on which both depend; another id to one of them takes another select
// of the same arbiter, because an output listens to one arbiter.
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  aie.packet_flow(0) {
    aie.packet_source<%core, South : 0>
    aie.packet_dest<%core, DMA : 0>
    aie.packet_dest<%core, DMA : 1>
  }
  aie.packet_flow(1) {
    aie.packet_source<%core, South : 0>
    aie.packet_dest<%core, DMA : 1>
  }
}
// CHECK:      aie.switchbox(%tile_0_2) {
// CHECK-NEXT:   %[[BOTH:.+]] = aie.amsel<0> (0)
// CHECK-NEXT:   %[[ONE:.+]] = aie.amsel<0> (1)
// CHECK-NEXT:   aie.masterset(DMA : 0, %[[BOTH]])
// CHECK-NEXT:   aie.masterset(DMA : 1, %[[BOTH]], %[[ONE]])
// CHECK-NEXT:   aie.packet_rules(South : 0) {
// CHECK-NEXT:     aie.rule(31, 1, %[[ONE]])
// CHECK-NEXT:     aie.rule(31, 0, %[[BOTH]])

// -----

// Outputs that only a later flow brings together have one arbiter from the start: no destination is left out.
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  aie.packet_flow(0) {
    aie.packet_source<%core, South : 0>
    aie.packet_dest<%core, DMA : 0>
  }
  aie.packet_flow(1) {
    aie.packet_source<%core, South : 0>
    aie.packet_dest<%core, DMA : 1>
  }
  aie.packet_flow(2) {
    aie.packet_source<%core, South : 0>
    aie.packet_dest<%core, DMA : 0>
    aie.packet_dest<%core, DMA : 1>
  }
}
// CHECK:      %[[LEFT:.+]] = aie.amsel<0> (0)
// CHECK-NEXT: %[[RIGHT:.+]] = aie.amsel<0> (1)
// CHECK-NEXT: %[[BOTH:.+]] = aie.amsel<0> (2)
// CHECK-NEXT: aie.masterset(DMA : 0, %[[LEFT]], %[[BOTH]])
// CHECK-NEXT: aie.masterset(DMA : 1, %[[RIGHT]], %[[BOTH]])

// -----

// Five senders with one id, more than there are ways for them side by side: they come together on the way.
aie.device(npu1_1col) {
  %mem = aie.tile(0, 1)
  %c2 = aie.tile(0, 2)
  %c3 = aie.tile(0, 3)
  %c4 = aie.tile(0, 4)
  %c5 = aie.tile(0, 5)
  aie.packet_flow(0) {
    aie.packet_source<%c2, DMA : 0>
    aie.packet_source<%c3, DMA : 0>
    aie.packet_source<%c4, DMA : 0>
    aie.packet_source<%c5, DMA : 0>
    aie.packet_source<%c5, DMA : 1>
    aie.packet_dest<%mem, DMA : 0>
  }
}
// CHECK:      aie.switchbox(%mem_tile_0_1) {
// CHECK-NEXT:   %[[SELECT:.+]] = aie.amsel<0> (0)
// CHECK-NEXT:   aie.masterset(DMA : 0, %[[SELECT]])
// CHECK-NEXT:   aie.packet_rules(North : [[DOWN:[0-3]]]) {
// CHECK-NEXT:     aie.rule(31, 0, %[[SELECT]])
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK:      aie.switchbox(%tile_0_2) {
// CHECK-NEXT:   %[[SELECT:.+]] = aie.amsel<0> (0)
// CHECK-NEXT:   aie.masterset(South : [[DOWN]], %[[SELECT]])
// CHECK:      aie.switchbox(%tile_0_5) {
// CHECK:        aie.packet_rules(DMA : 1)
// CHECK:        aie.packet_rules(DMA : 0)

// -----

// Flows with priority take selects from the top, and what they use is marked.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  aie.packet_flow(15) {
    aie.packet_source<%shim, TileControl : 0>
    aie.packet_dest<%shim, South : 0>
  } {keep_pkt_header = true, priority_route = true}
}
// CHECK:      %[[SELECT:.+]] = aie.amsel<5> (3)
// CHECK-NEXT: aie.masterset(South : 0, %[[SELECT]]) {is_ctrl_pkt_overlay, keep_pkt_header = true}
// CHECK-NEXT: aie.packet_rules(TileControl : 0) {
// CHECK-NEXT:   aie.rule(31, 15, %[[SELECT]])
// CHECK-NEXT: } {is_ctrl_pkt_overlay}
