// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-lower-dynamic-bd-pool --tilewright-lint-queue-depth=likely-only %s
// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-npu-dma-lowering=guards=full --canonicalize --cse --tilewright-lint-queue-depth=likely-only %s

// Two rows of a product, of which the second may not be there: whichever way was taken, the descriptors that the next
// turn takes from the pool differ from each other, and what comes back paces what goes in.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @paced_by_results(%a: memref<64xi32>, %c: memref<64xi32>, %n: index, %last: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %in = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      }
      aiex.dma_start_task(%in)
      %out = aiex.dma_configure_task(%shim, S2MM, 0) {
        aie.dma_bd(%c : memref<64xi32> offset = 0 len = 64)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%out)
      %has_second = arith.cmpi ult, %i, %last : index
      scf.if %has_second {
        %second_in = aiex.dma_configure_task(%shim, MM2S, 0) {
          aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
          aie.end
        }
        aiex.dma_start_task(%second_in)
        %second_out = aiex.dma_configure_task(%shim, S2MM, 0) {
          aie.dma_bd(%c : memref<64xi32> offset = 0 len = 64)
          aie.end
        } {issue_token = true}
        aiex.dma_start_task(%second_out)
        aiex.dma_await_task(%second_out)
        aiex.dma_free_task(%second_in)
        aiex.dma_free_task(%second_out)
      }
      aiex.dma_await_task(%out)
      aiex.dma_free_task(%in)
      aiex.dma_free_task(%out)
    }
  }
}

// -----

// What one of two ways gives back too early is still found, where the ways have met again.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @freed_too_early_on_one_way(%a: memref<64xi32>, %is_early: i1) {
    scf.if %is_early {
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      }
      aiex.dma_start_task(%task)
      aiex.dma_free_task(%task)
    } else {
      %task = aiex.dma_configure_task(%shim, MM2S, 1) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%task)
      aiex.dma_free_task(%task)
    }
    // expected-warning@+1 {{a BD of shim tile (0, 0) may be rewritten while a task on MM2S 0 still uses it}}
    %next = aiex.dma_configure_task(%shim, S2MM, 0) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%next)
    aiex.dma_await_task(%next)
    aiex.dma_free_task(%next)
  }
}
