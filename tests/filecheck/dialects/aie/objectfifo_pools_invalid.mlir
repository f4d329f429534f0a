// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{binary locks, which this device has no use for}}
  aie.objectfifo.pool @p(%t) {depth = 1 : i32, locks = [@l]} : memref<4xi32>
}

// -----

aie.device(xcvc1902) {
  %t = aie.tile(1, 2)
  // expected-error@+1 {{expects one lock per buffer}}
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, locks = [@l]} : memref<4xi32>
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{expects 'depth' buffers}}
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, buffers = [@l]} : memref<4xi32>
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{expects at least one segment}}
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = []} : memref<4xi32>
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{segments must be ordered by increasing offset}}
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 2, size = 2>, #aie.objectfifo_segment<offset = 0, size = 2>]} : memref<4xi32>
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{has segments that are no #aie.objectfifo_segment}}
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = [4]} : memref<4xi32>
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{names its buffers and locks by symbols}}
  aie.objectfifo.pool @p(%t) {depth = 1 : i32, buffers = [4]} : memref<4xi32>
}

// -----

aie.device(xcvc1902) {
  %t = aie.tile(1, 2)
  // expected-error@+1 {{segment locks are counting locks, which this device has no use for}}
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 4, produceLock = @l>]} : memref<4xi32>
}

// -----

aie.device(xcvc1902) {
  %t = aie.tile(1, 2)
  // expected-error@+1 {{multi-segment pools are unsupported on binary lock architectures}}
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 2>, #aie.objectfifo_segment<offset = 2, size = 2>]} : memref<4xi32>
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{references undefined pool 'q'}}
  aie.objectfifo.dma_endpoint @e(%t) fills @q
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 16>,
                                                          #aie.objectfifo_segment<offset = 16, size = 16>]} : memref<32xi32>
  // expected-error@+1 {{must list segments explicitly for a multi-segment pool}}
  aie.objectfifo.dma_endpoint @e(%t) fills @p
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 16>,
                                                          #aie.objectfifo_segment<offset = 16, size = 16>]} : memref<32xi32>
  // expected-error@+1 {{expects at least one segment index}}
  aie.objectfifo.core_endpoint @e(%t) fills @p {segments = array<i32>}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 16>,
                                                          #aie.objectfifo_segment<offset = 16, size = 16>]} : memref<32xi32>
  // expected-error@+1 {{segment index 2 out of range}}
  aie.objectfifo.core_endpoint @e(%t) fills @p {segments = array<i32: 2>}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 16>,
                                                          #aie.objectfifo_segment<offset = 16, size = 16>]} : memref<32xi32>
  // expected-error@+1 {{segment indices must be strictly increasing}}
  aie.objectfifo.core_endpoint @e(%t) fills @p {segments = array<i32: 1, 0>}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 2>,
      #aie.objectfifo_segment<offset = 2, size = 1>, #aie.objectfifo_segment<offset = 3, size = 1>]} : memref<4xi32>
  // expected-error@+1 {{a core endpoint's segments must be contiguous}}
  aie.objectfifo.core_endpoint @e(%t) fills @p {segments = array<i32: 0, 2>}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32} : memref<16xi32>
  // expected-error@+1 {{dimensions has 2 entries for 1 selected segments}}
  aie.objectfifo.dma_endpoint @e(%t) fills @p {dimensions = #aie<bd_dim_layout_array_array[[], []]>}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32} : memref<16xi32>
  // expected-error@+1 {{padDimensions is only valid on a draining endpoint}}
  aie.objectfifo.dma_endpoint @e(%t) fills @p {padDimensions = #aie<bd_pad_layout_array_array[[]]>}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32} : memref<16xi32>
  // expected-error@+1 {{nonzero padValue requires a non-empty padDimensions entry}}
  aie.objectfifo.dma_endpoint @e(%t) drains @p {padValue = 1 : i32}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32} : memref<16xi32>
  // expected-error@+1 {{padDimensions entry 0 requires dimensions for the same segment}}
  aie.objectfifo.dma_endpoint @e(%t) drains @p {padDimensions = #aie<bd_pad_layout_array_array[[<const_pad_before = 1, const_pad_after = 0>]]>}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  aie.objectfifo.pool @p(%t) {depth = 2 : i32} : memref<16xi32>
  // expected-error@+1 {{dimensions entry 0 exceeds selected segment 0 of size 16}}
  aie.objectfifo.dma_endpoint @e(%t) drains @p {dimensions = #aie<bd_dim_layout_array_array[[<size = 17, stride = 1>]]>}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{a DMA or PLIO end the runtime drives is on a shim}}
  aie.objectfifo.dangling_endpoint @e(%t) DMA
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 2)
  // expected-error@+1 {{bundle must be DMA, PLIO or Core}}
  aie.objectfifo.dangling_endpoint @e(%t) North
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 0)
  aie.objectfifo.dangling_endpoint @e(%t) DMA
  // expected-error@+1 {{expects at least one destination}}
  aie.objectfifo.flow from @e to []
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 0)
  aie.objectfifo.dangling_endpoint @e(%t) DMA
  // expected-error@+1 {{packet_id is only meaningful on a packet flow}}
  aie.objectfifo.flow from @e to [@e] {packet_id = 1 : i8}
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 0)
  // expected-error@+1 {{source 'e' is not an endpoint}}
  aie.objectfifo.flow from @e to [@e]
}

// -----

aie.device(npu1) {
  %t = aie.tile(0, 0)
  aie.objectfifo.dangling_endpoint @e(%t) DMA
  // expected-error@+1 {{destination 'f' is not an endpoint}}
  aie.objectfifo.flow from @e to [@f]
}
