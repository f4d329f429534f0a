// RUN: tilewright opt --split-input-file --aie-objectFifo-stateful-transform %s | filecheck %s

// A FIFO that the runtime sequence starts again keeps its channels and locks under a name of its own; those of shim
// tiles are for the host to start.
// CHECK-LABEL: module @through_dma
// CHECK-DAG:   %[[A:.+]] = aie.tile(0, 3)
// CHECK-DAG:   %[[B:.+]] = aie.tile(2, 2)
// CHECK:       aiex.dma_channel_reset_for(@f_rearm_0)
// CHECK:       aie.objectfifo_rearm_binding @f_rearm_0 channels(%[[A]], %[[B]] : index, index)
// CHECK-SAME:    locks(%f_0_cons_prod_lock_0, %f_0_cons_cons_lock_0, %f_1_cons_prod_lock_0, %f_1_cons_cons_lock_0
// CHECK-SAME:    channel_dirs = array<i32: 0, 0>, channel_indices = array<i32: 0, 0>, lock_inits = array<i32: 2, 0, 2, 0>
module @through_dma {
  aie.device(npu2) {
    %shim = aie.tile(0, 0)
    %a = aie.tile(0, 3)
    %b = aie.tile(2, 2)
    %taken = aie.lock(%a) {sym_name = "f_rearm"}
    aie.objectfifo @f(%shim, {%a, %b}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.runtime_sequence() {
      aiex.dma_channel_reset_for(@f)
    }
  }
}

// -----

// Neighbours have locks only.
// CHECK-LABEL: module @shared
// CHECK:       aie.objectfifo_rearm_binding @f_rearm channels() locks(%f_prod_lock_0, %f_cons_lock_0 : index, index)
// CHECK-SAME:    lock_inits = array<i32: 2, 0>
module @shared {
  aie.device(npu2) {
    %a = aie.tile(0, 2)
    %b = aie.tile(0, 3)
    aie.objectfifo @f(%a, {%b}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.runtime_sequence() {
      aiex.dma_channel_reset_for(@f)
    }
  }
}
