// RUN: tilewright opt --split-input-file --verify-diagnostics --airrt-to-npu="trace-size=4096" %s

// The trace of a memory module has other events.
aie.device(npu1_1col) @segment {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  // expected-error @+1 {{unsupported trace src.}}
  aie.packet_flow(1) {
    aie.packet_source<%core, Trace : 1>
    aie.packet_dest<%shim, DMA : 0>
  }
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
}
func.func @host(%a: memref<64xi32>) {
  %c0_i32 = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  airrt.dma_memcpy_nd(%c0_i32, %c0, %c0, %a[0, 0, 0, 0], [1, 1, 1, 64], [0, 0, 0, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>)
  %load = airrt.segment_load "segment" : i64
  return
}

// -----

aie.device(npu1_1col) @segment {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  // expected-error @+1 {{unsupported trace dest.}}
  aie.packet_flow(1) {
    aie.packet_source<%core, Trace : 0>
    aie.packet_dest<%mem, DMA : 0>
  }
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
}
func.func @host(%a: memref<64xi32>) {
  %c0_i32 = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  airrt.dma_memcpy_nd(%c0_i32, %c0, %c0, %a[0, 0, 0, 0], [1, 1, 1, 64], [0, 0, 0, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>)
  %load = airrt.segment_load "segment" : i64
  return
}
