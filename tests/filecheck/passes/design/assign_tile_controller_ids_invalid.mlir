// RUN: tilewright opt --aie-assign-tile-controller-ids=column-wise-unique-ids=false --verify-diagnostics %s

// expected-error@+1 {{Device has 8 columns but only 4 globally-unique controller ID sets are defined; use column-wise unique IDs mode.}}
aie.device(npu2) {
  %t = aie.tile(0, 2)
}
