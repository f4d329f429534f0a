// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{expected 4 or 6 operands, but found 5}}
    aiex.npu.dyn_sync(%a, %a, %a, %a, %a) : i32, i32, i32, i32, i32
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{expected an address and words}}
    aiex.npu.dyn_blockwrite(%a) : i32
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{number of operands and types do not match: got 2 operands and 1 types}}
    aiex.npu.dyn_write32(%a, %a) : i32
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%a: f32, %b: i32) {
    // expected-error@+1 {{operand #0 must be signless integer or index, but got 'f32'}}
    aiex.npu.dyn_write32(%a, %b) : f32, i32
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%host: memref<16xi32>, %n: index) {
    // expected-error@+1 {{expected 1 to 4 offsets, and as many sizes and strides}}
    aiex.npu.dyn_dma_memcpy_nd(%host, [%n], [%n, %n], [%n, %n, %n], metadata = @in, id = 0) : memref<16xi32>, [index], [index, index], [index, index, index]
  }
}
