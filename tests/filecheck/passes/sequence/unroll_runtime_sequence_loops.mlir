// RUN: tilewright opt --aie-unroll-runtime-sequence-loops %s | filecheck %s

// Loops that run a known number of times are unrolled, inner ones first. What an iteration yields, the next one gets.
// CHECK-LABEL: aie.runtime_sequence @nested
aie.device(npu1) {
  aie.runtime_sequence @nested(%value: i32) {
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    // CHECK:      %[[START:.+]] = arith.constant 0 : i32
    // CHECK:      %[[STEP:.+]] = arith.constant 4 : i32
    // CHECK-NOT:  scf.for
    // CHECK:      aiex.npu.write32(%[[START]], %arg0)
    // CHECK-NEXT: %[[ONE:.+]] = arith.constant 1 : i32
    // CHECK-NEXT: %[[DISTANCE:.+]] = arith.muli %[[STEP]], %[[ONE]] : i32
    // CHECK-NEXT: %[[ADDRESS:.+]] = arith.addi %[[START]], %[[DISTANCE]] : i32
    // CHECK-NEXT: aiex.npu.write32(%[[ADDRESS]], %[[START]])
    // CHECK:      aiex.npu.write32(%[[START]], %[[ADDRESS]])
    // CHECK:      aiex.npu.write32(%{{.+}}, %[[START]])
    // CHECK-NEXT: }
    %last = scf.for %i = %c0 to %c8 step %c4 iter_args(%outer = %value) -> (i32) : i32 {
      %inner = scf.for %j = %c0 to %c8 step %c4 iter_args(%carried = %outer) -> (i32) : i32 {
        aiex.npu.write32(%j, %carried) : i32, i32
        scf.yield %j : i32
      }
      scf.yield %inner : i32
    }
  }

  // One that depends on the run time stays, also where it is inside of one that does not; so does one that never runs.
  // CHECK-LABEL: aie.runtime_sequence @stays
  aie.runtime_sequence @stays(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    // CHECK: scf.for %{{.+}} = %{{.+}} to %arg0
    // CHECK: scf.for %{{.+}} = %{{.+}} to %arg0
    scf.for %i = %c0 to %c2 step %c1 : i32 {
      scf.for %j = %c0 to %n step %c1 : i32 {
        aiex.npu.write32(%j, %n) : i32, i32
      }
    }
    // CHECK: scf.for %{{.+}} = %{{.+}} to %[[END:.+]] step
    scf.for %i = %c0 to %c0 step %c1 : i32 {
      aiex.npu.write32(%i, %n) : i32, i32
    }
    // CHECK-NOT: scf.for
  }

  // Loops of cores are not touched.
  // CHECK-LABEL: aie.core
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    // CHECK: scf.for
    scf.for %i = %c0 to %c2 step %c1 {
      func.call @f() : () -> ()
    }
    aie.end
  }
  func.func private @f()
}
