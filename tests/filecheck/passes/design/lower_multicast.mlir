// RUN: tilewright opt --aie-lower-multicast %s | filecheck %s

// A stream to several ports is a flow to each.
// CHECK-NOT: aiex.multicast
// CHECK:     aie.flow(%tile_0_2, DMA : 0, %tile_0_3, DMA : 1)
// CHECK:     aie.flow(%tile_0_2, DMA : 0, %tile_0_4, Core : 0)
aie.device(npu1) {
  %from = aie.tile(0, 2)
  %one = aie.tile(0, 3)
  %other = aie.tile(0, 4)
  aiex.multicast(%from, DMA : 0) {
    aiex.multi_dest<%one, DMA : 1>
    aiex.multi_dest<%other, Core : 0>
  }
}
