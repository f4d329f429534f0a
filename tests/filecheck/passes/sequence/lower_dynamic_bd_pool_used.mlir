// RUN: tilewright opt --aie-lower-dynamic-bd-pool="avoid-used" --split-input-file %s | filecheck %s
// Descriptors 0 and 1 belong to the tile's own program, so those of tasks come from the others.

// CHECK: aiex.dma_bd_pool_pop(0, 2) {first = 2 : i32} : i32
// CHECK: aiex.dma_bd_pool_push(0, 2) bd_id %{{.+}} {first = 2 : i32} : i32

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
  aie.runtime_sequence(%yes: i1) {
    scf.if %yes {
      %task = aiex.dma_configure_task(%core, MM2S, 0) {
        aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8)
        aie.end
      }
      aiex.dma_start_task(%task)
      aiex.dma_free_task(%task)
    }
  }
}

// -----

// Those between used ones are taken when none behind them is left: what needs no more gets the same as without holes.

// CHECK: aiex.dma_bd_pool_pop(0, 2) {ids = array<i32: 14, 15, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12>} : i32
// CHECK: aiex.dma_bd_pool_push(0, 2) bd_id %{{.+}} {ids = array<i32: 14, 15, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12>} : i32

aie.device(npu2) {
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<8xi32>
  %program = aie.mem(%core) {
    %start = aie.dma_start(S2MM, 0, ^first, ^end)
  ^first:
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8) {bd_id = 4 : i32, next_bd_id = 13 : i32}
    aie.next_bd ^second
  ^second:
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8) {bd_id = 13 : i32, next_bd_id = 4 : i32}
    aie.next_bd ^first
  ^end:
    aie.end
  }
  aie.runtime_sequence(%yes: i1) {
    scf.if %yes {
      %task = aiex.dma_configure_task(%core, MM2S, 0) {
        aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8)
        aie.end
      }
      aiex.dma_start_task(%task)
      aiex.dma_free_task(%task)
    }
  }
}
