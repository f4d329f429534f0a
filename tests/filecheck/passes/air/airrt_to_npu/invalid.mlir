// RUN: tilewright opt --airrt-to-npu --split-input-file --verify-diagnostics %s

aie.device(npu1) @segment {
  %shim = aie.tile(0, 0)
}
func.func @no_channel(%a: memref<64xi32>) {
  %id = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %p = airrt.segment_load "segment" : i64
  // expected-error @+1 {{has no shim channel to go through}}
  airrt.dma_memcpy_nd(%id, %z, %z, %a[0, 0, 0, 0], [1, 1, 1, 8], [0, 0, 0, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>)
  return
}

// -----

aie.device(npu1) @segment {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
}
func.func @two_sizes(%a: memref<64xi32>, %n: i64) {
  %id = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %p = airrt.segment_load "segment" : i64
  // expected-error @+1 {{more than one runtime-valued DMA size is not supported}}
  airrt.dma_memcpy_nd(%id, %z, %z, %a[0, 0, 0, 0], [1, 1, %n, %n], [0, 0, 8, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>)
  return
}
