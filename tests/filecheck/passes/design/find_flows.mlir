// RUN: tilewright opt --aie-find-flows %s | filecheck %s

// What leaves a tile is followed along wires and through switches. Of a rule's mask and value only what they say about
// an id is known: packets that two switches narrow down in turn get the bits of both.
// CHECK:      aie.wire(%tile_0_3 : DMA, %switchbox_0_3 : DMA)
// CHECK-NEXT: aie.flow(%tile_0_2, DMA : 0, %tile_0_3, DMA : 1)
// CHECK-NEXT: aie.packet_flow(3) {
// CHECK-NEXT:   aie.packet_source<%tile_0_2, DMA : 1>
// CHECK-NEXT:   aie.packet_dest<%tile_0_3, DMA : 0>
// CHECK-NEXT: }
// CHECK-NEXT: }
aie.device(npu1) {
  %low = aie.tile(0, 2)
  %high = aie.tile(0, 3)
  %below = aie.switchbox(%low) {
    aie.connect<DMA : 0, North : 0>
    %select = aie.amsel<0>(0)
    %out = aie.masterset(North : 1, %select)
    aie.packet_rules(DMA : 1) {
      aie.rule(1, 1, %select)
    }
  }
  %above = aie.switchbox(%high) {
    aie.connect<South : 0, DMA : 1>
    %select = aie.amsel<0>(0)
    %other = aie.amsel<1>(0)
    %out = aie.masterset(DMA : 0, %select)
    %core = aie.masterset(Core : 0, %other)
    aie.packet_rules(South : 1) {
      aie.rule(3, 3, %select)
      aie.rule(1, 0, %other)
    }
  }
  aie.wire(%low : DMA, %below : DMA)
  aie.wire(%below : North, %above : South)
  aie.wire(%high : DMA, %above : DMA)
}
