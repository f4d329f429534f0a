// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-lower-cascade-flows %s | filecheck %s

// Each tile on the way says from which side it takes and to which it gives; north and south where nothing is connected.
// CHECK-LABEL: aie.device(npu1)
// CHECK-NOT:   aie.cascade_flow
// CHECK:       aie.configure_cascade(%tile_0_4, North, South)
// CHECK-NEXT:  aie.configure_cascade(%tile_0_3, North, East)
// CHECK-NEXT:  aie.configure_cascade(%tile_1_3, West, South)
aie.device(npu1) {
  %first = aie.tile(0, 4)
  %second = aie.tile(0, 3)
  %third = aie.tile(1, 3)
  aie.cascade_flow(%first, %second)
  aie.cascade_flow(%second, %third)
}

// -----

aie.device(npu1) {
  %below = aie.tile(0, 3)
  %above = aie.tile(0, 4)
  // expected-error@+1 {{source tile must be to the North or West of the destination tile}}
  aie.cascade_flow(%below, %above)
}

// -----

aie.device(npu1) {
  %above = aie.tile(1, 4)
  %west = aie.tile(0, 3)
  %here = aie.tile(1, 3)
  // expected-note@+1 {{which is this one}}
  aie.cascade_flow(%above, %here)
  // expected-error@+1 {{needs the cascade input that another flow has}}
  aie.cascade_flow(%west, %here)
}
