// RUN: tilewright opt --aie-lower-core-reset %s | filecheck %s

// The reset bit of the core's control register is set and cleared; a mask leaves the enable bit beside it alone.
aie.device(npu1) {
  %core = aie.tile(1, 3)
  aie.runtime_sequence() {
    // CHECK:      %[[ADDRESS:.+]] = arith.constant 204800 : i32
    // CHECK-NEXT: %[[SET:.+]] = arith.constant 2 : i32
    // CHECK-NEXT: %[[MASK:.+]] = arith.constant 2 : i32
    // CHECK-NEXT: aiex.npu.maskwrite32(%[[ADDRESS]], %[[SET]], %[[MASK]]) {column = 1 : i32, row = 3 : i32}
    // CHECK-NEXT: %[[AGAIN:.+]] = arith.constant 204800 : i32
    // CHECK-NEXT: %[[CLEAR:.+]] = arith.constant 0 : i32
    // CHECK-NEXT: %[[SAME:.+]] = arith.constant 2 : i32
    // CHECK-NEXT: aiex.npu.maskwrite32(%[[AGAIN]], %[[CLEAR]], %[[SAME]]) {column = 1 : i32, row = 3 : i32}
    // CHECK-NEXT: }
    aiex.core_reset(%core)
  }
}
