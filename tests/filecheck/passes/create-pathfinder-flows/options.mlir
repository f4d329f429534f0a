// RUN: tilewright opt --aie-create-pathfinder-flows %s | filecheck %s --check-prefix=BOTH
// RUN: tilewright opt --aie-create-pathfinder-flows=route-circuit=false %s | filecheck %s --check-prefix=PACKET
// RUN: tilewright opt --aie-create-pathfinder-flows=route-packet=false %s | filecheck %s --check-prefix=CIRCUIT

// Either kind can be routed alone; the other one's way is kept free, so that both runs fit together.
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
// BOTH:        aie.masterset(North : 1, %{{.+}})
// BOTH-NOT:    aie.flow
// PACKET-NOT:  aie.connect
// PACKET:      aie.masterset(North : 1, %{{.+}})
// PACKET-NOT:  aie.connect
// PACKET:      aie.flow(%mem_tile_0_1, DMA : 0, %tile_0_2, DMA : 0)
// CIRCUIT-NOT: aie.masterset
// CIRCUIT:     aie.connect<DMA : 0, North : 5>
// CIRCUIT-NOT: aie.masterset
