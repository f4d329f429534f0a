// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-assign-runtime-sequence-bd-ids %s

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>) {
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>) {bd_id = 5 : i32}
      aie.end
    }
    // expected-error@+1 {{Specified buffer descriptor ID 5 is already in use. Emit an aiex.dma_free_task operation to reuse BDs.}}
    %second = aiex.dma_configure_task(%shim, MM2S, 1) {
      aie.dma_bd(%a : memref<8xi32>) {bd_id = 5 : i32}
      aie.end
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>) {
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    aiex.dma_free_task(%task)
    // expected-error@+1 {{frees buffer descriptor ID 0, which is not currently in use; it was already completed by an earlier aiex.dma_free_task or aiex.dma_await_task}}
    aiex.dma_free_task(%task)
  }
}

// -----

// Nothing was started that could issue the token.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>) {
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    } {issue_token = true}
    // expected-error@+1 {{awaits a task-completion token on a channel where no outstanding token is guaranteed to have been produced}}
    aiex.dma_await_task(%task)
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence(%a: memref<8xi32>) {
    // expected-note@+1 {{Lower this operation first using the --aie-substitute-shim-dma-allocations pass.}}
    %task = aiex.dma_configure_task_for @in {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    // expected-error@+1 {{does not reference a valid configure_task operation.}}
    aiex.dma_free_task(%task)
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error@+1 {{Runtime-valued control flow in a runtime sequence is not supported by this static BD-ID allocation pass.}}
    scf.for %i = %c0 to %n step %c1 {
    }
  }
}
