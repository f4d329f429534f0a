// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %rtp = aie.buffer(%tile) {address = 1024 : i32, sym_name = "rtp"} : memref<16xi32>
  memref.global "private" constant @words : memref<2xi32> = dense<[1, 2]>
  aie.runtime_sequence(%a: i32, %v: i32, %m: i32) {
    // An address is absolute, or relative to a tile or a buffer.
    aiex.npu.write32(%a, %v) : i32, i32
    aiex.npu.write32(%a, %v) {row = 2 : i32, column = 0 : i32} : i32, i32
    aiex.npu.maskwrite32(%a, %v, %m) {buffer = @rtp} : i32, i32, i32
    aiex.npu.maskpoll(%a, %v, %m) : i32, i32, i32
    %words = memref.get_global @words : memref<2xi32>
    aiex.npu.blockwrite(%words) {address = 118784 : ui32} : memref<2xi32>
    aiex.npu.rtp_write(@rtp, 3, %v) : i32

    aiex.npu.sync(%a, %a, %a, %a, %v, %v) : i32, i32, i32, i32, i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 1) bd_id %a repeat %v {issue_token = false} : i32, i32

    // The register to patch is an attribute, unless it depends on a runtime value.
    aiex.npu.address_patch(%v : i32) {addr = 118788 : ui32, arg_idx = 1 : i32}
    aiex.npu.address_patch(%v : i32) addr %a : i32 {addr = 0 : ui32, arg_idx = 1 : i32}

    aiex.npu.assert_bd_field(%v) {max = 1023 : i32} : i32
    aiex.npu.assert_bd_divisible(%v) {divisor = 4 : i32} : i32
    aiex.npu.assert_bd_divisible(%v) {divisor = 4 : i32, allow_unit} : i32
    aiex.npu.assert_range(%v) {min = 1 : i64, max = 64 : i64} : i32

    aiex.npu.preempt {level = 2 : ui8}
    aiex.npu.load_pdi {device_ref = @main, id = 1 : i32, size = 0 : i32, address = 4 : ui64, expand_mode = 1 : i32}
    aiex.npu.create_scratchpad {size = 64 : ui32}
    aiex.npu.update_from_scratchpad {state_table_idx = 3 : ui8, address = 118788 : ui32}
    aiex.npu.update_from_scratchpad<mul> {state_table_idx = 3 : ui8, func_arg = 4 : ui32, address = 118788 : ui32}
  }
}

// CHECK:      aie.runtime_sequence(%arg0: i32, %arg1: i32, %arg2: i32) {
// CHECK-NEXT: aiex.npu.write32(%arg0, %arg1) : i32, i32
// CHECK-NEXT: aiex.npu.write32(%arg0, %arg1) {column = 0 : i32, row = 2 : i32} : i32, i32
// CHECK-NEXT: aiex.npu.maskwrite32(%arg0, %arg1, %arg2) {buffer = @rtp} : i32, i32, i32
// CHECK-NEXT: aiex.npu.maskpoll(%arg0, %arg1, %arg2) : i32, i32, i32
// CHECK-NEXT: %0 = memref.get_global @words : memref<2xi32>
// CHECK-NEXT: aiex.npu.blockwrite(%0) {address = 118784 : ui32} : memref<2xi32>
// CHECK-NEXT: aiex.npu.rtp_write(@rtp, 3, %arg1) : i32
// CHECK-NEXT: aiex.npu.sync(%arg0, %arg0, %arg0, %arg0, %arg1, %arg1) : i32, i32, i32, i32, i32, i32
// CHECK-NEXT: aiex.npu.push_queue(0, 0, MM2S : 1) bd_id %arg0 repeat %arg1 {issue_token = false} : i32, i32
// CHECK-NEXT: aiex.npu.address_patch(%arg1 : i32) {addr = 118788 : ui32, arg_idx = 1 : i32}
// CHECK-NEXT: aiex.npu.address_patch(%arg1 : i32) addr %arg0 : i32 {addr = 0 : ui32, arg_idx = 1 : i32}
// CHECK-NEXT: aiex.npu.assert_bd_field(%arg1) {max = 1023 : i32} : i32
// CHECK-NEXT: aiex.npu.assert_bd_divisible(%arg1) {divisor = 4 : i32} : i32
// CHECK-NEXT: aiex.npu.assert_bd_divisible(%arg1) {allow_unit, divisor = 4 : i32} : i32
// CHECK-NEXT: aiex.npu.assert_range(%arg1) {max = 64 : i64, min = 1 : i64} : i32
// CHECK-NEXT: aiex.npu.preempt {level = 2 : ui8}
// CHECK-NEXT: aiex.npu.load_pdi {address = 4 : ui64, device_ref = @main, expand_mode = 1 : i32, id = 1 : i32}
// CHECK-NEXT: aiex.npu.create_scratchpad {size = 64 : ui32}
// CHECK-NEXT: aiex.npu.update_from_scratchpad {address = 118788 : ui32, state_table_idx = 3 : ui8}
// CHECK-NEXT: aiex.npu.update_from_scratchpad<mul> {address = 118788 : ui32, func_arg = 4 : ui32, state_table_idx = 3 : ui8}

// The repeat count is the first operand of a push, although the text begins with the descriptor.
// GENERIC: "aiex.npu.push_queue"(%arg1, %arg0) <{channel = 1 : i32, column = 0 : i32, direction = 1 : i32, issue_token = false, row = 0 : i32}> : (i32, i32) -> ()
// GENERIC: "aiex.npu.address_patch"(%arg0, %arg1) <{addr = 0 : ui32, arg_idx = 1 : i32}> : (i32, i32) -> ()
// GENERIC: "aiex.npu.update_from_scratchpad"() <{address = 118788 : ui32, func = 1 : i32, state_table_idx = 3 : ui8}> : () -> ()
