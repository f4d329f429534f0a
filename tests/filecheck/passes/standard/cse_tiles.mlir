// RUN: tilewright opt --cse %s | filecheck %s

// A tile is a place on the array: two that name the same place are one.
aie.device(npu1) {
  %first = aie.tile(0, 2)
  %second = aie.tile(0, 2)
  %buffer = aie.buffer(%first) {sym_name = "a"} : memref<4xi32>
  %lock = aie.lock(%second, 0) {sym_name = "l"}
}
// CHECK:       %[[TILE:.+]] = aie.tile(0, 2)
// CHECK-NOT:   aie.tile
// CHECK:       aie.buffer(%[[TILE]])
// CHECK:       aie.lock(%[[TILE]], 0)
