// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-materialize-bd-chains %s

aie.device(npu1) {
  aie.bd_chain @chain(%a: memref<8xi32>) {
    aie.dma_bd(%a : memref<8xi32>)
    aie.end
  }
  aie.runtime_sequence(%x: memref<8xi32>) {
    // expected-error@+1 {{no shim DMA allocation found for symbol}}
    %task = aiex.dma_start_bd_chain_for @chain(%x) : (memref<8xi32>) for @in
  }
}

// -----

aie.device(npu1) {
  %shim = aie.logical_tile<ShimNOCTile>(?, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.bd_chain @chain(%a: memref<8xi32>) {
    aie.dma_bd(%a : memref<8xi32>)
    aie.end
  }
  aie.runtime_sequence(%x: memref<8xi32>) {
    // expected-error@+1 {{shim DMA allocation must reference a valid TileOp}}
    %task = aiex.dma_start_bd_chain_for @chain(%x) : (memref<8xi32>) for @in
  }
}

// -----

// What a chain moves is known to be out of reach only once it is known which tile runs it.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  // expected-error@+1 {{in Column 0 and Row 2 is accessed from an unreachable tile in Column 0 and Row 0}}
  %buffer = aie.buffer(%core) : memref<8xi32>
  aie.bd_chain @chain() {
    // expected-note@+1 {{user}}
    aie.dma_bd(%buffer : memref<8xi32>)
    aie.end
  }
  aie.runtime_sequence() {
    %task = aiex.dma_start_bd_chain @chain() : () on (%shim, MM2S, 0)
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.bd_chain @chain(%a: memref<4xi32>) {
    aie.dma_bd(%a : memref<4xi32>)
    aie.end
  }
  aie.runtime_sequence(%x: memref<8xi32>) {
    // expected-error@+1 {{Argument 1 types mismatch: expected 'memref<4xi32>' but got 'memref<8xi32>'}}
    %task = aiex.dma_start_bd_chain_for @chain(%x) : (memref<8xi32>) for @in
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence(%x: memref<8xi32>) {
    // expected-error@+1 {{symbol does not reference valid BD chain}}
    %task = aiex.dma_start_bd_chain_for @chain(%x) : (memref<8xi32>) for @in
  }
}
