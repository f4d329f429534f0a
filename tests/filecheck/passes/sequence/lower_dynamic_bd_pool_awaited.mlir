// RUN: tilewright opt --aie-lower-dynamic-bd-pool="free-awaited" --split-input-file %s | filecheck %s
// RUN: tilewright opt --aie-lower-dynamic-bd-pool --split-input-file %s | filecheck %s --check-prefix=KEPT

// A task that is awaited in the turn that configures it is done with: the next turn gets its descriptor.
// CHECK-LABEL: @each_turn
// CHECK:         aiex.dma_await_task
// CHECK-NEXT:    aiex.dma_bd_pool_push(0, 0) bd_id %{{.+}} : i32
// KEPT-LABEL:  @each_turn
// KEPT-NOT:      aiex.dma_bd_pool_push
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @each_turn(%a: memref<64xi32>, %n: index) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %n step %one {
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%task)
    }
  }
}

// -----

// The task of the turn before, and after the loop that of the last turn.
// KEPT-LABEL:  @turn_before
// CHECK-LABEL: @turn_before
// CHECK:       %[[LAST:.+]]:2 = scf.for {{.+}} iter_args(%[[BEFORE:.+]] = %{{.+}}, %[[ID:.+]] = %{{.+}}) -> (index, i32)
// CHECK:         aiex.dma_await_task(%[[BEFORE]])
// CHECK-NEXT:    aiex.dma_bd_pool_push(0, 0) bd_id %[[ID]] : i32
// CHECK:       }
// CHECK-NEXT:  aiex.dma_await_task(%[[LAST]]#0)
// CHECK-NEXT:  aiex.dma_bd_pool_push(0, 0) bd_id %[[LAST]]#1 : i32
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @turn_before(%a: memref<64xi32>, %n: index) {
    %one = arith.constant 1 : index
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%first)
    %last = scf.for %i = %one to %n step %one iter_args(%before = %first) -> (index) {
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%before)
      scf.yield %task : index
    }
    aiex.dma_await_task(%last)
  }
}

// -----

// In either branch, since only one of them is executed.
// CHECK-LABEL: @in_branches
// CHECK:         aiex.dma_await_task
// CHECK-NEXT:    aiex.dma_bd_pool_push
// CHECK:       } else {
// CHECK-NEXT:    aiex.dma_await_task
// CHECK-NEXT:    aiex.dma_bd_pool_push
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @in_branches(%a: memref<64xi32>, %yes: i1) {
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%task)
    scf.if %yes {
      aiex.dma_await_task(%task)
    } else {
      aiex.dma_await_task(%task)
    }
  }
}

// -----

// Where the sequence says itself when a task is done with, that holds.
// CHECK-LABEL: @freed
// CHECK:         aiex.dma_await_task
// CHECK-NOT:     aiex.dma_bd_pool_push
// CHECK:         aiex.npu.write32
// CHECK-NEXT:    aiex.dma_bd_pool_push
// CHECK-NOT:     aiex.dma_bd_pool_push
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @freed(%a: memref<64xi32>, %n: index) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %n step %one {
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%task)
      aiex.npu.write32 {address = 0 : ui32, value = 1 : ui32}
      aiex.dma_free_task(%task)
    }
  }
}

// -----

// A task that is started and awaited in every turn keeps its descriptor: it is needed again.
// CHECK-LABEL: @again_and_again
// CHECK-NOT:     aiex.dma_bd_pool_push
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @again_and_again(%a: memref<64xi32>, %n: index) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
      aie.end
    } {issue_token = true}
    scf.for %i = %zero to %n step %one {
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%task)
    }
  }
}

// -----

// So does one that is started once more after the wait.
// CHECK-LABEL: @once_more
// CHECK-NOT:     aiex.dma_bd_pool_push
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @once_more(%a: memref<64xi32>, %yes: i1) {
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%task)
    aiex.dma_await_task(%task)
    scf.if %yes {
      aiex.dma_start_task(%task)
    }
  }
}

// -----

// What comes from outside of the sequence is no task, and is left to the passes that refuse it.
// CHECK-LABEL: @no_task
// CHECK:         aiex.dma_await_task(%{{.*}}tile_0_0)
// CHECK-NOT:     aiex.dma_bd_pool_push
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %other = aie.tile(0, 1)
  aie.wire(%shim : North, %other : South)
  aie.runtime_sequence @no_task(%yes: i1) {
    scf.if %yes {
      aiex.dma_await_task(%shim)
    }
  }
}
