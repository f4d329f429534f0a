// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence(%a: memref<4096xi32>, %unranked: memref<*xi32>, %n: i64) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 2, 4, 8][0, 64, 16, 1]) {metadata = @in, id = 3 : i64} : memref<4096xi32>

    // Defaults are not shown, parameters of the packet are put in order.
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1], packet = <pkt_id = 2, pkt_type = 1>)
      {metadata = @in, id = 0 : i64, issue_token = true, burst_length = 64, d0_zero_before = 0 : i64} : memref<4096xi32>

    // Any entry of a list may be a value.
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, %n][1, 1, %n, 8][0, 0, %n, 1]) {metadata = @in, id = 1 : i64, offset_parameter = @p} : memref<4096xi32>
    aiex.npu.dma_memcpy_nd(%unranked[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {metadata = @in, id = 2 : i64} : memref<*xi32>
    aiex.npu.dma_wait {symbol = @in}
  }
}

// CHECK:      aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 2, 4, 8][0, 64, 16, 1]) {id = 3 : i64, metadata = @in} : memref<4096xi32>
// CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1], packet = <pkt_type = 1, pkt_id = 2>) {burst_length = 64 : i64, id = 0 : i64, issue_token = true, metadata = @in} : memref<4096xi32>
// CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, %arg2][1, 1, %arg2, 8][0, 0, %arg2, 1]) {id = 1 : i64, metadata = @in, offset_parameter = @p} : memref<4096xi32>
// CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg1[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<*xi32>
// CHECK-NEXT: aiex.npu.dma_wait {symbol = @in}

// GENERIC: "aiex.npu.dma_memcpy_nd"(%arg0, %arg2, %arg2, %arg2) <{id = 1 : i64, metadata = @in, offset_parameter = @p, operandSegmentSizes = array<i32: 1, 1, 1, 1>, static_offsets = array<i64: 0, 0, 0, -9223372036854775808>, static_sizes = array<i64: 1, 1, -9223372036854775808, 8>, static_strides = array<i64: 0, 0, -9223372036854775808, 1>}> : (memref<4096xi32>, i64, i64, i64) -> ()
