// RUN: tilewright opt --split-input-file --verify-diagnostics %s

// Where errors are reported when it is not at the operation that is checked.

// A task answers for its descriptors.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<64xi32>) {
    %t = aiex.dma_configure_task(%shim, MM2S, 0) {
      // expected-error@+1 {{'aie.dma_bd' op Cannot give more than 4 dimensions for step sizes and wraps on this tile (got 5 dimensions).}}
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64 sizes = [1, 1, 1, 1, 64] strides = [0, 0, 0, 0, 1])
      aie.end
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>) {
    %t = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32> offset = 0 len = 8)
      aie.end
    ^unreached:
      aie.dma_bd(%a : memref<8xi32> offset = 0 len = 8)
      // expected-error@+1 {{Block ending in this terminator does not form a chain with entry block.}}
      aie.end
    }
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence() {
    // expected-note@+1 {{previous 'aiex.npu.create_scratchpad' here}}
    aiex.npu.create_scratchpad {size = 8 : ui32}
    // expected-error@+1 {{only one 'aiex.npu.create_scratchpad' is allowed per runtime sequence}}
    aiex.npu.create_scratchpad {size = 8 : ui32}
  }
}

// -----

aie.device(xcvc1902) {
  %a = aie.tile(1, 1)
  aiex.multicast(%a, DMA : 0) {
    // expected-error@+1 {{'aie.tile' op cannot be contained in a Multicast op}}
    %b = aie.tile(2, 1)
  }
}

// -----

aie.device(xcvc1902) {
  %a = aie.tile(1, 1)
  aiex.broadcast_packet(%a, DMA : 0) {
    // expected-error@+1 {{'aie.tile' op cannot be contained in a BroadcastPacket op}}
    %b = aie.tile(2, 1)
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence() {
    // expected-error@+1 {{requires attribute 'value'}}
    aiex.npu.write32 {address = 4 : ui32}
  }
}
