// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-lower-set-lock %s

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-note@+1 {{give this lock an id, or run --aie-assign-lock-ids first}}
  %lock = aie.lock(%core)
  aie.runtime_sequence() {
    // expected-error@+2 {{Tried to lower a SetLockOp on an unassigned lock}}
    // expected-error@+1 {{failed to legalize operation 'aiex.set_lock' that was explicitly marked illegal}}
    aiex.set_lock(%lock, 1)
  }
}

// -----

aie.device(npu1) {
  %core = aie.logical_tile<CoreTile>(?, ?)
  %lock = aie.lock(%core, 0)
  aie.runtime_sequence() {
    // expected-error@+2 {{Tried to lower a SetLockOp on a lock whose tile is not placed; run placement first}}
    // expected-error@+1 {{failed to legalize operation}}
    aiex.set_lock(%lock, 1)
  }
}
