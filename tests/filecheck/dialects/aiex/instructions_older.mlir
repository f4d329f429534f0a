// RUN: tilewright opt %s | filecheck %s

// Numbers that older programs write as attributes are read as constants in front of the instruction.

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %rtp = aie.buffer(%tile) {address = 1024 : i32, sym_name = "rtp"} : memref<16xi32>
  aiex.runtime_sequence(%n: i32) {
    aiex.npu.write32 {address = 4 : ui32, value = 0xFFFFFFFF : ui32, column = 0 : i32, row = 2 : i32}
    // CHECK:      aie.runtime_sequence(%arg0: i32) {
    // CHECK-NEXT: %[[ADDRESS:.+]] = arith.constant 4 : i32
    // CHECK-NEXT: %[[VALUE:.+]] = arith.constant -1 : i32
    // CHECK-NEXT: aiex.npu.write32(%[[ADDRESS]], %[[VALUE]]) {column = 0 : i32, row = 2 : i32} : i32, i32

    aiex.npu.maskwrite32 {address = 8 : ui32, value = 1 : ui32, mask = 15 : ui32}
    // CHECK-NEXT: %[[ADDRESS:.+]] = arith.constant 8 : i32
    // CHECK-NEXT: %[[VALUE:.+]] = arith.constant 1 : i32
    // CHECK-NEXT: %[[MASK:.+]] = arith.constant 15 : i32
    // CHECK-NEXT: aiex.npu.maskwrite32(%[[ADDRESS]], %[[VALUE]], %[[MASK]]) : i32, i32, i32

    aiex.npu.sync {column = 2 : i32, row = 0 : i32, direction = 1 : i32, channel = 3 : i32, column_num = 4 : i32, row_num = 5 : i32}
    // CHECK-NEXT: %[[C:.+]] = arith.constant 2 : i32
    // CHECK-NEXT: %[[R:.+]] = arith.constant 0 : i32
    // CHECK-NEXT: %[[D:.+]] = arith.constant 1 : i32
    // CHECK-NEXT: %[[CH:.+]] = arith.constant 3 : i32
    // CHECK-NEXT: %[[NC:.+]] = arith.constant 4 : i32
    // CHECK-NEXT: %[[NR:.+]] = arith.constant 5 : i32
    // CHECK-NEXT: aiex.npu.sync(%[[C]], %[[R]], %[[D]], %[[CH]], %[[NC]], %[[NR]]) : i32, i32, i32, i32, i32, i32

    aiex.npu.address_patch {addr = 118788 : ui32, arg_idx = 1 : i32, arg_plus = 64 : i32}
    // CHECK-NEXT: %[[OFFSET:.+]] = arith.constant 64 : i32
    // CHECK-NEXT: aiex.npu.address_patch(%[[OFFSET]] : i32) {addr = 118788 : ui32, arg_idx = 1 : i32}

    aiex.npu.push_queue(0, 0, S2MM:1) {bd_id = 3 : i32, issue_token = true, repeat_count = 2 : i32}
    // CHECK-NEXT: %[[BD:.+]] = arith.constant 3 : i32
    // CHECK-NEXT: %[[REPEAT:.+]] = arith.constant 2 : i32
    // CHECK-NEXT: aiex.npu.push_queue(0, 0, S2MM : 1) bd_id %[[BD]] repeat %[[REPEAT]] {issue_token = true} : i32, i32

    aiex.npu.rtp_write(@rtp, 1, 50)
    // CHECK-NEXT: %[[VALUE:.+]] = arith.constant 50 : i32
    // CHECK-NEXT: aiex.npu.rtp_write(@rtp, 1, %[[VALUE]]) : i32

    // One generation had operands and, next to them, attributes that meant nothing.
    aiex.npu.write32(%n, %n) {address = 0 : ui32, value = 0 : ui32} : i32, i32
    aiex.npu.address_patch(%n : i32) {addr = 118788 : ui32, arg_idx = 1 : i32, arg_plus = 0 : i32}
    // CHECK-NEXT: aiex.npu.write32(%arg0, %arg0) : i32, i32
    // CHECK-NEXT: aiex.npu.address_patch(%arg0 : i32) {addr = 118788 : ui32, arg_idx = 1 : i32}
  }
}
