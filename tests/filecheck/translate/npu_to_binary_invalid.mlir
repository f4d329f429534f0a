// RUN: not tilewright translate --aie-npu-to-binary --aie-output-binary=false %s -o %t.txt 2>&1 | filecheck %s
// RUN: tilewright translate --aie-npu-to-binary --verify-diagnostics %s
// RUN: not tilewright translate --aie-npu-to-binary --aie-device-name=other %s 2>&1 | filecheck --check-prefix=DEVICE %s
// RUN: not tilewright translate --aie-npu-to-binary --aie-sequence-name=other %s 2>&1 | filecheck --check-prefix=SEQUENCE %s
// A value that is only known at run time has no place in a binary. Everything of the kind is reported, also what is in
// regions.

// CHECK-COUNT-7: error: 'aiex.npu.
// CHECK:         error: 'scf.if' op
// DEVICE:        error: No such device: other
// SEQUENCE:      error: No such runtime sequence: other
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %rtp = aie.buffer(%tile) {sym_name = "rtp"} : memref<16xi32>
  aie.runtime_sequence(%value: i32, %condition: i1) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error@+1 {{Cannot translate write32 with non-constant address or value to a static TXN binary}}
    aiex.npu.write32(%zero, %value) : i32, i32
    // expected-error@+1 {{Cannot translate maskwrite32 with non-constant address, value, or mask to a static TXN binary}}
    aiex.npu.maskwrite32(%zero, %zero, %value) : i32, i32, i32
    // expected-error@+1 {{Cannot translate sync with non-constant operands to a static TXN binary}}
    aiex.npu.sync(%zero, %zero, %zero, %zero, %value, %one) : i32, i32, i32, i32, i32, i32
    // expected-error@+1 {{Cannot translate address_patch with non-constant arg_plus to a static TXN binary}}
    aiex.npu.address_patch(%value : i32) {addr = 4 : ui32, arg_idx = 0 : i32}
    // expected-error@+1 {{Cannot translate address_patch with a runtime register address (addr_val) to a static TXN binary; the runtime-bd_id pool path targets the C++ TXN target only}}
    aiex.npu.address_patch(%zero : i32) addr %value : i32 {addr = 4 : ui32, arg_idx = 0 : i32}
    // expected-error@+1 {{Cannot translate symbolic address}}
    aiex.npu.write32(%zero, %one) {buffer = @rtp} : i32, i32
    // expected-error@+1 {{'aiex.npu.push_queue' op cannot be translated to TXN operations}}
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = false} : i32, i32
    // expected-error@+1 {{'scf.if' op Cannot translate control flow with non-constant operands to a static TXN binary}}
    scf.if %condition {
      aiex.npu.write32(%zero, %one) : i32, i32
    }
  }
}
