// A core that wants to write a buffer of a tile it cannot reach, and a lock that the tile does not have.
aie.device(npu1) @writes_too_far {
  %tile_0_2 = aie.tile(0, 2)
  %tile_2_2 = aie.tile(2, 2)
  %far = aie.buffer(%tile_2_2) {sym_name = "far"} : memref<256xi32>
  aie.core(%tile_0_2) {
    %c0 = arith.constant 0 : index
    %x = arith.constant 1 : i32
    memref.store %x, %far[%c0] : memref<256xi32>
    aie.end
  }
}

aie.device(npu1) @wants_too_many_locks {
  %tile_0_2 = aie.tile(0, 2)
  %lock = aie.lock(%tile_0_2, 16) {init = 1 : i32}
}
