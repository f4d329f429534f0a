// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-lower-dynamic-bd-pool --tilewright-lint-queue-depth %s
// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-npu-dma-lowering=guards=full --canonicalize --cse --tilewright-lint-queue-depth %s

// A descriptor that goes back to its pool while its task is in flight is the next one to be taken.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @freed_too_early(%a: memref<64xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-warning@+1 {{a BD of shim tile (0, 0) may be rewritten while a task on S2MM 0 still uses it}}
      %task = aiex.dma_configure_task(%shim, S2MM, 0) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      } {issue_token = true}
      // expected-warning@+1 {{push of a BD on shim tile (0, 0) S2MM 0 may be dropped}}
      aiex.dma_start_task(%task)
      aiex.dma_free_task(%task)
    }
  }
}

// -----

// Freed once it is done, one or several rounds later, it may be used again.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @freed_in_time(%a: memref<64xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = aiex.dma_configure_task(%shim, S2MM, 0) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%first)
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (index) {
      %task = aiex.dma_configure_task(%shim, S2MM, 0) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%before)
      aiex.dma_free_task(%before)
      scf.yield %task : index
    }
    aiex.dma_await_task(%last)
    aiex.dma_free_task(%last)
  }
}
