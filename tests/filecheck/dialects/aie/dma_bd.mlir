// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

// Outside of a DMA, descriptors are not checked against a tile: they show their whole syntax here.
aie.device(npu1) {
  aie.runtime_sequence(%host: memref<?xi32>, %any: memref<*xbf16>, %n: i32, %m: i64, %buffer: memref<1024xi16>) {
    // CHECK:      aie.dma_bd(%arg4 : memref<1024xi16>)
    aie.dma_bd(%buffer : memref<1024xi16>)
    // CHECK-NEXT: aie.dma_bd(%arg4 : memref<1024xi16> offset = 0)
    aie.dma_bd(%buffer : memref<1024xi16> offset = 0)
    // CHECK-NEXT: aie.dma_bd(%arg4 : memref<1024xi16> len = -4)
    aie.dma_bd(%buffer : memref<1024xi16> len = -4)
    // CHECK-NEXT: aie.dma_bd(%arg0 : memref<?xi32> offset = %arg2 len = 64 sizes = [4, %arg3] strides = [%arg3, 1])
    aie.dma_bd(%host : memref<?xi32> offset = %n len = 64 sizes = [4, %m] strides = [%m, 1])
    // CHECK-NEXT: aie.dma_bd(%arg1 : memref<*xbf16> len = %arg2)
    aie.dma_bd(%any : memref<*xbf16> len = %n)
    // CHECK-NEXT: aie.dma_bd(%arg4 : memref<1024xi16> offset = 2 len = 36 sizes = [2, 2, 4] strides = [64, 16, 1] pad [<const_pad_before = 1, const_pad_after = 0>, <const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 2, const_pad_after = 4>])
    aie.dma_bd(%buffer : memref<1024xi16> offset = 2 len = 36 sizes = [2, 2, 4] strides = [64, 16, 1] pad [<const_pad_after = 0, const_pad_before = 1>, <const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 2, const_pad_after = 4>])
    // CHECK-NEXT: aie.dma_bd(%arg4 : memref<1024xi16>) {bd_id = 3 : i32, iteration = #aie.bd_iteration<size = 4, stride = 16, current = 0>, next_bd_id = 4 : i32, offset_parameter = @p, offset_state_table_idx = 7 : ui8, packet = #aie.packet_info<pkt_type = 1, pkt_id = 2>}
    aie.dma_bd(%buffer : memref<1024xi16>) {packet = #aie.packet_info<pkt_type = 1, pkt_id = 2>, bd_id = 3 : i32, next_bd_id = 4 : i32, burst_length = 0 : i32, offset_parameter = @p, offset_state_table_idx = 7 : ui8, iteration = #aie.bd_iteration<size = 4, stride = 16, current = 0>}
  }
}
// GENERIC: "aie.dma_bd"(%arg4) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (memref<1024xi16>) -> ()
// GENERIC: "aie.dma_bd"(%arg0, %arg2, %arg3, %arg3) <{operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>, static_len = 64 : i32, static_sizes = array<i64: 4, -9223372036854775808>, static_strides = array<i64: -9223372036854775808, 1>}> : (memref<?xi32>, i32, i64, i64) -> ()
// GENERIC: pad_dimensions = #aie<bd_pad_layout_array[<const_pad_before = 1, const_pad_after = 0>, <const_pad_before = 0, const_pad_after = 0>, <const_pad_before = 2, const_pad_after = 4>]>
