// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-objectfifo-allocate %s

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.objectfifo.pool @p(%core) {depth = 1 : i32} : memref<4xi32>
  // expected-error@+1 {{pinned MM2S DMA channel 2 is out of range or already in use on this tile}}
  aie.objectfifo.dma_endpoint @e(%core) drains @p {channelIndex = 2 : i32}
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-error@+1 {{a stream port names its own channel}}
  aie.objectfifo.dangling_endpoint @e(%core) Core
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{number of output DMA channel exceeded!}}
  %core = aie.tile(0, 2)
  aie.objectfifo.pool @p(%core) {depth = 1 : i32} : memref<4xi32>
  aie.objectfifo.dma_endpoint @a(%core) drains @p
  aie.objectfifo.dma_endpoint @b(%core) drains @p
  aie.objectfifo.dma_endpoint @c(%core) drains @p
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-error@+1 {{needs a lock that counts to 64, the limit is 63}}
  aie.objectfifo.pool @p(%core) {depth = 2 : i32, repeatCount = 32 : i32,
    segments = [#aie.objectfifo_segment<offset = 0, size = 4>]} : memref<4xi32>
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.objectfifo.pool @p(%core) {depth = 1 : i32} : memref<4xi32>
  aie.objectfifo.dma_endpoint @a(%core) drains @p
  aie.objectfifo.dma_endpoint @b(%core) fills @p
  // expected-error@+1 {{packet_id 32 is out of range (max 31)}}
  aie.objectfifo.flow from @a to [@b] {packet, packet_id = 32 : i8}
}

// -----

aie.device(npu1) {
  aie.runtime_sequence() {
    // expected-error@+1 {{objectFIFO 'of' has no resident core/mem DMA channels or locks to re-arm}}
    aiex.dma_channel_reset_for(@of)
  }
  %shim = aie.tile(0, 0)
  aie.objectfifo.dangling_endpoint @of(%shim) DMA
}
