// RUN: tilewright opt --aie-create-pathfinder-flows %s | filecheck %s --check-prefix=BOTH
// RUN: tilewright opt --aie-create-pathfinder-flows=route-circuit=false %s | filecheck %s --check-prefix=PACKET
// RUN: tilewright opt --aie-create-pathfinder-flows=route-packet=false %s | filecheck %s --check-prefix=CIRCUIT
// RUN: tilewright opt --aie-create-pathfinder-flows=route-circuit=false --aie-create-pathfinder-flows %s | filecheck %s --check-prefix=LATER

// Either kind can be routed alone, the other one's way being kept free. What is routed is not routed again.
aie.device(npu1_1col) {
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  aie.flow(%mem, DMA : 0, %core, DMA : 0)
  aie.packet_flow(1) {
    aie.packet_source<%mem, DMA : 1>
    aie.packet_dest<%core, DMA : 1>
  }
}
// BOTH-NOT:    aie.flow
// BOTH:        aie.connect<DMA : 0, North : 5>
// BOTH:        aie.masterset(North : 1, %{{.+}})
// BOTH-NOT:    aie.flow

// PACKET-NOT:  aie.connect
// PACKET:      aie.masterset(North : 1, %{{.+}})
// PACKET-NOT:  aie.connect
// PACKET:      aie.flow(%mem_tile_0_1, DMA : 0, %tile_0_2, DMA : 0)

// CIRCUIT-NOT: aie.masterset
// CIRCUIT:     aie.connect<DMA : 0, North : 5>
// CIRCUIT-NOT: aie.masterset

// LATER-NOT:   aie.flow
// LATER:       aie.masterset(North : 1, %{{.+}})
// LATER:       aie.connect<DMA : 0, North : [[UP:[0-5]]]>
// LATER:       aie.masterset(DMA : 1, %{{.+}})
// LATER:       aie.connect<South : [[UP]], DMA : 0>
// LATER-NOT:   aie.flow
// LATER:       aie.wire(%mem_tile_0_1 : Core, %switchbox_0_1 : Core)
// LATER-NEXT:  aie.wire(%mem_tile_0_1 : DMA, %switchbox_0_1 : DMA)
// LATER-NEXT:  aie.wire(%tile_0_2 : Core, %switchbox_0_2 : Core)
// LATER-NEXT:  aie.wire(%tile_0_2 : DMA, %switchbox_0_2 : DMA)
// LATER-NEXT:  aie.wire(%switchbox_0_1 : North, %switchbox_0_2 : South)
// LATER-NEXT:  }
