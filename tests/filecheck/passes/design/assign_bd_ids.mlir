// RUN: tilewright opt --split-input-file --aie-assign-bd-ids %s | filecheck %s

// Numbers that the program gives are kept, others are the lowest free ones. Even channels of a mem tile reach the lower
// half of its descriptors, odd ones the upper half. What follows is where `next_bd` leads, past blocks without
// descriptors.
// CHECK-LABEL: aie.device(npu1)
aie.device(npu1) {
  %core = aie.tile(0, 2)
  %mem = aie.tile(0, 1)
  %a = aie.buffer(%core) : memref<4xi32>
  %b = aie.buffer(%mem) : memref<4xi32>
  %dma = aie.mem(%core) {
    %in = aie.dma_start(S2MM, 0, ^first, ^out)
  ^out:
    %out = aie.dma_start(MM2S, 0, ^last, ^end)
  ^first:
    // CHECK: aie.dma_bd(%{{.*}}) {bd_id = 1 : i32, next_bd_id = 0 : i32}
    aie.dma_bd(%a : memref<4xi32>)
    aie.next_bd ^jump
  ^jump:
    aie.next_bd ^second
  ^second:
    // CHECK: aie.dma_bd(%{{.*}}) {bd_id = 0 : i32, next_bd_id = 1 : i32}
    aie.dma_bd(%a : memref<4xi32>) {bd_id = 0 : i32}
    aie.next_bd ^first
  ^last:
    // CHECK: aie.dma_bd(%{{.*}}) {bd_id = 2 : i32}
    aie.dma_bd(%a : memref<4xi32>)
    aie.next_bd ^end
  ^end:
    aie.end
  }
  %memtile_dma = aie.memtile_dma(%mem) {
    %0 = aie.dma_start(S2MM, 1, ^odd, ^1)
  ^1:
    %1 = aie.dma_start(MM2S, 2, ^even, ^2)
  ^2:
    %2 = aie.dma_start(MM2S, 3, ^other, ^end)
  ^odd:
    // CHECK: aie.dma_bd(%{{.*}}) {bd_id = 24 : i32, next_bd_id = 24 : i32}
    aie.dma_bd(%b : memref<4xi32>)
    aie.next_bd ^odd
  ^even:
    // CHECK: aie.dma_bd(%{{.*}}) {bd_id = 0 : i32, next_bd_id = 0 : i32}
    aie.dma_bd(%b : memref<4xi32>)
    aie.next_bd ^even
  ^other:
    // CHECK: aie.dma_bd(%{{.*}}) {bd_id = 25 : i32, next_bd_id = 25 : i32}
    aie.dma_bd(%b : memref<4xi32>)
    aie.next_bd ^other
  ^end:
    aie.end
  }
}

// -----

// A DMA with regions: each descriptor leads to the next, the last to the first unless the channel stops there.
// CHECK-LABEL: aie.device(npu2)
aie.device(npu2) {
  %core = aie.tile(0, 2)
  %a = aie.buffer(%core) : memref<4xi32>
  %lock = aie.lock(%core)
  %dma = aie.mem(%core) {
    %0 = aie.dma(S2MM, 0) [{
      %c1 = arith.constant 1 : i32
      aie.use_lock(%lock, AcquireGreaterEqual, %c1)
      // CHECK: aie.dma_bd(%{{.*}}) {bd_id = 0 : i32, next_bd_id = 1 : i32}
      aie.dma_bd(%a : memref<4xi32>)
      aie.use_lock(%lock, Release, %c1)
    }, {
      %c1 = arith.constant 1 : i32
      aie.use_lock(%lock, AcquireGreaterEqual, %c1)
      // CHECK: aie.dma_bd(%{{.*}}) {bd_id = 1 : i32, next_bd_id = 0 : i32}
      aie.dma_bd(%a : memref<4xi32>)
      aie.use_lock(%lock, Release, %c1)
    }]
    %1 = aie.dma(MM2S, 0) {loop = false} [{
      %c1 = arith.constant 1 : i32
      aie.use_lock(%lock, AcquireGreaterEqual, %c1)
      // CHECK: aie.dma_bd(%{{.*}}) {bd_id = 2 : i32}
      aie.dma_bd(%a : memref<4xi32>)
      aie.use_lock(%lock, Release, %c1)
    }]
    aie.end
  }
}

// -----

// A binding learns the first descriptor and the repeat count of each of its channels, if all of them are known.
// CHECK-LABEL: aie.device(npu2_1col)
// CHECK: aie.objectfifo_rearm_binding @known {{.*}}head_bd_ids = array<i32: 0>, {{.*}}repeat_counts = array<i32: 2>
// CHECK: aie.objectfifo_rearm_binding @unknown
// CHECK-NOT: head_bd_ids
aie.device(npu2_1col) {
  %core = aie.tile(0, 2)
  %a = aie.buffer(%core) : memref<4xi32>
  %dma = aie.mem(%core) {
    %0 = aie.dma_start(S2MM, 0, ^first, ^end, repeat_count = 2)
  ^first:
    aie.dma_bd(%a : memref<4xi32>)
    aie.next_bd ^first
  ^end:
    aie.end
  }
  aie.objectfifo_rearm_binding @known channels(%core : index) locks()
    {channel_dirs = array<i32: 0>, channel_indices = array<i32: 0>, lock_inits = array<i32>}
  aie.objectfifo_rearm_binding @unknown channels(%core, %core : index, index) locks()
    {channel_dirs = array<i32: 0, 1>, channel_indices = array<i32: 0, 0>, lock_inits = array<i32>}
}
