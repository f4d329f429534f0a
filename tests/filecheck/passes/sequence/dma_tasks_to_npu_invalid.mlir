// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-dma-tasks-to-npu %s

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<32xi8>) {
    // expected-note@+1 {{Error encountered while lowering this BD configuration.}}
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      // expected-error@+2 {{Cannot lower buffer descriptor without assigned ID.}}
      // expected-note@+1 {{Run the `--aie-assign-runtime-sequence-bd-ids` pass first or manually assign an ID to this buffer descriptor.}}
      aie.dma_bd(%a : memref<32xi8>)
      aie.end
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<32xi8>) {
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      // expected-error@+1 {{Offset must be aligned to 4 byte boundary.}}
      aie.dma_bd(%a : memref<32xi8> offset = 2 len = 4) {bd_id = 0 : i32}
      aie.end
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<32xi8>) {
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      // expected-error@+2 {{BD length is 32 bytes. Lowest three dimensions of data layout transformation would result in transfer of 16 bytes. }}
      // expected-note@+1 {{Do not include the highest dimension size in transfer length, as this is the BD repeat count.}}
      aie.dma_bd(%a : memref<32xi8> offset = 0 len = 32 sizes = [2, 8] strides = [16, 1]) {bd_id = 0 : i32}
      aie.end
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<32xi8>) {
    // expected-note@+1 {{Consider adding attribute `issue_token=true` here.}}
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<32xi8>) {bd_id = 0 : i32}
      aie.end
    }
    // expected-error@+2 {{Cannot wait on a BD that is not configured to issue a token.}}
    // expected-error@+1 {{failed to legalize operation 'aiex.dma_await_task' that was explicitly marked illegal}}
    aiex.dma_await_task(%task)
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.runtime_sequence(%a: memref<32xi8>) {
    %task = aiex.dma_configure_task(%core, MM2S, 0) {
      // expected-error@+1 {{DDR memory (runtime input arguments) can only be referred to on shim tiles.}}
      aie.dma_bd(%a : memref<32xi8>) {bd_id = 0 : i32}
      aie.end
    }
  }
}
