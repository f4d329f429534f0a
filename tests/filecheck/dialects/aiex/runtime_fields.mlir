// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

// Fields that are known only at run time, of any width, in the place of the numbers.
aie.device(npu1) {
  aie.runtime_sequence @fields(%a: i32, %b: i8, %n: index) {
    aiex.npu.writebd values(column = %n : index, d0_size = %a : i32, lock_acq_val = %b : i8) {bd_id = 3 : i32, valid_bd = 1 : i32, row = 1 : i32}
    aiex.npu.push_queue(%n, 0, MM2S : %b) bd_id %a repeat %b {issue_token = true} : i32, i8, index, i8
    aiex.npu.push_queue(0, %a, %b : 1) bd_id %n repeat %a issue_token %b : index, i32, i32, i8, i8
    aiex.npu.address_patch(%n : index) arg %b : i8 {addr = 118788 : ui32}
    aiex.npu.address_patch(%a : i32) addr %n : index arg %b : i8 {addr = 0 : ui32}
    // A block write of values is one of words that may be known only at run time.
    aiex.npu.blockwrite(%a, %b) {address = 4096 : ui32, column = 1 : i32, row = 2 : i32} : i32, i8
    aiex.npu.rtp_write(@rtp, 1, %n) : index
  }
}

// CHECK:      aiex.npu.writebd values(column = %arg2 : index, d0_size = %arg0 : i32, lock_acq_val = %arg1 : i8) {bd_id = 3 : i32, row = 1 : i32, valid_bd = 1 : i32}
// CHECK-NEXT: aiex.npu.push_queue(%arg2, 0, MM2S : %arg1) bd_id %arg0 repeat %arg1 {issue_token = true} : i32, i8, index, i8
// CHECK-NEXT: aiex.npu.push_queue(0, %arg0, %arg1 : 1) bd_id %arg2 repeat %arg0 issue_token %arg1 : index, i32, i32, i8, i8
// CHECK-NEXT: aiex.npu.address_patch(%arg2 : index) arg %arg1 : i8 {addr = 118788 : ui32}
// CHECK-NEXT: aiex.npu.address_patch(%arg0 : i32) addr %arg2 : index arg %arg1 : i8 {addr = 0 : ui32}
// CHECK-NEXT: %[[ADDRESS:.+]] = arith.constant 4096 : i32
// CHECK-NEXT: aiex.npu.write_words(%[[ADDRESS]], %arg0, %arg1) {column = 1 : i32, row = 2 : i32} : i32, i32, i8
// CHECK-NEXT: aiex.npu.rtp_write(@rtp, 1, %arg2) : index
