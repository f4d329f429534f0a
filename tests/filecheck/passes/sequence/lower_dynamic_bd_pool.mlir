// RUN: tilewright opt --split-input-file --aie-lower-dynamic-bd-pool=allow-while %s | filecheck %s

// A task in a loop that runs a number of times known at run time only takes its descriptor from the pool of its tile, and
// gives it back when it is freed. A loop that hands a task on to its next iteration hands on the number as well.
// CHECK-LABEL: aie.runtime_sequence @one_behind
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @one_behind(%a: memref<8xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK:      %[[ID:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
    // CHECK-NEXT: %[[TASK:.+]] = aiex.dma_configure_task(%{{.+}}, MM2S, 0) bd_id %[[ID]] : i32 {
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    } {issue_token = true}
    // CHECK:      aiex.dma_start_task(%[[TASK]]){{$}}
    aiex.dma_start_task(%first)
    // CHECK-NEXT: %[[LAST:.+]]:2 = scf.for {{.*}} iter_args(%[[BEFORE:.+]] = %[[TASK]], %[[BEFORE_ID:.+]] = %[[ID]]) -> (index, i32) {
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (index) {
      // CHECK-NEXT: %[[NEXT_ID:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
      // CHECK-NEXT: %[[NEXT:.+]] = aiex.dma_configure_task(%{{.+}}, MM2S, 0) bd_id %[[NEXT_ID]] : i32 {
      %next = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<8xi32>)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%next)
      // CHECK:      aiex.dma_await_task(%[[BEFORE]])
      // CHECK-NEXT: aiex.dma_bd_pool_push(0, 0) bd_id %[[BEFORE_ID]] : i32
      // CHECK-NEXT: scf.yield %[[NEXT]], %[[NEXT_ID]] : index, i32
      aiex.dma_await_task(%before)
      aiex.dma_free_task(%before)
      scf.yield %next : index
    }
    // CHECK:      aiex.dma_await_task(%[[LAST]]#0)
    // CHECK-NEXT: aiex.dma_bd_pool_push(0, 0) bd_id %[[LAST]]#1 : i32
    aiex.dma_await_task(%last)
    aiex.dma_free_task(%last)
  }
}

// -----

// A chain takes a number for each descriptor, in the order in which they are written. They are given back in such an
// order that the next chain gets them as this one did. Whoever starts a task that was handed on is told where it begins.
// CHECK-LABEL: aie.runtime_sequence @chain
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @chain(%a: memref<8xi32>, %b: memref<8xi32>, %first: i1) {
    // CHECK: %[[TASK:.+]]:3 = scf.if %arg2 -> (index, i32, i32) {
    %task = scf.if %first -> (index) {
      // CHECK-NEXT: %[[HEAD:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
      // CHECK-NEXT: %[[TAIL:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
      // CHECK-NEXT: %[[THEN:.+]] = aiex.dma_configure_task(%{{.+}}, S2MM, 1) bd_id %[[HEAD]], %[[TAIL]] : i32, i32 {
      %then = aiex.dma_configure_task(%shim, S2MM, 1) {
        aie.dma_bd(%a : memref<8xi32>)
        aie.next_bd ^next
      ^next:
        aie.dma_bd(%b : memref<8xi32>)
        aie.end
      } {issue_token = true}
      // CHECK: scf.yield %[[THEN]], %[[HEAD]], %[[TAIL]] : index, i32, i32
      scf.yield %then : index
    } else {
      // CHECK: %[[ELSE:.+]] = aiex.dma_configure_task(%{{.+}}, S2MM, 1) bd_id %[[HEAD:.+]], %[[TAIL:.+]] : i32, i32 {
      %else = aiex.dma_configure_task(%shim, S2MM, 1) {
        aie.dma_bd(%b : memref<8xi32>)
        aie.next_bd ^next
      ^next:
        aie.dma_bd(%a : memref<8xi32>)
        aie.end
      } {issue_token = true}
      // CHECK: scf.yield %[[ELSE]], %[[HEAD]], %[[TAIL]] : index, i32, i32
      scf.yield %else : index
    }
    // CHECK:      aiex.dma_start_task(%[[TASK]]#0) bd_id %[[TASK]]#1 : i32
    // CHECK-NEXT: aiex.dma_await_task(%[[TASK]]#0)
    // CHECK-NEXT: aiex.dma_bd_pool_push(0, 0) bd_id %[[TASK]]#2 : i32
    // CHECK-NEXT: aiex.dma_bd_pool_push(0, 0) bd_id %[[TASK]]#1 : i32
    aiex.dma_start_task(%task)
    aiex.dma_await_task(%task)
    aiex.dma_free_task(%task)
  }
}

