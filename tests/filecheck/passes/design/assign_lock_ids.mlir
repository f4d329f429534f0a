// RUN: tilewright opt --aie-assign-lock-ids %s | filecheck %s

// Numbers that are given stay; each other lock gets the lowest that is free in its tile.
// CHECK-LABEL: aie.device(npu1)
aie.device(npu1) {
  %one = aie.tile(0, 2)
  %two = aie.tile(0, 3)
  // CHECK:      aie.lock(%tile_0_2, 0) {sym_name = "a"}
  // CHECK-NEXT: aie.lock(%tile_0_3, 0) {sym_name = "b"}
  // CHECK-NEXT: aie.lock(%tile_0_2, 1) {sym_name = "c"}
  // CHECK-NEXT: aie.lock(%tile_0_2, 2) {init = 3 : i32, sym_name = "d"}
  // CHECK-NEXT: aie.lock(%tile_0_2, 3) {sym_name = "e"}
  %a = aie.lock(%one) {sym_name = "a"}
  %b = aie.lock(%two) {sym_name = "b"}
  %c = aie.lock(%one, 1) {sym_name = "c"}
  %d = aie.lock(%one) {init = 3 : i32, sym_name = "d"}
  %e = aie.lock(%one) {sym_name = "e"}
}
