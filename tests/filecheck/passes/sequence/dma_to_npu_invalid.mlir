// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-dma-to-npu %s

aie.device(npu1) {
  aie.runtime_sequence(%a: memref<8xi32>) {
    // expected-error@+2 {{'aiex.npu.dma_memcpy_nd' op couldn't find shim_dma_allocation op.}}
    // expected-error@+1 {{failed to legalize operation 'aiex.npu.dma_memcpy_nd' that was explicitly marked illegal}}
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @absent} : memref<8xi32>
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence(%a: memref<8x8xi32>) {
    %column = memref.subview %a[0, 0] [8, 4] [1, 1] : memref<8x8xi32> to memref<8x4xi32, strided<[8, 1]>>
    // expected-error@+2 {{memref must be a block argument or subview/cast/reinterpret_cast of a block argument with static offsets, sizes, and strides}}
    // expected-error@+1 {{failed to legalize operation}}
    aiex.npu.dma_memcpy_nd(%column[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<8x4xi32, strided<[8, 1]>>
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %rtp = aie.buffer(%tile) {sym_name = "rtp"} : memref<16xi32>
  aie.runtime_sequence(%v: i32) {
    // expected-error@+2 {{buffer must have address assigned}}
    // expected-error@+1 {{failed to legalize operation}}
    aiex.npu.rtp_write(@rtp, 3, %v) : i32
  }
}

// -----

// A constant that is too long beside runtime values: there is room to split it, which mlir-aie does not do.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @too_long(%a: memref<?xi32>, %n: i64) {
    // expected-error@+2 {{failed to legalize operation 'aiex.npu.dma_memcpy_nd'}}
    // expected-error@+1 {{d0 size hardware value 2000 exceeds hardware range [0:1023].}}
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, %n][1, 1, 5, 2000][0, 0, 9999, 1]) {id = 0 : i64, metadata = @in} : memref<?xi32>
  }
}
