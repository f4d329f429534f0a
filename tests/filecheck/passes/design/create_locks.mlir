// RUN: tilewright opt --split-input-file --aie-create-locks %s | filecheck %s

// A core hands a buffer to the DMA of its tile, and that to the core again: a lock for each of the two, in the tile.
// CHECK-LABEL: @one_tile
// CHECK:       %[[TILE:.+]] = aie.tile(1, 3)
// CHECK-NEXT:  %[[LAST:.+]] = aie.lock(%[[TILE]], 2) {init = 0 : i32}
// CHECK-NEXT:  aie.lock(%[[TILE]], 0) {init = 0 : i32}
// CHECK-NEXT:  aie.lock(%[[TILE]], 1)
// CHECK:       aiex.useToken @t(Acquire, 1)
aie.device(xcvc1902) @one_tile {
  %tile = aie.tile(1, 3)
  %own = aie.lock(%tile, 1)
  %buffer = aie.buffer(%tile) : memref<8xi32>
  aiex.token(0) {sym_name = "t"}
  %mem = aie.mem(%tile) {
    %start = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    aiex.useToken @t(Acquire, 1)
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8)
    aiex.useToken @t(Release, 2)
    aie.next_bd ^end
  ^end:
    aie.end
  }
  %core = aie.core(%tile) {
    aiex.useToken @t(Acquire, 0)
    aiex.useToken @t(Release, 1)
    aiex.useToken @t(Acquire, 2)
    aiex.useToken @t(Release, 3)
    aie.end
  }
}

// -----

// Two cores have it in the memory that both reach.
// CHECK-LABEL: @neighbours
// CHECK:       %[[BELOW:.+]] = aie.tile(2, 2)
// CHECK-NEXT:  aie.lock(%[[BELOW]], 0)
// CHECK-NOT:   aie.lock
aie.device(npu1) @neighbours {
  %above = aie.tile(2, 3)
  %below = aie.tile(2, 2)
  aiex.token(0) {sym_name = "t"}
  %first = aie.core(%above) {
    aiex.useToken @t(Acquire, 0)
    aiex.useToken @t(Release, 1)
    aie.end
  }
  %second = aie.core(%below) {
    aiex.useToken @t(Acquire, 1)
    aiex.useToken @t(Release, 2)
    aie.end
  }
}
