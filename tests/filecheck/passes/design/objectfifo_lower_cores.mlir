// RUN: tilewright opt --split-input-file --aie-objectfifo-lower-cores %s | filecheck %s

// An acquire waits for the objects that are not held yet, at the locks of all its segments, and chooses them by how many
// were released before. A loop says after how many turns that is the first object again.
// CHECK-LABEL: @counted
// CHECK:       aie.core
// CHECK:         scf.for {{.*}} iter_args(%[[OLDEST:.+]] = %{{.+}}, %[[HELD:.+]] = %{{.+}})
// CHECK:           %[[MISSING:.+]] = arith.maxsi
// CHECK:           aie.use_lock(%f0, AcquireGreaterEqual, %[[AMOUNT:.+]])
// CHECK-NEXT:      aie.use_lock(%f1, AcquireGreaterEqual, %[[AMOUNT]])
// CHECK:           %[[CHOSEN:.+]] = arith.index_cast %[[OLDEST]]
// CHECK-NEXT:      %[[FIRST:.+]] = scf.index_switch %[[CHOSEN]]
// CHECK:           %[[SECOND:.+]] = scf.index_switch %[[CHOSEN]]
// CHECK:           func.call @use(%[[FIRST]], %[[SECOND]])
// CHECK:           aie.use_lock(%e0, Release, %[[ONE:.+]])
// CHECK-NEXT:      aie.use_lock(%e1, Release, %[[ONE]])
// CHECK:         } {aie.unroll_hint = 3 : i64}
// CHECK-NOT:   aie.objectfifo.core_endpoint
aie.device(npu2) @counted {
  func.func private @use(memref<8xi32>, memref<8xi32>)
  %tile = aie.tile(0, 2)
  %b0 = aie.buffer(%tile) {sym_name = "b0"} : memref<8xi32>
  %b1 = aie.buffer(%tile) {sym_name = "b1"} : memref<8xi32>
  %b2 = aie.buffer(%tile) {sym_name = "b2"} : memref<8xi32>
  %e0 = aie.lock(%tile) {init = 3 : i32, sym_name = "e0"}
  %f0 = aie.lock(%tile) {init = 0 : i32, sym_name = "f0"}
  %e1 = aie.lock(%tile) {init = 3 : i32, sym_name = "e1"}
  %f1 = aie.lock(%tile) {init = 0 : i32, sym_name = "f1"}
  aie.objectfifo.pool @p(%tile) {depth = 3 : i32, buffers = [@b0, @b1, @b2],
    segments = [#aie.objectfifo_segment<offset = 0, size = 4, produceLock = @e0, consumeLock = @f0>,
                #aie.objectfifo_segment<offset = 4, size = 4, produceLock = @e1, consumeLock = @f1>]} : memref<8xi32>
  aie.objectfifo.core_endpoint @reader(%tile) drains @p {segments = array<i32: 0, 1>}
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    scf.for %i = %c0 to %c9 step %c1 {
      %objects:2 = aie.objectfifo.acquire @reader(2) : memref<8xi32>, memref<8xi32>
      func.call @use(%objects#0, %objects#1) : (memref<8xi32>, memref<8xi32>) -> ()
      aie.objectfifo.release @reader(1)
    }
    aie.end
  }
}

// -----

// One part of an object is a view on it, and has the locks of that part only.
// CHECK-LABEL: @part
// CHECK:       aie.use_lock(%e1, AcquireGreaterEqual
// CHECK:       %[[VIEW:.+]] = memref.subview %b0[4] [4] [1] : memref<8xi32> to memref<4xi32, strided<[1], offset: 4>>
// CHECK:       scf.yield %[[VIEW]] : memref<4xi32, strided<[1], offset: 4>>
// CHECK:       aie.use_lock(%f1, Release
aie.device(npu2) @part {
  %tile = aie.tile(0, 2)
  %b0 = aie.buffer(%tile) {sym_name = "b0"} : memref<8xi32>
  %e1 = aie.lock(%tile) {init = 1 : i32, sym_name = "e1"}
  %f1 = aie.lock(%tile) {init = 0 : i32, sym_name = "f1"}
  aie.objectfifo.pool @p(%tile) {depth = 1 : i32, buffers = [@b0],
    segments = [#aie.objectfifo_segment<offset = 0, size = 4>,
                #aie.objectfifo_segment<offset = 4, size = 4, produceLock = @e1, consumeLock = @f1>]} : memref<8xi32>
  aie.objectfifo.core_endpoint @writer(%tile) fills @p {segments = array<i32: 1>}
  %core = aie.core(%tile) {
    %object = aie.objectfifo.acquire @writer(1) : memref<4xi32, strided<[1], offset: 4>>
    aie.objectfifo.release @writer(1)
    aie.end
  }
}

// -----

// AIE1: the lock of each object says by its value whose turn it is.
// CHECK-LABEL: @turns
// CHECK:       scf.index_switch
// CHECK:       aie.use_lock(%{{.+}}, Acquire, %[[EMPTY:.+]])
// CHECK:       aie.use_lock(%{{.+}}, Release, %[[FULL:.+]])
aie.device(xcvc1902) @turns {
  %tile = aie.tile(1, 2)
  %b0 = aie.buffer(%tile) {sym_name = "b0"} : memref<8xi32>
  %b1 = aie.buffer(%tile) {sym_name = "b1"} : memref<8xi32>
  %l0 = aie.lock(%tile) {init = 0 : i32, sym_name = "l0"}
  %l1 = aie.lock(%tile) {init = 0 : i32, sym_name = "l1"}
  aie.objectfifo.pool @p(%tile) {depth = 2 : i32, buffers = [@b0, @b1], locks = [@l0, @l1]} : memref<8xi32>
  aie.objectfifo.core_endpoint @writer(%tile) fills @p
  %core = aie.core(%tile) {
    %object = aie.objectfifo.acquire @writer(1) : memref<8xi32>
    aie.objectfifo.release @writer(1)
    aie.end
  }
}
