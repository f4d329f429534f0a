// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // CHECK:      %lock_0_2 = aie.lock(%tile_0_2)
  // CHECK-NEXT: %lock_0_2_0 = aie.lock(%tile_0_2, 15)
  // CHECK-NEXT: %free = aie.lock(%tile_0_2, 3) {init = 2 : i32, sym_name = "free"}
  %a = aie.lock(%tile)
  %b = aie.lock(%tile, 15)
  %c = aie.lock(%tile, 3) {sym_name = "free", init = 2 : i32}
  %core = aie.core(%tile) {
    %one = arith.constant 1 : i32
    // CHECK:      aie.use_lock(%free, AcquireGreaterEqual, %c1_i32)
    // CHECK-NEXT: aie.use_lock(%free, Acquire, %c1_i32, NonBlocking)
    // CHECK-NEXT: aie.use_lock(%free, Release, %c1_i32, Blocking) {acq_en = false}
    aie.use_lock(%c, AcquireGreaterEqual, %one) {acq_en = true}
    aie.use_lock(%c, "Acquire", %one, NonBlocking)
    aie.use_lock(%c, Release, %one, Blocking) {acq_en = false}
    aie.end
  }
}
// GENERIC: "aie.lock"(%0) <{init = 2 : i32, lockID = 3 : i32, sym_name = "free"}> : (index) -> index
// GENERIC: "aie.use_lock"(%3, %5) <{acq_en = true, action = 2 : i32}> : (index, i32) -> ()
// GENERIC: "aie.use_lock"(%3, %5) <{acq_en = false, action = 1 : i32, blocking = 1 : i32}> : (index, i32) -> ()
