// RUN: tilewright opt --split-input-file --aie-objectFifo-unroll %s | filecheck %s

// A FIFO of two buffers is back at the first after two iterations: each gets its own copy of the body, and the ninth
// iteration one more. What chose the buffer at run time is gone.
// CHECK-LABEL: aie.device(npu1) @turns
aie.device(npu1) @turns {
  %tile = aie.tile(0, 2)
  // CHECK: %[[A:.+]] = aie.buffer({{.*}}) {sym_name = "a"}
  // CHECK: %[[B:.+]] = aie.buffer({{.*}}) {sym_name = "b"}
  %a = aie.buffer(%tile) {sym_name = "a"} : memref<16xi32>
  %b = aie.buffer(%tile) {sym_name = "b"} : memref<16xi32>
  func.func private @work(memref<16xi32>, index)
  // CHECK:      aie.core
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    // CHECK:      scf.for %[[I:.+]] = %c0 to %c8 step %c2 {
    // CHECK-NEXT:   func.call @work(%[[A]], %[[I]])
    // CHECK-NEXT:   %[[NEXT:.+]] = arith.addi %[[I]], %c1 : index
    // CHECK-NEXT:   func.call @work(%[[B]], %[[NEXT]])
    // CHECK-NEXT: }
    // CHECK-NEXT: func.call @work(%[[A]], %c8)
    // CHECK-NEXT: aie.end
    %end = scf.for %i = %c0 to %c9 step %c1 iter_args(%turn = %zero) -> (i32) {
      %which = arith.index_cast %turn : i32 to index
      %buffer = scf.index_switch %which -> memref<16xi32>
      case 0 {
        scf.yield %a : memref<16xi32>
      }
      case 1 {
        scf.yield %b : memref<16xi32>
      }
      default {
        scf.yield %a : memref<16xi32>
      }
      func.call @work(%buffer, %i) : (memref<16xi32>, index) -> ()
      %sum = arith.addi %turn, %one : i32
      %next = arith.remsi %sum, %two : i32
      scf.yield %next : i32
    } {aie.unroll_hint = 2 : i64}
    aie.end
  }
}

// -----

// A core that says so keeps its loops, and chooses at run time.
// CHECK-LABEL: aie.device(npu1) @rolled
aie.device(npu1) @rolled {
  %tile = aie.tile(0, 2)
  func.func private @work(i32)
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // CHECK:      scf.for %{{.*}} = %c0 to %c4 step %c1 iter_args(%[[TURN:.+]] = %c0_i32) -> (i32) {
    // CHECK-NEXT:   func.call @work(%[[TURN]])
    // CHECK-NOT:  aie.unroll_hint
    %end = scf.for %i = %c0 to %c4 step %c1 iter_args(%turn = %zero) -> (i32) {
      func.call @work(%turn) : (i32) -> ()
      %next = arith.addi %turn, %one : i32
      scf.yield %next : i32
    } {aie.unroll_hint = 2 : i64}
    aie.end
  } {dynamic_objfifo_lowering = true}
}

// -----

// A loop shorter than a turn is gone, the inner one first; one without a hint stays.
// CHECK-LABEL: aie.device(npu1) @short
aie.device(npu1) @short {
  %tile = aie.tile(0, 2)
  func.func private @work(index, index, index)
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %many = arith.constant 100 : index
    // CHECK:      scf.for %[[I:.+]] = %c0 to %c100 step %c1 {
    // CHECK-NEXT:   func.call @work(%[[I]], %c0, %c0)
    // CHECK-NEXT:   func.call @work(%[[I]], %c0, %c1)
    // CHECK-NEXT:   func.call @work(%[[I]], %c1, %c0)
    // CHECK-NEXT:   func.call @work(%[[I]], %c1, %c1)
    // CHECK-NEXT: }
    scf.for %i = %c0 to %many step %c1 {
      scf.for %j = %c0 to %c2 step %c1 {
        scf.for %k = %c0 to %c2 step %c1 {
          func.call @work(%i, %j, %k) : (index, index, index) -> ()
        } {aie.unroll_hint = 4 : i64}
      } {aie.unroll_hint = 2 : i64}
    }
    aie.end
  }
}

// -----

// A binary lock that a block has acquired is not acquired again before it is released.
// CHECK-LABEL: aie.device(xcvc1902)
aie.device(xcvc1902) {
  %tile = aie.tile(1, 2)
  %lock = aie.lock(%tile, 0)
  %core = aie.core(%tile) {
    %one = arith.constant 1 : i32
    // CHECK:      aie.use_lock(%{{.*}}, Acquire, %c1_i32)
    // CHECK-NEXT: aie.use_lock(%{{.*}}, Release, %c1_i32)
    // CHECK-NEXT: aie.use_lock(%{{.*}}, Acquire, %c1_i32)
    // CHECK-NEXT: aie.end
    aie.use_lock(%lock, Acquire, %one)
    aie.use_lock(%lock, Acquire, %one)
    aie.use_lock(%lock, Release, %one)
    aie.use_lock(%lock, Acquire, %one)
    aie.end
  }
}
