// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-lower-dma-channel-reset %s

aie.device(npu2) {
  aie.runtime_sequence() {
    // expected-error@+1 {{could not resolve 'fifo' to an aie.objectfifo_rearm_binding; run --aie-objectFifo-stateful-transform first}}
    aiex.dma_channel_reset_for(@fifo)
  }
}

// -----

aie.device(npu2) {
  %core = aie.tile(0, 2)
  aie.objectfifo_rearm_binding @fifo channels(%core : index) locks()
    {channel_dirs = array<i32: 0>, channel_indices = array<i32: 0>, lock_inits = array<i32>}
  aie.runtime_sequence() {
    // expected-error@+1 {{objectFIFO re-arm binding 'fifo' has no head_bd_ids/repeat_counts; run --aie-assign-bd-ids before this pass, or set them on the binding}}
    aiex.dma_channel_reset_for(@fifo)
  }
}
