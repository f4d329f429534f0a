// RUN: tilewright opt --split-input-file --verify-diagnostics --tilewright-guard-instructions %s | filecheck %s

// A known address is left alone, be it that in the tile or the whole one of a register of the tile.
// CHECK-LABEL: @known
// CHECK-NOT: assert
aie.device(npu1) {
  aie.runtime_sequence @known(%value: i32) {
    %in_tile = arith.constant 122372 : i32
    aiex.npu.write32(%in_tile, %value) {column = 0 : i32, row = 2 : i32} : i32, i32
    %whole = arith.constant 2219524 : i32
    aiex.npu.write32(%whole, %value) {column = 0 : i32, row = 2 : i32} : i32, i32
  }
}

// -----

// One that is not known is checked, and is made absolute.
// CHECK-LABEL: @unknown
// CHECK:      aiex.npu.assert_range(%arg0) {max = 1048575 : i64, min = 0 : i64, subject = "address in the tile"} : i32
// CHECK-NEXT: %[[BASE:.+]] = arith.constant 2097152 : i32
// CHECK-NEXT: %[[ADDRESS:.+]] = arith.addi %[[BASE]], %arg0 : i32
// CHECK-NEXT: aiex.npu.assert_bd_divisible(%[[ADDRESS]]) {divisor = 4 : i32, subject = "address"} : i32
// CHECK-NEXT: aiex.npu.write32(%[[ADDRESS]], %arg0) : i32, i32
aie.device(npu1) {
  aie.runtime_sequence @unknown(%n: i32) {
    aiex.npu.write32(%n, %n) {column = 0 : i32, row = 2 : i32} : i32, i32
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence @other_tile(%value: i32) {
    %whole = arith.constant 2219524 : i32
    // expected-error@+1 {{address in the tile is 2219524 but must be in [0:1048575]}}
    aiex.npu.write32(%whole, %value) {column = 0 : i32, row = 3 : i32} : i32, i32
  }
}

// -----

// A wait for a channel that a tile does not have would never end.
aie.device(npu1) {
  aie.runtime_sequence @no_channel() {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    // expected-error@+1 {{MM2S channel is 2 but must be in [0:1]}}
    aiex.npu.sync(%c0, %c0, %c1, %c2, %c1, %c1) : i32, i32, i32, i32, i32, i32
  }
}

// -----

// What is never executed is not checked.
// CHECK-LABEL: @not_reached
// CHECK-NOT: assert
aie.device(npu1) {
  aie.runtime_sequence @not_reached(%value: i32) {
    %no = arith.constant false
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %odd = arith.constant 3 : i32
    scf.if %no {
      aiex.npu.write32(%odd, %value) : i32, i32
    }
    scf.for %i = %c0 to %c0 step %c1 {
      aiex.npu.write32(%odd, %value) : i32, i32
    }
  }
}
