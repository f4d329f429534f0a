// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-materialize-runtime-sequences %s

// expected-note@+1 {{This device does not have a 'missing' runtime sequence}}
aie.device(npu1) @other {
}
aie.device(npu1) {
  aie.runtime_sequence() {
    aiex.configure @other {
      // expected-error@+1 {{No such runtime sequence for device 'other': 'missing'}}
      aiex.run @missing() : ()
    }
  }
}

// -----

aie.device(npu1) @other {
  aie.runtime_sequence(%x: memref<4xi32>) {
  }
}
aie.device(npu1) {
  aie.runtime_sequence(%x: memref<8xi32>) {
    aiex.configure @other {
      // expected-error@+1 {{argument 0 type mismatch: expected 'memref<4xi32>' but got 'memref<8xi32>'}}
      aiex.run @sequence(%x) : (memref<8xi32>)
    }
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-note@+1 {{this buffer has no address}}
  %buffer = aie.buffer(%core) {sym_name = "buffer"} : memref<4xi32>
  aie.runtime_sequence(%value: i32) {
    // expected-error@+1 {{Unallocated buffer; fixed addresses are required before runtime sequence materialization.}}
    aiex.npu.rtp_write(@buffer, 0, %value) : i32
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @fifo(%shim, {%core}, 1 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.runtime_sequence(%x: memref<8xi32>) {
    // expected-error@+1 {{references symbol 'fifo' which must be either a ShimDMAAllocationOp, DeviceOp, RuntimeSequenceOp, BufferOp, ObjectFifoRearmBindingOp, or GlobalOp, but got: aie.objectfifo}}
    aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @fifo} : memref<8xi32>
  }
}

// -----

aie.device(npu1) {
  // expected-note@+1 {{the caller's tile}}
  %tile = aie.tile(0, 2) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 1>}
  %core = aie.core(%tile) {
    aie.end
  }
  aie.runtime_sequence() {
    aiex.configure @other {
      // expected-error@+1 {{aie.tile(0, 2) already exists in the device with different attributes}}
      aiex.run @sequence() : ()
    }
  }
}
aie.device(npu1) @other {
  // expected-note@+1 {{the tile of the sequence that is run}}
  %tile = aie.tile(0, 2)
  aie.runtime_sequence() {
    aiex.core_reset(%tile)
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence() {
    aiex.configure @other {
      // expected-error@+1 {{Referenced SSA value defined by unsupported operation type: aie.buffer. Currently only aie.tile and aie.lock operations are supported.}}
      aiex.run @sequence() : ()
    }
  }
}
aie.device(npu1) @other {
  %tile = aie.tile(0, 2)
  // expected-note@+1 {{the value is defined here}}
  %buffer = aie.buffer(%tile) : memref<4xi32>
  aie.runtime_sequence() {
    %task = aiex.dma_configure_task(%tile, MM2S, 0) {
      aie.dma_bd(%buffer : memref<4xi32>)
      aie.end
    }
  }
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{Runtime sequence call graph contains a cycle}}
  aie.runtime_sequence() {
    aiex.configure @other {
      aiex.run @sequence() : ()
    }
  }
}
aie.device(npu1) @other {
  aie.runtime_sequence() {
    aiex.configure @other {
      aiex.run @sequence() : ()
    }
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence() {
    // expected-error@+1 {{create_scratchpad size mismatch after inlining: 4 != 8}}
    aiex.npu.create_scratchpad {size = 4 : ui32}
    aiex.configure @other {
      aiex.run @sequence() : ()
    }
  }
}
aie.device(npu1) @other {
  aie.runtime_sequence() {
    // expected-note@+1 {{the other one is here}}
    aiex.npu.create_scratchpad {size = 8 : ui32}
  }
}
