// RUN: tilewright opt --split-input-file --aie-objectFifo-stateful-transform %s | filecheck %s

// Neighbours use the same buffers: no DMA, no flow. The buffers are with the producer if the consumer reaches them there.
// One lock counts the empty buffers, the other the full ones.
// CHECK-LABEL: module @north
// CHECK:       %[[LOW:.+]] = aie.tile(1, 2)
// CHECK-NEXT:  aie.tile(1, 3)
// CHECK-NEXT:  aie.buffer(%[[LOW]]) {sym_name = "f_buff_0"} : memref<16xi32>
// CHECK-NEXT:  aie.buffer(%[[LOW]]) {sym_name = "f_buff_1"} : memref<16xi32>
// CHECK-NEXT:  aie.buffer(%[[LOW]]) {sym_name = "f_buff_2"} : memref<16xi32>
// CHECK-NEXT:  aie.lock(%[[LOW]]) {init = 3 : i32, sym_name = "f_prod_lock_0"}
// CHECK-NEXT:  aie.lock(%[[LOW]]) {init = 0 : i32, sym_name = "f_cons_lock_0"}
// CHECK-NEXT:  }
module @north {
  aie.device(npu1) {
    %low = aie.tile(1, 2)
    %high = aie.tile(1, 3)
    aie.objectfifo @f(%low, {%high}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// A core reaches the memory to its west, not the one to its east: data that goes west is in the consumer's memory.
// CHECK-LABEL: module @west
// CHECK:       %[[WEST:.+]] = aie.tile(0, 3)
// CHECK:       aie.buffer(%[[WEST]]) {sym_name = "f_buff_0"}
// CHECK:       aie.lock(%[[WEST]]) {init = 1 : i32, sym_name = "f_prod_lock_0"}
module @west {
  aie.device(npu1) {
    %west = aie.tile(0, 3)
    %east = aie.tile(1, 3)
    aie.objectfifo @f(%east, {%west}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// The program may say which of the memories to use, if both ends reach it. Later FIFOs stand before earlier ones.
// CHECK-LABEL: module @delegates
// CHECK:       %[[LOW:.+]] = aie.tile(1, 2)
// CHECK-NEXT:  %[[HIGH:.+]] = aie.tile(1, 3)
// CHECK-NEXT:  aie.buffer(%[[LOW]]) {sym_name = "stays_buff_0"}
// CHECK:       aie.buffer(%[[HIGH]]) {sym_name = "moved_buff_0"}
// CHECK:       aie.lock(%[[HIGH]]) {init = 1 : i32, sym_name = "moved_prod_lock_0"}
module @delegates {
  aie.device(npu1) {
    %low = aie.tile(1, 2)
    %high = aie.tile(1, 3)
    aie.objectfifo @moved(%low, {%high}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo.allocate @moved(%high)
    aie.objectfifo @stays(%low, {%high}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  }
}

// -----

// Contents from the start: the buffers are full, and typed as buffers type them.
// CHECK-LABEL: module @initial
// CHECK:       aie.buffer(%{{.*}}) {sym_name = "f_buff_0"} : memref<2xi32> = dense<[1, 2]>
// CHECK-NEXT:  aie.buffer(%{{.*}}) {sym_name = "f_buff_1"} : memref<2xi32> = dense<7>
// CHECK-NEXT:  aie.lock(%{{.*}}) {init = 0 : i32, sym_name = "f_prod_lock_0"}
// CHECK-NEXT:  aie.lock(%{{.*}}) {init = 2 : i32, sym_name = "f_cons_lock_0"}
module @initial {
  aie.device(npu1) {
    %low = aie.tile(1, 2)
    %high = aie.tile(1, 3)
    aie.objectfifo @f(%low, {%high}, 2 : i32) : !aie.objectfifo<memref<2xi32>>
        = [dense<[1, 2]> : memref<2xi32>, dense<7> : memref<2xi32>]
  }
}

// -----

// Nobody counts the buffers of a FIFO without synchronization.
// CHECK-LABEL: module @unsynchronized
// CHECK:       aie.buffer
// CHECK-NOT:   aie.lock
module @unsynchronized {
  aie.device(npu1) {
    %low = aie.tile(1, 2)
    %high = aie.tile(1, 3)
    aie.objectfifo @f(%low, {%high}, 1 : i32) {disable_synchronization = true} : !aie.objectfifo<memref<2xi32>>
  }
}

// -----

// Where a lock has two states there is one for each buffer, 0 for an empty one.
// CHECK-LABEL: module @two_states
// CHECK:       aie.buffer(%{{.*}}) {sym_name = "f_buff_1"}
// CHECK-NEXT:  aie.lock(%{{.*}}) {init = 0 : i32, sym_name = "f_lock_0"}
// CHECK-NEXT:  aie.lock(%{{.*}}) {init = 0 : i32, sym_name = "f_lock_1"}
module @two_states {
  aie.device(xcvc1902) {
    %low = aie.tile(1, 2)
    %high = aie.tile(1, 3)
    aie.objectfifo @f(%low, {%high}, 2 : i32) : !aie.objectfifo<memref<2xi32>>
  }
}

// -----

// Tiles that are declared late move up: a core stands behind the buffers that it uses, and those behind all tiles.
// CHECK-LABEL: module @late_tile
// CHECK:       aie.tile(0, 2)
// CHECK-NEXT:  aie.tile(0, 3)
// CHECK-NEXT:  aie.tile(1, 3)
// CHECK-NEXT:  aie.buffer
// CHECK:       aie.core
module @late_tile {
  aie.device(npu1) {
    %core = aie.tile(0, 2)
    %to = aie.tile(0, 3)
    aie.objectfifo @f(%core, {%to}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.core(%core) {
      %0 = aie.objectfifo.acquire @f(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @f(Produce, 1)
      aie.end
    }
    %other = aie.tile(1, 3)
  }
}
