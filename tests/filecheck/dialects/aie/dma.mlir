// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %l1 = aie.buffer(%core) : memref<64xi32>
  %l2 = aie.buffer(%mem) : memref<64xi32>
  %l3 = aie.external_buffer {sym_name = "host"} : memref<64xi32>
  %empty = aie.lock(%mem, 0) {init = 1 : i32, sym_name = "empty"}
  %full = aie.lock(%mem, 1) {init = 0 : i32, sym_name = "full"}

  // Two channels; the first runs one descriptor for ever, the second one of them four times.
  // CHECK:      %mem_0_2 = aie.mem(%tile_0_2) {
  // CHECK-NEXT:   %0 = aie.dma_start(S2MM, 0, ^bb1, ^bb2)
  // CHECK-NEXT: ^bb1:
  // CHECK-NEXT:   aie.dma_bd_packet(4, 13)
  // CHECK-NEXT:   aie.dma_bd(%buffer_0_2 : memref<64xi32>)
  // CHECK-NEXT:   aie.next_bd ^bb1
  // CHECK-NEXT: ^bb2:
  // CHECK-NEXT:   %1 = aie.dma_start(MM2S, 1, ^bb3, ^bb4, repeat_count = 3)
  // CHECK-NEXT: ^bb3:
  // CHECK-NEXT:   aie.dma_bd(%buffer_0_2 : memref<64xi32> offset = 8 len = 8)
  // CHECK-NEXT:   aie.next_bd ^bb4
  // CHECK-NEXT: ^bb4:
  // CHECK-NEXT:   aie.end
  // CHECK-NEXT: }
  %0 = aie.mem(%core) {
    %in = aie.dma_start(S2MM, 0, ^first, ^next, repeat_count = 0)
  ^first:
    aie.dma_bd_packet(0x4, 0xD)
    aie.dma_bd(%l1 : memref<64xi32>)
    aie.next_bd ^first
  ^next:
    %out = aie.dma_start("MM2S", 1, ^second, ^end, repeat_count = 3)
  ^second:
    aie.dma_bd(%l1 : memref<64xi32> offset = 8 len = 8)
    aie.next_bd ^end
  ^end:
    aie.end
  }

  // The form with a region for each descriptor.
  // CHECK:      %memtile_dma_0_1 = aie.memtile_dma(%mem_tile_0_1) {
  // CHECK-NEXT:   %c1_i32 = arith.constant 1 : i32
  // CHECK-NEXT:   %feed = aie.dma(MM2S, 0) {loop = false, pad_value = 7 : i32, repeat_count = 2 : i32, sym_name = "feed"} [{
  // CHECK-NEXT:     aie.use_lock(%full, AcquireGreaterEqual, %c1_i32)
  // CHECK-NEXT:     aie.dma_bd(%buffer_0_1 : memref<64xi32> offset = 0 len = 32)
  // CHECK-NEXT:     aie.use_lock(%empty, Release, %c1_i32)
  // CHECK-NEXT:   }, {
  // CHECK-NEXT:     aie.use_lock(%full, AcquireGreaterEqual, %c1_i32)
  // CHECK-NEXT:     aie.dma_bd(%buffer_0_1 : memref<64xi32> offset = 32 len = 32)
  // CHECK-NEXT:     aie.use_lock(%empty, Release, %c1_i32)
  // CHECK-NEXT:   }]
  // CHECK-NEXT:   aie.end
  %1 = aie.memtile_dma(%mem) {
    %one = arith.constant 1 : i32
    %feed = aie.dma(MM2S, 0) {sym_name = "feed", loop = false, repeat_count = 2 : i32, pad_value = 7 : i32} [{
      aie.use_lock(%full, AcquireGreaterEqual, %one)
      aie.dma_bd(%l2 : memref<64xi32> offset = 0 len = 32)
      aie.use_lock(%empty, Release, %one)
    }, {
      aie.use_lock(%full, AcquireGreaterEqual, %one)
      aie.dma_bd(%l2 : memref<64xi32> offset = 32 len = 32)
      aie.use_lock(%empty, Release, %one)
    }]
    aie.end
  }

  // CHECK:      %shim_dma_0_0 = aie.shim_dma(%shim_noc_tile_0_0) {
  // CHECK-NEXT:   %0 = aie.dma_start(MM2S, 0, ^bb1, ^bb2)
  // CHECK-NEXT: ^bb1:
  // CHECK-NEXT:   aie.dma_bd(%host : memref<64xi32>) {burst_length = 128 : i32}
  %2 = aie.shim_dma(%shim) {
    %out = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    aie.dma_bd(%l3 : memref<64xi32>) {burst_length = 128 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}
// GENERIC: "aie.dma_start"()[^bb1, ^bb2] <{channel_dir = 0 : i32, channel_index = 0 : i32, repeat_count = 0 : i32}> : () -> i1
// GENERIC: "aie.dma_bd_packet"() <{packet_id = 13 : i32, packet_type = 4 : i32}> : () -> ()
// GENERIC: "aie.next_bd"()[^bb1] : () -> ()
// GENERIC: "aie.dma"() <{channel_dir = 1 : i32, channel_index = 0 : i32, loop = false, pad_value = 7 : i32, repeat_count = 2 : i32, sym_name = "feed"}> ({

// What stands in the attr-dict under the name of a property is that property, though the syntax has a place for it.
// CHECK: aie.dma_start(S2MM, 0, ^bb1, ^bb2, repeat_count = 5)
// GENERIC: "aie.dma_start"{{.*}}repeat_count = 5 : i32}> : () -> i1
aie.device(npu1) @in_attr_dict {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) : memref<16xi32>
  aie.mem(%tile) {
    aie.dma_start(S2MM, 0, ^transfer, ^end) {repeat_count = 5 : i32}
  ^transfer:
    aie.dma_bd(%buffer : memref<16xi32>)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}
