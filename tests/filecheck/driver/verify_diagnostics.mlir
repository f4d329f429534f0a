// RUN: tilewright opt %s --split-input-file --verify-diagnostics
// RUN: not tilewright opt %s --split-input-file 2>&1 | filecheck %s
// The same file passes with its expectations, and fails with located errors without.

// CHECK: verify_diagnostics.mlir:7:{{[0-9]+}}: error: 'aie.tile' op column index (4) must be less
aie.device(npu1) {
  %tile = aie.tile(4, 2) // expected-error {{column index (4) must be less than the number of columns in the device}}
}

// -----

aie.device(npu1) {
  // expected-error-re@below {{'aie.tile' op row index ({{[0-9]+}}) must be less than the number of rows in the device}}
  %tile = aie.tile(0, 6)
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %lock = aie.lock(%tile, 99)
  // expected-error@above {{lock assigned invalid id (maximum is 15)}}
}
