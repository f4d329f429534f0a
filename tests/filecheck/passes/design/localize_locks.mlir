// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-localize-locks %s | filecheck %s

// A core has a window of 16 locks for each memory it reaches: south, west, north and its own.
// CHECK-LABEL: aie.device(npu1)
aie.device(npu1) {
  %below = aie.tile(1, 2)
  %here = aie.tile(1, 3)
  %above = aie.tile(1, 4)
  %west = aie.tile(0, 3)
  %south = aie.lock(%below, 1)
  %own = aie.lock(%here, 2)
  %north = aie.lock(%above, 3)
  %left = aie.lock(%west, 4)
  %unused = aie.lock(%here, 5)
  // CHECK:      aie.core
  // CHECK-NEXT: %[[WEST:.+]] = arith.constant 20 : index
  // CHECK-NEXT: %[[NORTH:.+]] = arith.constant 35 : index
  // CHECK-NEXT: %[[OWN:.+]] = arith.constant 50 : index
  // CHECK-NEXT: %[[SOUTH:.+]] = arith.constant 1 : index
  // CHECK-NEXT: %[[ONE:.+]] = arith.constant 1 : i32
  %core = aie.core(%here) {
    %one = arith.constant 1 : i32
    // CHECK-NEXT: aie.use_lock(%[[SOUTH]], Acquire, %[[ONE]])
    // CHECK-NEXT: aie.use_lock(%[[OWN]], Acquire, %[[ONE]])
    // CHECK-NEXT: aie.use_lock(%[[NORTH]], Acquire, %[[ONE]])
    // CHECK-NEXT: aie.use_lock(%[[WEST]], Acquire, %[[ONE]])
    aie.use_lock(%south, Acquire, %one)
    aie.use_lock(%own, Acquire, %one)
    aie.use_lock(%north, Acquire, %one)
    aie.use_lock(%left, Acquire, %one)
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(1, 3)
  // expected-error@+1 {{has no number that a core could know it by; run --aie-assign-lock-ids first}}
  %lock = aie.lock(%tile)
  %core = aie.core(%tile) {
    %one = arith.constant 1 : i32
    aie.use_lock(%lock, Acquire, %one)
    aie.end
  }
}
