// RUN: tilewright opt --aie-objectfifo-erase-pools %s | filecheck %s

// A pool stays as long as something refers to it; buffers stay anyway.
// CHECK:      %used = aie.buffer
// CHECK-NOT:  @spent
// CHECK:      aie.objectfifo.pool @used_pool
aie.device(npu1) {
  %core = aie.tile(0, 2)
  %used = aie.buffer(%core) {sym_name = "used"} : memref<4xi32>
  aie.objectfifo.pool @spent(%core) {depth = 1 : i32, buffers = [@used]} : memref<4xi32>
  aie.objectfifo.pool @used_pool(%core) {depth = 1 : i32} : memref<4xi32>
  aie.objectfifo.core_endpoint @reader(%core) drains @used_pool
}
