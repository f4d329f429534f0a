// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-expand-load-pdi %s

aie.device(npu2_1col) {
  aie.runtime_sequence() {
    // expected-error@+2 {{Referenced symbol 'nothing' is not a device}}
    // expected-note@+1 {{name an aie.device of this module}}
    aiex.npu.load_pdi {device_ref = @nothing}
  }
}

// -----

aie.device(npu2_1col) @other {}
aie.device(npu2_1col) {
  aie.runtime_sequence() {
    // expected-error@+2 {{ctrl-pkt mode requires a `@ctrl_pkt_overlay` device in the module}}
    // expected-note@+1 {{--aie-generate-column-control-overlay makes one}}
    aiex.npu.load_pdi {device_ref = @other, expand_mode = 2 : i32}
  }
}

// -----

// What is wrong with a device is an error there, and where it is loaded.
aie.device(npu2_1col) @other {
  %core = aie.tile(0, 2)
  // expected-error@+1 {{buffer must have address assigned}}
  %b = aie.buffer(%core) : memref<1xi32> = dense<1>
}
aie.device(npu2_1col) {
  aie.runtime_sequence() {
    // expected-error@+1 {{Failed to generate configuration operations}}
    aiex.npu.load_pdi {device_ref = @other}
  }
}
