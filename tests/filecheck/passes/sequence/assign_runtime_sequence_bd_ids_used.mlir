// RUN: tilewright opt --aie-assign-runtime-sequence-bd-ids="avoid-used" %s | filecheck %s
// Descriptors 0 and 1 belong to the tile's own program, so tasks get others.

// CHECK: aiex.dma_configure_task
// CHECK: aie.dma_bd(%{{.+}} : memref<8xi32> offset = 0 len = 8) {bd_id = 2 : i32}

aie.device(npu2) {
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  %program = aie.mem(%core) {
    %start = aie.dma_start(S2MM, 0, ^first, ^end)
  ^first:
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8) {bd_id = 0 : i32, next_bd_id = 1 : i32}
    aie.next_bd ^second
  ^second:
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8) {bd_id = 1 : i32, next_bd_id = 0 : i32}
    aie.next_bd ^first
  ^end:
    aie.end
  }
  aie.runtime_sequence() {
    %task = aiex.dma_configure_task(%core, MM2S, 0) {
      aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8)
      aie.end
    }
    aiex.dma_start_task(%task)
    aiex.dma_free_task(%task)
  }
}
