// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-substitute-shim-dma-allocations %s

aie.device(npu1) {
  aie.runtime_sequence() {
    // expected-error@+1 {{'aiex.dma_configure_task_for' op no shim DMA allocation found for symbol}}
    %t = aiex.dma_configure_task_for @absent {
      aie.end
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.logical_tile<ShimNOCTile>(?, ?)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence() {
    // expected-error@+1 {{'aiex.dma_configure_task_for' op shim DMA allocation must reference a valid TileOp}}
    %t = aiex.dma_configure_task_for @in {
      aie.end
    }
  }
}
