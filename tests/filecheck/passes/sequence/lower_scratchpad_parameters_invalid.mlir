// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-lower-scratchpad-parameters %s

// expected-error@+1 {{parameter 'both' is used both as an aiex.read_scratchpad_parameter source (core) and as a DMA offset_parameter (addr); a parameter must have a single kind}}
aiex.scratchpad_parameter @both : i32
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  %core = aie.core(%tile) {
    // expected-note@+1 {{a core reads it here}}
    %value = aiex.read_scratchpad_parameter @both : i32
    aie.end
  }
  aie.runtime_sequence(%x: memref<8xi32>) {
    %task = aiex.dma_configure_task_for @in {
      // expected-note@+1 {{it is an offset here}}
      aie.dma_bd(%x : memref<8xi32>) {offset_parameter = @both}
      aie.end
    }
  }
}

// -----

// expected-note@+1 {{Parameter declared here.}}
aiex.scratchpad_parameter @begin : i8
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence(%x: memref<8xi32>) {
    // expected-error@+1 {{offset_parameter 'begin' must have type i32, got i8.}}
    aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @in, offset_parameter = @begin} : memref<8xi32>
  }
}

// -----

aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence(%x: memref<8xi32>) {
    // expected-error@+1 {{offset_parameter 'begin' not found. Declare it at module scope with aiex.scratchpad_parameter.}}
    aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @in, offset_parameter = @begin} : memref<8xi32>
  }
}

// -----

aiex.scratchpad_parameter @wide : i64
aie.device(npu2) {
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    // expected-error@+1 {{parameters of type 'i64' are not supported; use bf16 or an integer of up to 32 bits}}
    %value = aiex.read_scratchpad_parameter @wide : i64
    aie.end
  }
}
