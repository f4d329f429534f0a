// RUN: tilewright opt --split-input-file --aie-objectfifo-lower-dmas %s | filecheck %s

// Object by object, and in each segment by segment; an object is sent again as a whole. What drains waits for what is full; what fills makes up for all
// repetitions at once. A chain of counted rounds ends.
// CHECK-LABEL: @chains
// CHECK:       aie.memtile_dma
// CHECK-NEXT:  aie.dma_start(S2MM, 0, ^bb1, ^bb2)
// CHECK:       aie.use_lock(%e1, AcquireGreaterEqual, %[[TWO:.+]])
// CHECK-NEXT:  aie.dma_bd(%b : memref<8xi32> offset = 4 len = 4)
// CHECK:       aie.use_lock(%f1, Release, %{{.+}})
// CHECK-NEXT:  aie.next_bd ^bb1
// CHECK:       aie.dma_start(MM2S, 3, ^bb3, ^bb8, repeat_count = 4)
// CHECK:       aie.use_lock(%f0, AcquireGreaterEqual
// CHECK:       aie.use_lock(%f1, AcquireGreaterEqual
// CHECK:       aie.use_lock(%f0, AcquireGreaterEqual
// CHECK:       aie.use_lock(%f1, AcquireGreaterEqual
// CHECK-NEXT:  aie.dma_bd_packet(0, 5)
// CHECK-NEXT:  aie.dma_bd(%b : memref<8xi32> offset = 4 len = 6 sizes = [2, 2] strides = [2, 1] pad [<const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 1, const_pad_after = 0>])
// CHECK:       ^bb7:
// CHECK-NEXT:  aie.end
// CHECK-NOT:   aie.objectfifo.dma_endpoint
// CHECK-NOT:   aie.objectfifo.dangling_endpoint
aie.device(npu2) @chains {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %b = aie.buffer(%mem) {sym_name = "b"} : memref<8xi32>
  %e0 = aie.lock(%mem) {init = 2 : i32, sym_name = "e0"}
  %f0 = aie.lock(%mem) {init = 0 : i32, sym_name = "f0"}
  %e1 = aie.lock(%mem) {init = 2 : i32, sym_name = "e1"}
  %f1 = aie.lock(%mem) {init = 0 : i32, sym_name = "f1"}
  aie.objectfifo.pool @p(%mem) {depth = 1 : i32, buffers = [@b], repeatCount = 2 : i32,
    segments = [#aie.objectfifo_segment<offset = 0, size = 4, produceLock = @e0, consumeLock = @f0>,
                #aie.objectfifo_segment<offset = 4, size = 4, produceLock = @e1, consumeLock = @f1>]} : memref<8xi32>
  aie.objectfifo.dma_endpoint @in(%mem) fills @p {channelIndex = 0 : i32, segments = array<i32: 1>}
  aie.objectfifo.dma_endpoint @out(%mem) drains @p {channelIndex = 3 : i32, segments = array<i32: 0, 1>,
    iterCount = 5 : i32, packet = #aie.packet_info<pkt_type = 0, pkt_id = 5>,
    dimensions = #aie<bd_dim_layout_array_array[[], [<size = 2, stride = 2>, <size = 2, stride = 1>]]>,
    padDimensions = #aie<bd_pad_layout_array_array[[], [<const_pad_before = 0, const_pad_after = 0>,
                                                        <const_pad_before = 1, const_pad_after = 0>]]>}
  aie.objectfifo.dangling_endpoint @host(%shim) DMA {channelIndex = 0 : i32}
}

// -----

// One descriptor is repeated by the channel itself. Binary locks say by their value whose turn it is.
// CHECK-LABEL: @repeated
// CHECK:       aie.dma_start(MM2S, 0, ^bb1, ^bb2, repeat_count = 2)
// CHECK:       %[[FULL:.+]] = arith.constant 1 : i32
// CHECK-NEXT:  aie.use_lock(%l, Acquire, %[[FULL]])
// CHECK-NEXT:  aie.dma_bd(%b : memref<8xi32> offset = 0 len = 8)
// CHECK-NEXT:  %[[EMPTY:.+]] = arith.constant 0 : i32
// CHECK-NEXT:  aie.use_lock(%l, Release, %[[EMPTY]])
aie.device(xcvc1902) @repeated {
  %core = aie.tile(1, 2)
  %b = aie.buffer(%core) {sym_name = "b"} : memref<8xi32>
  %l = aie.lock(%core) {init = 0 : i32, sym_name = "l"}
  aie.objectfifo.pool @p(%core) {depth = 1 : i32, buffers = [@b], locks = [@l], repeatCount = 3 : i32} : memref<8xi32>
  aie.objectfifo.dma_endpoint @out(%core) drains @p {channelIndex = 0 : i32}
}