// -----

// In `scf.while` numbers go the way that tasks go: to the condition, to the body, back, and out.
// CHECK-LABEL: aie.runtime_sequence @while
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @while(%a: memref<8xi32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: %[[ID:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    // CHECK: %[[LAST:.+]]:2 = scf.while (%[[I:.+]] = %{{.+}}, %[[TASK:.+]] = %{{.+}}, %[[TASK_ID:.+]] = %[[ID]]) : (i32, index, i32) -> (index, i32) {
    %last = scf.while (%i = %c0, %task = %first) : (i32, index) -> index {
      // CHECK: scf.condition(%{{.+}}) %[[TASK]], %[[TASK_ID]] : index, i32
      %more = arith.cmpi slt, %i, %n : i32
      scf.condition(%more) %task : index
    } do {
    // CHECK: ^bb0(%[[BEFORE:.+]]: index, %[[BEFORE_ID:.+]]: i32):
    ^bb0(%before: index):
      // CHECK:      aiex.dma_start_task(%[[BEFORE]]) bd_id %[[BEFORE_ID]] : i32
      // CHECK-NEXT: aiex.dma_bd_pool_push(0, 0) bd_id %[[BEFORE_ID]] : i32
      aiex.dma_start_task(%before)
      aiex.dma_free_task(%before)
      // CHECK: %[[NEXT_ID:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
      %next = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<8xi32>)
        aie.end
      }
      // CHECK: scf.yield %{{.+}}, %{{.+}}, %[[NEXT_ID]] : i32, index, i32
      scf.yield %c1, %next : i32, index
    }
    // CHECK: aiex.dma_bd_pool_push(0, 0) bd_id %[[LAST]]#1 : i32
    aiex.dma_free_task(%last)
  }
}

// -----

// The channels of a mem tile reach one half of its descriptors each, so there the pool is that of a channel. A task that
// does not leave its branch is all that the branch is changed by.
// CHECK-LABEL: aie.runtime_sequence @mem_tile
aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) {address = 0 : i32} : memref<8xi32>
  aie.runtime_sequence @mem_tile(%go: i1) {
    // CHECK-NEXT: scf.if %arg0 {
    scf.if %go {
      // CHECK-NEXT: %[[ID:.+]] = aiex.dma_bd_pool_pop(0, 1) {channel = 3 : i32} : i32
      %task = aiex.dma_configure_task(%mem, MM2S, 3) {
        aie.dma_bd(%buffer : memref<8xi32>)
        aie.end
      }
      // CHECK: aiex.dma_bd_pool_push(0, 1) bd_id %[[ID]] {channel = 3 : i32} : i32
      aiex.dma_free_task(%task)
    }
  }

  // A sequence without branches and loops is for the allocator of descriptors that is run later.
  // CHECK-LABEL: aie.runtime_sequence @straight
  // CHECK-NOT: aiex.dma_bd_pool_pop
  aie.runtime_sequence @straight() {
    %task = aiex.dma_configure_task(%mem, MM2S, 3) {
      aie.dma_bd(%buffer : memref<8xi32>)
      aie.end
    }
    // CHECK: aiex.dma_free_task
    aiex.dma_free_task(%task)
  }
}
