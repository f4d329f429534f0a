// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-assign-bd-ids %s

aie.device(npu1) {
  %core = aie.tile(0, 2)
  %a = aie.buffer(%core) : memref<4xi32>
  %dma = aie.mem(%core) {
    %0 = aie.dma_start(S2MM, 0, ^first, ^end)
  ^first:
    // expected-note@+1 {{which is this one}}
    aie.dma_bd(%a : memref<4xi32>) {bd_id = 3 : i32}
    aie.next_bd ^second
  ^second:
    // expected-error@+1 {{has the ID 3 of another buffer descriptor}}
    aie.dma_bd(%a : memref<4xi32>) {bd_id = 3 : i32}
    aie.next_bd ^first
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %a = aie.buffer(%mem) : memref<4xi32>
  %dma = aie.memtile_dma(%mem) {
    %0 = aie.dma_start(S2MM, 1, ^first, ^end)
  ^first:
    // expected-error@+1 {{has the ID 3, but its channel 1 reaches only 24 to 47}}
    aie.dma_bd(%a : memref<4xi32>) {bd_id = 3 : i32}
    aie.next_bd ^first
  ^end:
    aie.end
  }
}
