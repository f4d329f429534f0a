// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-standard-lowering %s

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-note@+1 {{this is it}}
  %lock = aie.lock(%tile, 0)
  %core = aie.core(%tile) {
    %one = arith.constant 1 : i32
    // expected-error@+1 {{uses a lock that the core knows by a number; run --aie-localize-locks first}}
    aie.use_lock(%lock, Release, %one)
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{has no name; run --aie-assign-buffer-addresses first, which gives it one}}
  %buffer = aie.buffer(%tile) : memref<4xi32>
}

// -----

aie.device(npu1) {
  // expected-note@+1 {{which is this one}}
  %one = arith.constant 1 : i32
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    // expected-error@+1 {{uses a value of the device in the program of a core}}
    aie.debug(%one : i32)
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.logical_tile<CoreTile>(?, ?)
  // expected-error@+1 {{is on a tile that is not placed; run --aie-place-tiles first}}
  %core = aie.core(%tile) {
    aie.end
  }
}
