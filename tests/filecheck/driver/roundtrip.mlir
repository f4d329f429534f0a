// RUN: tilewright opt %s --verify-roundtrip | filecheck %s
// RUN: tilewright opt %s --mlir-print-op-generic | tilewright opt | filecheck %s
// RUN: tilewright opt %s --mlir-print-debuginfo | tilewright opt --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// Custom form, generic form and locations: each says all there is to say.

// CHECK-LABEL: aie.device(npu1) {
// CHECK:         %[[TILE:.*]] = aie.tile(0, 2)
// CHECK:         %[[LOCK:.*]] = aie.lock(%[[TILE]], 0) {init = 1 : i32}
// LOC:           aie.tile(0, 2) loc(#[[TILE:.*]])
// LOC:           #[[TILE]] = loc("{{.*}}roundtrip.mlir":12:{{[0-9]+}})
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %lock = aie.lock(%tile, 0) {init = 1 : i32}
}
