// RUN: tilewright opt --convert-aie-to-transaction %s | filecheck %s
// A walk of one element that is shorter than a word moves consecutive words: its descriptor has no wraps.

aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %b = aie.buffer(%mem) {address = 0 : i32} : memref<8xbf16>
  aie.memtile_dma(%mem) {
    %0 = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    aie.dma_bd(%b : memref<8xbf16> offset = 0 len = 8 sizes = [1, 1] strides = [2, 1]) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// CHECK: memref.global "private" constant @{{.*}} : memref<8xi32> = dense<[4, 131072, 0, 0, 0, 0, 0, -2147483648]>
