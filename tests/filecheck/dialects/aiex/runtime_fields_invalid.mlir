// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{'length' is no field of a buffer descriptor}}
    aiex.npu.writebd values(length = %a : i32) {valid_bd = 1 : i32}
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{'d0_size' is given twice}}
    aiex.npu.writebd values(d0_size = %a : i32) {d0_size = 1 : i32}
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{has 2 runtime values for 1 fields}}
    "aiex.npu.push_queue"(%a, %a, %a, %a) <{channel = 0 : i32, column = 0 : i32, direction = 1 : i32, issue_token = false, row = 0 : i32, runtime_fields = ["row"]}> : (i32, i32, i32, i32) -> ()
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%a: i32) {
    // expected-error@+1 {{has no field 'bd_id' that can be a runtime value}}
    "aiex.npu.push_queue"(%a, %a, %a) <{channel = 0 : i32, column = 0 : i32, direction = 1 : i32, issue_token = false, row = 0 : i32, runtime_fields = ["bd_id"]}> : (i32, i32, i32) -> ()
  }
}
