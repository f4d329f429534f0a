// RUN: tilewright opt --split-input-file --verify-diagnostics %s

// What cannot be said of one place at a time is in tests/unit/dialects/test_aie_dma_bd.py; here are the errors that
// point at more than the descriptor, or come from its syntax.

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %0 = aie.mem(%tile) {
    %a = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    %local = memref.alloca() : memref<8xi32>
    // expected-error@+1 {{'aie.dma_bd' op BDs only support BufferOp or ExternalBufferOp operands.}}
    aie.dma_bd(%local : memref<8xi32>)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 3)
  %south = aie.tile(0, 2)
  %buffer = aie.buffer(%south) : memref<8xi32>
  %0 = aie.mem(%tile) {
    %a = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    // expected-error@+1 {{'aie.dma_bd' op Core tile DMAs can only access a buffer in the same tile.}}
    aie.dma_bd(%buffer : memref<8xi32>)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%a: memref<8xi32>) {
    // expected-error@+1 {{a pad value belongs to the channel: write it on the descriptor's aie.dma_start}}
    aie.dma_bd(%a : memref<8xi32>, 0, 8, [<size = 8, stride = 1>], [<const_pad_before = 0, const_pad_after = 0>], pad_value = 3)
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%a: memref<8xi32>) {
    // expected-error@+1 {{struct is missing required parameter: pkt_id}}
    aie.dma_bd(%a : memref<8xi32>) {packet = #aie.packet_info<pkt_type = 0>}
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%a: memref<8xi32>) {
    // expected-error@+1 {{expected SSA value or integer}}
    aie.dma_bd(%a : memref<8xi32> sizes = [?] strides = [1])
  }
}
