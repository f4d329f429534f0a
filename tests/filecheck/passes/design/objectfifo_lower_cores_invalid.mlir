// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-objectfifo-lower-cores %s

aie.device(npu2) {
  %tile = aie.tile(0, 2)
  // expected-note@+1 {{or name its buffers}}
  aie.objectfifo.pool @p(%tile) {depth = 1 : i32} : memref<8xi32>
  aie.objectfifo.core_endpoint @writer(%tile) fills @p
  %core = aie.core(%tile) {
    // expected-error@+1 {{works through pool @p, which has no buffers; run --aie-objectfifo-allocate}}
    %object = aie.objectfifo.acquire @writer(1) : memref<8xi32>
    aie.end
  }
}

// -----

aie.device(xcvc1902) {
  %tile = aie.tile(1, 2)
  %b0 = aie.buffer(%tile) {sym_name = "b0"} : memref<8xi32>
  %l0 = aie.lock(%tile) {init = 0 : i32, sym_name = "l0"}
  aie.objectfifo.pool @p(%tile) {depth = 1 : i32, buffers = [@b0], locks = [@l0]} : memref<8xi32>
  aie.objectfifo.core_endpoint @writer(%tile) fills @p
  %core = aie.core(%tile) {
    // expected-error@+1 {{objectFifo release has no corresponding acquire on this tile}}
    aie.objectfifo.release @writer(1)
    aie.end
  }
}
