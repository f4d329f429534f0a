// RUN: tilewright opt --split-input-file --aie-objectFifo-stateful-transform %s | filecheck %s

// The DMA repeats the descriptor of a single buffer; with several buffers each has as many descriptors as it is sent.
// CHECK-LABEL: module @repeated
// CHECK:       aie.lock(%{{.*}}) {init = 6 : i32, sym_name = "two_prod_lock_0"}
// CHECK:       aie.lock(%{{.*}}) {init = 3 : i32, sym_name = "one_prod_lock_0"}
// CHECK:       aie.mem(
// CHECK:         aie.dma_start(MM2S, 0, ^bb1, ^bb2, repeat_count = 2)
// CHECK:         aie.dma_bd(%one_buff_0
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    aie.use_lock
// CHECK-NEXT:    aie.next_bd ^bb1
// CHECK:         aie.dma_start(MM2S, 1, ^bb3, ^bb9)
// CHECK-COUNT-3: aie.dma_bd(%two_buff_0
// CHECK-COUNT-3: aie.dma_bd(%two_buff_1
// CHECK:         aie.next_bd ^bb3
module @repeated {
  aie.device(npu1) {
    %from = aie.tile(0, 2)
    %to = aie.tile(3, 5)
    aie.objectfifo @one(%from, {%to}, 1 : i32) {repeat_count = 3 : i32} : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @two(%from, {%to}, 2 : i32) {repeat_count = 3 : i32} : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// A mem tile can run a chain some times and stop. Contents that are there from the start are then sent again and again:
// nobody refills them, so nobody waits for them.
// CHECK-LABEL: module @iterated
// CHECK:       aie.buffer(%{{.*}}) {sym_name = "f_buff_1"}
// CHECK-NEXT:  aie.flow
// CHECK:       aie.memtile_dma(
// CHECK:         aie.dma_start(MM2S, 0, ^bb1, ^bb4, repeat_count = 4)
// CHECK-NEXT:  ^bb1:
// CHECK-NEXT:    aie.dma_bd(%f_buff_0 : memref<2xi32> offset = 0 len = 2)
// CHECK-NEXT:    aie.next_bd ^bb2
// CHECK-NEXT:  ^bb2:
// CHECK-NEXT:    aie.dma_bd(%f_buff_1 : memref<2xi32> offset = 0 len = 2)
// CHECK-NEXT:    aie.next_bd ^bb3
// CHECK-NEXT:  ^bb3:
// CHECK-NEXT:    aie.end
// CHECK-NEXT:  ^bb4:
// CHECK-NEXT:    aie.end
module @iterated {
  aie.device(npu1) {
    %mem = aie.tile(0, 1)
    %core = aie.tile(0, 2)
    aie.objectfifo @f(%mem, {%core}, 2 : i32) {iter_count = 5 : i32} : !aie.objectfifo<memref<2xi32>>
        = [dense<1> : memref<2xi32>, dense<2> : memref<2xi32>]
  }
}

// -----

// Channels are added to the program that a tile has, behind its last one.
// CHECK-LABEL: module @added
// CHECK:       aie.mem(
// CHECK-NEXT:    aie.dma_start(MM2S, 0, ^bb1, ^bb2)
// CHECK:         aie.dma_bd(%mine
// CHECK:       ^bb2:
// CHECK-NEXT:    aie.dma_start(MM2S, 1, ^bb3, ^bb4)
// CHECK:         aie.dma_bd(%f_buff_0
// CHECK:       ^bb4:
// CHECK-NEXT:    aie.end
module @added {
  aie.device(npu1) {
    %from = aie.tile(0, 2)
    %to = aie.tile(3, 5)
    %mine = aie.buffer(%from) {sym_name = "mine"} : memref<4xi32>
    aie.objectfifo @f(%from, {%to}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    %dma = aie.mem(%from) {
      %0 = aie.dma_start(MM2S, 0, ^send, ^end)
    ^send:
      aie.dma_bd(%mine : memref<4xi32>)
      aie.next_bd ^send
    ^end:
      aie.end
    }
  }
}

// -----

// Where a lock has two states, the sender waits for 1 and leaves 0.
// CHECK-LABEL: module @two_states
// CHECK:       aie.dma_start(MM2S, 0
// CHECK:         %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-NEXT:    aie.use_lock(%f_lock_0, Acquire, %[[ONE]])
// CHECK:         %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-NEXT:    aie.use_lock(%f_lock_0, Release, %[[ZERO]])
// CHECK:       aie.dma_start(S2MM, 0
// CHECK:         %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-NEXT:    aie.use_lock(%f_cons_lock_0, Acquire, %[[ZERO]])
// CHECK:         %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-NEXT:    aie.use_lock(%f_cons_lock_0, Release, %[[ONE]])
module @two_states {
  aie.device(xcvc1902) {
    %from = aie.tile(1, 2)
    %to = aie.tile(3, 5)
    aie.objectfifo @f(%from, {%to}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  }
}
