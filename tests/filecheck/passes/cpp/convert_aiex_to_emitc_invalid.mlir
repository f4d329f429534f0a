// RUN: tilewright opt --split-input-file --verify-diagnostics --convert-aiex-to-emitc %s

// All that cannot be converted is reported, wherever it is.
aie.device(npu1) {
  aie.runtime_sequence @unsupported(%buffer: memref<8xi32>, %n: index) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %id = arith.constant 0 : i32
    // expected-error@+1 {{'aiex.npu.push_queue' op is not supported by the C++ TXN target}}
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %id repeat %id {issue_token = false} : i32, i32
    scf.for %i = %zero to %n step %one {
      // expected-error@+1 {{'aiex.control_packet' op is not supported by the C++ TXN target}}
      aiex.control_packet {address = 1024 : ui32, data = array<i32: 2>, opcode = 0 : i32, stream_id = 0 : i32}
    }
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence @address(%address: i32) {
    // expected-error@+1 {{cannot convert a symbolic/unresolved write32 address to the C++ TXN target}}
    aiex.npu.write32(%address, %address) : i32, i32
    // expected-error@+1 {{cannot convert a symbolic/unresolved maskwrite32 address to the C++ TXN target}}
    aiex.npu.maskwrite32(%address, %address, %address) : i32, i32, i32
  }
}

// -----

// A buffer without address, and a runtime index into a buffer.
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %rtp = aie.buffer(%tile) {sym_name = "rtp"} : memref<16xi32>
  aie.runtime_sequence @buffer(%index: i32) {
    %three = arith.constant 3 : i32
    // expected-error@+1 {{referenced buffer must have address assigned}}
    aiex.npu.write32(%three, %index) {buffer = @rtp} : i32, i32
    %sum = arith.addi %index, %three : i32
    // expected-error@+1 {{cannot convert a symbolic/unresolved write32 address to the C++ TXN target}}
    aiex.npu.write32(%sum, %index) {buffer = @rtp} : i32, i32
  }
}

// -----

aie.device(npu1) {
  memref.global "private" @data : memref<2xi32>
  aie.runtime_sequence @data_unknown() {
    %data = memref.get_global @data : memref<2xi32>
    // expected-error@+2 {{Global symbol has no initial value}}
    // expected-error@+1 {{cannot convert blockwrite without a constant address and data to the C++ TXN target}}
    aiex.npu.blockwrite(%data) {address = 4096 : ui32} : memref<2xi32>
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence @float(%a: i32) {
    %register = arith.constant 64 : i32
    // expected-error@+1 {{'arith.sitofp' op is not supported by the C++ TXN target}}
    %float = arith.sitofp %a : i32 to f32
    aiex.npu.write32(%register, %a) : i32, i32
  }
}
