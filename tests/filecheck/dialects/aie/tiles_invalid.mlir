// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  // expected-error@+1 {{'aie.tile' op column index (4) must be less than the number of columns in the device (4)}}
  %0 = aie.tile(4, 0)
}

// -----

aie.device(npu2) {
  // expected-error@+1 {{'aie.tile' op row index (6) must be less than the number of rows in the device (6)}}
  %0 = aie.tile(7, 6)
}

// -----

aie.device(npu2) {
  // expected-error@+1 {{'aie.tile' op attribute 'row' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 0}}
  %0 = aie.tile(7, -1)
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{'aie.tile' op Shim tiles cannot have an allocation scheme}}
  %0 = aie.tile(0, 0) {allocation_scheme = "bank-aware"}
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{'aie.tile' op can only have one switchbox}}
  %0 = aie.tile(0, 2)
  aie.switchbox(%0) {
  }
  aie.switchbox(%0) {
  }
}

// -----

// expected-error@+1 {{expected string or keyword containing one of the following enum values for attribute 'device' [xcvc1902, }}
aie.device(npu3) {
}

// -----

module {
  module {
    aie.device(npu1) {
      // Symbols of a device are its own, and a device stands in a module.
      // expected-error@+1 {{'aie.device' op expects parent op 'builtin.module'}}
      aie.device(npu1) {
      }
    }
  }
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{'aie.logical_tile' op column index (4) must be less than the number of columns in the device (4)}}
  %0 = aie.logical_tile<CoreTile>(4, ?)
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{'aie.logical_tile' op tile type 'ShimPLTile' does not exist on the target device}}
  %0 = aie.logical_tile<ShimPLTile>(?, ?)
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{'aie.logical_tile' op declared logical tile type does not match the tile type at coordinates (0, 1)}}
  %0 = aie.logical_tile<CoreTile>(0, 1)
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{unknown logical tile type: Core}}
  %0 = aie.logical_tile<Core>(0, 2)
}
