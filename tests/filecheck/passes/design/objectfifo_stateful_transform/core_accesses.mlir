// RUN: tilewright opt --split-input-file --aie-objectFifo-stateful-transform --canonicalize %s | filecheck %s

// A core counts the buffers that it holds and waits only for those that are missing. Here that folds: 2, then 1 more,
// then none.
// CHECK-LABEL: module @straight
// CHECK:       aie.core
// CHECK-DAG:     %[[TWO:.+]] = arith.constant 2 : i32
// CHECK-DAG:     %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-DAG:     %[[THREE:.+]] = arith.constant 3 : i32
// CHECK:         aie.use_lock(%f_cons_cons_lock_0, AcquireGreaterEqual, %[[TWO]])
// CHECK-NEXT:    func.call @work(%f_cons_buff_0, %f_cons_buff_1)
// CHECK-NEXT:    aie.use_lock(%f_cons_cons_lock_0, AcquireGreaterEqual, %[[ONE]])
// CHECK-NEXT:    aie.use_lock(%f_cons_prod_lock_0, Release, %[[ONE]])
// CHECK-NEXT:    func.call @work(%f_cons_buff_1, %f_cons_buff_2)
// CHECK-NEXT:    aie.use_lock(%f_cons_prod_lock_0, Release, %[[TWO]])
// CHECK-NEXT:    aie.use_lock(%f_cons_cons_lock_0, AcquireGreaterEqual, %[[THREE]])
// CHECK-NEXT:    func.call @work(%f_cons_buff_3, %f_cons_buff_1)
// CHECK-NEXT:    aie.end
module @straight {
  aie.device(npu1) {
    func.func private @work(memref<16xi32>, memref<16xi32>)
    %shim = aie.tile(0, 0)
    %core = aie.tile(0, 2)
    aie.objectfifo @f(%shim, {%core}, 4 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.core(%core) {
      %0 = aie.objectfifo.acquire @f(Consume, 2) : !aie.objectfifosubview<memref<16xi32>>
      %a = aie.objectfifo.subview.access %0[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      %b = aie.objectfifo.subview.access %0[1] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      func.call @work(%a, %b) : (memref<16xi32>, memref<16xi32>) -> ()
      %1 = aie.objectfifo.acquire @f(Consume, 3) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @f(Consume, 1)
      %2 = aie.objectfifo.acquire @f(Consume, 2) : !aie.objectfifosubview<memref<16xi32>>
      %c = aie.objectfifo.subview.access %2[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      %d = aie.objectfifo.subview.access %2[1] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      func.call @work(%c, %d) : (memref<16xi32>, memref<16xi32>) -> ()
      aie.objectfifo.release @f(Consume, 2)
      %3 = aie.objectfifo.acquire @f(Consume, 3) : !aie.objectfifosubview<memref<16xi32>>
      %e = aie.objectfifo.subview.access %3[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      %f = aie.objectfifo.subview.access %3[2] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      func.call @work(%e, %f) : (memref<16xi32>, memref<16xi32>) -> ()
      aie.end
    }
  }
}

// -----

// An element that the DMA sends three times is acquired and released three times; what is held counts elements, so that
// the second acquire is for one more of them.
// CHECK-LABEL: module @repeated
// CHECK:       aie.core
// CHECK-DAG:     %[[THREE:.+]] = arith.constant 3 : i32
// CHECK-DAG:     %[[SIX:.+]] = arith.constant 6 : i32
// CHECK:         aie.use_lock(%f_prod_lock_0, AcquireGreaterEqual, %[[THREE]])
// CHECK-NEXT:    aie.use_lock(%f_prod_lock_0, AcquireGreaterEqual, %[[THREE]])
// CHECK-NEXT:    aie.use_lock(%f_cons_lock_0, Release, %[[SIX]])
module @repeated {
  aie.device(npu1) {
    %core = aie.tile(0, 2)
    %to = aie.tile(3, 5)
    aie.objectfifo @f(%core, {%to}, 3 : i32) {repeat_count = 3 : i32} : !aie.objectfifo<memref<16xi32>>
    aie.core(%core) {
      %0 = aie.objectfifo.acquire @f(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      %1 = aie.objectfifo.acquire @f(Produce, 2) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @f(Produce, 2)
      aie.end
    }
  }
}

// -----

// Where a lock has two states, a core uses the lock of each buffer: a consumer waits for 1 and leaves 0.
// CHECK-LABEL: module @two_states
// CHECK:       aie.core
// CHECK-DAG:     %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK:         aie.use_lock(%f_cons_lock_0, Acquire, %[[ONE]])
// CHECK-NEXT:    aie.use_lock(%f_cons_lock_1, Acquire, %[[ONE]])
// CHECK-NEXT:    aie.use_lock(%f_cons_lock_0, Release, %[[ZERO]])
// CHECK-NEXT:    aie.use_lock(%f_cons_lock_1, Acquire, %[[ONE]])
module @two_states {
  aie.device(xcvc1902) {
    %from = aie.tile(1, 2)
    %core = aie.tile(3, 5)
    aie.objectfifo @f(%from, {%core}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.core(%core) {
      %0 = aie.objectfifo.acquire @f(Consume, 2) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @f(Consume, 1)
      %1 = aie.objectfifo.acquire @f(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      aie.end
    }
  }
}

// -----

// The same core may be at both ends; each has counters of its own.
// CHECK-LABEL: module @loop_back
// CHECK:       aie.core
// CHECK:         aie.use_lock(%f_prod_lock_0, AcquireGreaterEqual
// CHECK-NEXT:    func.call @work(%f_buff_0)
// CHECK-NEXT:    aie.use_lock(%f_cons_lock_0, Release
// CHECK-NEXT:    aie.use_lock(%f_cons_cons_lock_0, AcquireGreaterEqual
// CHECK-NEXT:    func.call @work(%f_cons_buff_0)
// CHECK-NEXT:    aie.use_lock(%f_cons_prod_lock_0, Release
module @loop_back {
  aie.device(npu1) {
    func.func private @work(memref<16xi32>)
    %core = aie.tile(0, 2)
    aie.objectfifo @f(%core, {%core}, 2 : i32) {via_DMA = true} : !aie.objectfifo<memref<16xi32>>
    aie.core(%core) {
      %0 = aie.objectfifo.acquire @f(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      %a = aie.objectfifo.subview.access %0[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      func.call @work(%a) : (memref<16xi32>) -> ()
      aie.objectfifo.release @f(Produce, 1)
      %1 = aie.objectfifo.acquire @f(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      %b = aie.objectfifo.subview.access %1[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      func.call @work(%b) : (memref<16xi32>) -> ()
      aie.objectfifo.release @f(Consume, 1)
      aie.end
    }
  }
}
