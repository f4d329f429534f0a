// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-objectfifo-lower-dmas %s

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.objectfifo.pool @p(%core) {depth = 1 : i32} : memref<4xi32>
  // expected-error@+1 {{has no channel; run --aie-objectfifo-allocate}}
  aie.objectfifo.dma_endpoint @e(%core) drains @p
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {sym_name = "b"} : memref<4xi32>
  aie.objectfifo.pool @p(%core) {depth = 1 : i32, buffers = [@b],
    segments = [#aie.objectfifo_segment<offset = 0, size = 4, produceLock = @b, consumeLock = @b>]} : memref<4xi32>
  // expected-error@+1 {{works through a pool with a lock @b, which there is not}}
  aie.objectfifo.dma_endpoint @e(%core) drains @p {channelIndex = 0 : i32}
}
