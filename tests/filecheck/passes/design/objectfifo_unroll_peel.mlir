// RUN: tilewright opt --aie-objectFifo-unroll %s | filecheck %s
// RUN: tilewright opt --aie-objectFifo-unroll=peel-first-iteration=false %s | filecheck %s --check-prefix=WHOLE
// RUN: not tilewright opt --aie-objectFifo-unroll=peel-first-iteration=maybe %s 2>&1 | filecheck %s --check-prefix=BAD

// A window of two elements that moves by one: the first iteration takes two, every later one takes what it lacks, one.
// Apart from the first they all do the same, so that the amounts are constants and the count of what is held is gone.
// CHECK:      aie.use_lock(%{{.*}}, AcquireGreaterEqual, %c2_i32)
// CHECK-NEXT: aie.use_lock(%{{.*}}, Release, %c1_i32)
// CHECK-NEXT: scf.for %{{.*}} = %c1 to %{{.*}} step %c1 {
// CHECK-NEXT:   aie.use_lock(%{{.*}}, AcquireGreaterEqual, %c1_i32)
// CHECK-NEXT:   aie.use_lock(%{{.*}}, Release, %c1_i32)
// CHECK-NEXT: }

// WHOLE:      scf.for {{.*}} iter_args(%[[HELD:.+]] = %c0_i32) -> (i32) {
// WHOLE-NEXT:   %[[LACK:.+]] = arith.subi %c2_i32, %[[HELD]] : i32
// WHOLE-NEXT:   aie.use_lock(%{{.*}}, AcquireGreaterEqual, %[[LACK]])

// BAD: error: 'aie.device' op invalid peel-first-iteration value 'maybe'; expected "true", "false" or "auto"
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %full = aie.lock(%tile) {init = 0 : i32}
  %free = aie.lock(%tile) {init = 4 : i32}
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %many = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %end = scf.for %i = %c0 to %many step %c1 iter_args(%held = %zero) -> (i32) {
      %lack = arith.subi %two, %held : i32
      aie.use_lock(%full, AcquireGreaterEqual, %lack)
      aie.use_lock(%free, Release, %one)
      scf.yield %one : i32
    }
    aie.end
  }
}
