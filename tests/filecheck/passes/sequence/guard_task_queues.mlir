// RUN: tilewright opt --split-input-file --tilewright-guard-task-queues %s | filecheck %s
// RUN: tilewright opt --split-input-file --tilewright-guard-task-queues --tilewright-guard-task-queues %s | filecheck %s

// A queue has room for four tasks. Before the others the sequence waits until the bit of size 4 is clear in the
// channel's status register (0x1D228 for MM2S 0 of a shim tile).
// CHECK-LABEL: @six_pushes
// CHECK-DAG:     %[[STATUS:.+]] = arith.constant 119336 : i32
// CHECK-DAG:     %[[FULL:.+]] = arith.constant 4194304 : i32
// CHECK-COUNT-4: aiex.npu.push_queue
// CHECK-NEXT:    aiex.npu.maskpoll(%[[STATUS]], %{{.+}}, %[[FULL]]) : i32, i32, i32
// CHECK-NEXT:    aiex.npu.push_queue
// CHECK-NEXT:    aiex.npu.maskpoll(%[[STATUS]], %{{.+}}, %[[FULL]]) : i32, i32, i32
// CHECK-NEXT:    aiex.npu.push_queue
// CHECK-NEXT:    }
aie.device(npu1) {
  aie.runtime_sequence @six_pushes() {
    %c0 = arith.constant 0 : i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
  }
}

// -----

// A loop that waits for each of its tasks needs no poll, one that may run five times without a wait does.
// CHECK-LABEL: @loops
// CHECK:       scf.for
// CHECK-NEXT:    aiex.npu.push_queue(0, 0, S2MM : 1)
// CHECK-NEXT:    aiex.npu.sync
// CHECK:       scf.for
// CHECK-NEXT:    aiex.npu.maskpoll
// CHECK-NEXT:    aiex.npu.push_queue(0, 1, S2MM : 0)
// CHECK:       scf.for
// CHECK-NEXT:    aiex.npu.push_queue(0, 2, MM2S : 0)
aie.device(npu1) {
  aie.runtime_sequence @loops(%n: index) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %from = arith.constant 0 : index
    %step = arith.constant 1 : index
    %four = arith.constant 4 : index
    scf.for %i = %from to %n step %step {
      aiex.npu.push_queue(0, 0, S2MM : 1) bd_id %c0 repeat %c0 {issue_token = true} : i32, i32
      aiex.npu.sync(%c0, %c0, %c0, %c1, %c1, %c1) : i32, i32, i32, i32, i32, i32
    }
    scf.for %i = %from to %n step %step {
      aiex.npu.push_queue(0, 1, S2MM : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    }
    scf.for %i = %from to %four step %step {
      aiex.npu.push_queue(0, 2, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    }
  }
}

// -----

// Transfers and tasks are guarded before they are lowered, too.
// CHECK-LABEL:   @transfers
// CHECK-COUNT-4: aiex.npu.dma_memcpy_nd
// CHECK-NEXT:    aiex.npu.maskpoll
// CHECK-NEXT:    aiex.npu.dma_memcpy_nd
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @transfers(%a: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 3 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 4 : i64, metadata = @in} : memref<64xi32>
  }
}
