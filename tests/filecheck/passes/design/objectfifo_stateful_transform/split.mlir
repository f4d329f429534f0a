// RUN: tilewright opt --split-input-file --aie-objectFifo-stateful-transform %s | filecheck %s

// A FIFO between tiles that share no memory is cut in two: each end has buffers and locks, a DMA program that goes round
// them, and a flow in between. The sender waits for full buffers, the receiver for empty ones.
// CHECK-LABEL: module @apart
// CHECK-DAG:   %[[FROM:.+]] = aie.tile(0, 2)
// CHECK-DAG:   %[[TO:.+]] = aie.tile(3, 5)
// CHECK:       %[[C0:.+]] = aie.buffer(%[[TO]]) {sym_name = "f_cons_buff_0"}
// CHECK:       %[[C_EMPTY:.+]] = aie.lock(%[[TO]]) {init = 2 : i32, sym_name = "f_cons_prod_lock_0"}
// CHECK:       %[[C_FULL:.+]] = aie.lock(%[[TO]]) {init = 0 : i32, sym_name = "f_cons_cons_lock_0"}
// CHECK:       %[[P0:.+]] = aie.buffer(%[[FROM]]) {sym_name = "f_buff_0"}
// CHECK:       %[[P1:.+]] = aie.buffer(%[[FROM]]) {sym_name = "f_buff_1"}
// CHECK:       %[[P_EMPTY:.+]] = aie.lock(%[[FROM]]) {init = 2 : i32, sym_name = "f_prod_lock_0"}
// CHECK:       %[[P_FULL:.+]] = aie.lock(%[[FROM]]) {init = 0 : i32, sym_name = "f_cons_lock_0"}
// CHECK:       aie.flow(%[[FROM]], DMA : 0, %[[TO]], DMA : 0)
// CHECK:       aie.mem(%[[FROM]]) {
// CHECK:         aie.dma_start(MM2S, 0, ^bb1, ^bb3)
// CHECK:       ^bb1:
// CHECK:         aie.use_lock(%[[P_FULL]], AcquireGreaterEqual, %c1{{.*}})
// CHECK:         aie.dma_bd(%[[P0]] : memref<16xi32> offset = 0 len = 16)
// CHECK:         aie.use_lock(%[[P_EMPTY]], Release, %c1{{.*}})
// CHECK:         aie.next_bd ^bb2
// CHECK:       ^bb2:
// CHECK:         aie.dma_bd(%[[P1]] : memref<16xi32> offset = 0 len = 16)
// CHECK:         aie.next_bd ^bb1
// CHECK:       ^bb3:
// CHECK-NEXT:    aie.end
// CHECK:       aie.mem(%[[TO]]) {
// CHECK:         aie.dma_start(S2MM, 0, ^bb1, ^bb3)
// CHECK:         aie.use_lock(%[[C_EMPTY]], AcquireGreaterEqual, %c1{{.*}})
// CHECK:         aie.dma_bd(%[[C0]] : memref<16xi32> offset = 0 len = 16)
// CHECK:         aie.use_lock(%[[C_FULL]], Release, %c1{{.*}})
module @apart {
  aie.device(npu1) {
    %from = aie.tile(0, 2)
    %to = aie.tile(3, 5)
    aie.objectfifo @f(%from, {%to}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// A broadcast has one sender; each consumer has an end, which the last one declares first. The depth of an end is one
// more than its core ever holds, where the program gives one depth for all.
// CHECK-LABEL: module @broadcast
// CHECK-DAG:   %[[FROM:.+]] = aie.tile(0, 2)
// CHECK-DAG:   %[[FIRST:.+]] = aie.tile(0, 4)
// CHECK-DAG:   %[[SECOND:.+]] = aie.tile(2, 2)
// CHECK:       aie.lock(%[[FIRST]]) {init = 4 : i32, sym_name = "f_0_cons_prod_lock_0"}
// CHECK:       aie.lock(%[[SECOND]]) {init = 5 : i32, sym_name = "f_1_cons_prod_lock_0"}
// CHECK:       aie.lock(%[[FROM]]) {init = 5 : i32, sym_name = "f_prod_lock_0"}
// CHECK:       aie.flow(%[[FROM]], DMA : 0, %[[SECOND]], DMA : 0)
// CHECK-NEXT:  aie.flow(%[[FROM]], DMA : 0, %[[FIRST]], DMA : 0)
module @broadcast {
  aie.device(npu1) {
    %from = aie.tile(0, 2)
    %first = aie.tile(0, 4)
    %second = aie.tile(2, 2)
    aie.objectfifo @f(%from, {%first, %second}, 5 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.core(%first) {
      %0 = aie.objectfifo.acquire @f(Consume, 3) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @f(Consume, 3)
      aie.end
    }
  }
}

// -----

// Depths for each end are kept. Data that is rearranged on the way needs DMAs, even between neighbours.
// CHECK-LABEL: module @rearranged
// CHECK:       aie.lock(%{{.*}}) {init = 4 : i32, sym_name = "f_cons_prod_lock_0"}
// CHECK:       aie.lock(%{{.*}}) {init = 3 : i32, sym_name = "f_prod_lock_0"}
// CHECK:       aie.dma_bd(%f_buff_0 : memref<16xi32> offset = 0 len = 16 sizes = [4, 4] strides = [1, 4])
// CHECK:       aie.dma_bd(%f_cons_buff_0 : memref<16xi32> offset = 0 len = 16)
module @rearranged {
  aie.device(npu1) {
    %from = aie.tile(0, 2)
    %to = aie.tile(0, 3)
    aie.objectfifo @f(%from dimensionsToStream [<size = 4, stride = 1>, <size = 4, stride = 4>], {%to}, [3, 4])
        : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// A consumer may take smaller pieces than the producer sends.
// CHECK-LABEL: module @pieces
// CHECK:       aie.buffer(%{{.*}}) {sym_name = "f_cons_buff_0"} : memref<4xi32>
// CHECK:       aie.buffer(%{{.*}}) {sym_name = "f_buff_0"} : memref<16xi32>
// CHECK:       aie.dma_bd(%f_buff_0 : memref<16xi32> offset = 0 len = 16)
// CHECK:       aie.dma_bd(%f_cons_buff_0 : memref<4xi32> offset = 0 len = 4)
module @pieces {
  aie.device(npu1) {
    %from = aie.tile(0, 2)
    %to = aie.tile(0, 3)
    aie.objectfifo @f(%from, {%to}, 1 : i32) : !aie.objectfifo<memref<16xi32>> -> !aie.objectfifo<memref<4xi32>>
  }
}

// -----

// The runtime sequence drives the shim end, under the name of its channel: no descriptors there, and nothing to count.
// CHECK-LABEL: module @host
// CHECK:       %[[SHIM:.+]] = aie.tile(0, 0)
// CHECK:       aie.lock(%[[SHIM]]) {init = 0 : i32, sym_name = "out_cons_prod_lock_0"}
// CHECK:       aie.lock(%[[SHIM]]) {init = 0 : i32, sym_name = "in_prod_lock_0"}
// CHECK:       aie.runtime_sequence
// CHECK-NEXT:    aiex.dma_configure_task_for @in_shim_alloc
// CHECK:       aie.shim_dma_allocation @in_shim_alloc(%[[SHIM]], MM2S, 0)
// CHECK:       aie.mem(
// CHECK:       aie.shim_dma_allocation @out_shim_alloc(%[[SHIM]], S2MM, 0)
// CHECK-NOT:   aie.shim_dma(
module @host {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %core = aie.tile(0, 2)
    aie.objectfifo @in(%shim, {%core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out(%core, {%shim}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.runtime_sequence(%a : memref<16xi32>) {
      %0 = aiex.dma_configure_task_for @in {
        aie.dma_bd(%a : memref<16xi32>)
        aie.end
      }
    }
  }
}

// -----

// Buffers of the host that the program names make the shim end static.
// CHECK-LABEL: module @registered
// CHECK:       aie.lock(%{{.*}}) {init = 2 : i32, sym_name = "f_prod_lock_0"}
// CHECK:       aie.shim_dma(
// CHECK:         aie.dma_start(MM2S, 0, ^bb1, ^bb3)
// CHECK:         aie.use_lock(%f_cons_lock_0, AcquireGreaterEqual, %c1{{.*}})
// CHECK:         aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
// CHECK:         aie.dma_bd(%b : memref<32xi32> offset = 0 len = 32)
// CHECK:         aie.next_bd ^bb1
module @registered {
  aie.device(xcve2302) {
    %shim = aie.tile(2, 0)
    %core = aie.tile(2, 3)
    %a = aie.external_buffer {sym_name = "a"} : memref<64xi32>
    %b = aie.external_buffer {sym_name = "b"} : memref<32xi32>
    aie.objectfifo @f(%shim, {%core}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo.register_external_buffers @f(%shim, {%a, %b}) : (memref<64xi32>, memref<32xi32>)
  }
}
