// RUN: tilewright opt --split-input-file --aie-canonicalize-device %s | filecheck %s

// What stands in no device is for the first one there was.
// CHECK:      module {
// CHECK-NEXT:   aie.device(xcvc1902) {
// CHECK-NEXT:     %[[TILE:.+]] = aie.tile(1, 1)
// CHECK-NEXT:     aie.core(%[[TILE]]) {
%tile = aie.tile(1, 1)
%core = aie.core(%tile) {
  aie.end
}

// -----

// CHECK:      module {
// CHECK-NEXT:   aie.device(npu1) {
// CHECK-NEXT:     aie.tile(0, 2)
// CHECK-NEXT:   }
// CHECK-NEXT: }
aie.device(npu1) {
  %tile = aie.tile(0, 2)
}
