// RUN: tilewright opt --split-input-file --verify-diagnostics --convert-aiex-to-emitc %s

aie.device(npu2) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{WRITE has no field 'mask'; it has op_column, op_row, op_pad, pad, address, address_high, value, and word0 and so on}}
    aiex.npu.operation WRITE(mask = 1)
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{WRITE: op_row is a part of word0: only the whole word can be a value}}
    aiex.npu.operation WRITE(op_row = %a)
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{there is no operation NOTHING in version 0.1 of the format}}
    aiex.npu.operation NOTHING
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{NOOP takes no payload}}
    aiex.npu.operation NOOP payload [1]
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{4294967296 is no 32-bit word}}
    aiex.npu.operation WRITE(value = 4294967296)
  }
}

// -----

aie.device(npu2) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{'value' is given twice}}
    aiex.npu.operation WRITE(value = 1, value = 2)
  }
}
