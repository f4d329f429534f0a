// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-objectfifo-verify %s

// All of each object is filled and drained once, and each stream leads somewhere.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo.pool @p(%mem) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 3>,
                                                             #aie.objectfifo_segment<offset = 3, size = 5>]} : memref<8xi32>
  aie.objectfifo.dma_endpoint @in(%mem) fills @p {segments = array<i32: 0, 1>}
  aie.objectfifo.dma_endpoint @low(%mem) drains @p {segments = array<i32: 0>}
  aie.objectfifo.dma_endpoint @high(%mem) drains @p {segments = array<i32: 1>}
  aie.objectfifo.dangling_endpoint @from(%shim) DMA
  aie.objectfifo.dangling_endpoint @to(%shim) DMA
  aie.objectfifo.dangling_endpoint @also_to(%shim) DMA
  aie.objectfifo.flow from @from to [@in]
  aie.objectfifo.flow from @low to [@to]
  aie.objectfifo.flow from @high to [@also_to]
}

// -----

aie.device(npu1) {
  %mem = aie.tile(0, 1)
  // expected-error@+1 {{segments must be contiguous, but segment at offset 4 follows 3}}
  aie.objectfifo.pool @p(%mem) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 3>,
                                                             #aie.objectfifo_segment<offset = 4, size = 4>]} : memref<8xi32>
}

// -----

aie.device(npu1) {
  %mem = aie.tile(0, 1)
  // expected-error@+1 {{segments cover 3 of 8 elements}}
  aie.objectfifo.pool @p(%mem) {depth = 2 : i32, segments = [#aie.objectfifo_segment<offset = 0, size = 3>]} : memref<8xi32>
}

// -----

aie.device(npu1) {
  %mem = aie.tile(0, 1)
  // expected-error@+1 {{segment 0 has no drainer}}
  aie.objectfifo.pool @p(%mem) {depth = 2 : i32} : memref<8xi32>
  aie.objectfifo.dma_endpoint @in(%mem) fills @p
}

// -----

aie.device(npu1) {
  %mem = aie.tile(0, 1)
  // expected-error@+1 {{segment 0 has no filler}}
  aie.objectfifo.pool @p(%mem) {depth = 2 : i32} : memref<8xi32>
  aie.objectfifo.dma_endpoint @out(%mem) drains @p
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-error@+1 {{segment 0 is drained by more than one endpoint}}
  aie.objectfifo.pool @p(%core) {depth = 2 : i32} : memref<8xi32>
  aie.objectfifo.core_endpoint @in(%core) fills @p
  aie.objectfifo.core_endpoint @one(%core) drains @p
  aie.objectfifo.core_endpoint @two(%core) drains @p
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.objectfifo.pool @p(%core) {depth = 2 : i32} : memref<8xi32>
  aie.objectfifo.core_endpoint @in(%core) fills @p
  // expected-error@+1 {{is not connected by any flow}}
  aie.objectfifo.dma_endpoint @out(%core) drains @p
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo.pool @p(%core) {depth = 2 : i32, initValues = []} : memref<8xi32>
  // expected-error@+1 {{appears in 2 flows; an endpoint drives one channel}}
  aie.objectfifo.dma_endpoint @out(%core) drains @p
  aie.objectfifo.dangling_endpoint @a(%shim) DMA
  aie.objectfifo.flow from @out to [@a]
  aie.objectfifo.flow from @out to [@a]
}
