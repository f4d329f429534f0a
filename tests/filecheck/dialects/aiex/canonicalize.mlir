// RUN: tilewright opt --canonicalize %s | filecheck %s

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  // CHECK-LABEL: @contiguous_transfer
  aie.runtime_sequence @contiguous_transfer(%a: memref<4x64x64xi32>) {
    // A row-major scan is one loop. The offsets of the merged loops become one, that of the iteration stays.
    // CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[2, 0, 0, 4224][3, 1, 1, 4096][8, 0, 0, 1], packet = <pkt_type = 0, pkt_id = 5>) {id = 7 : i64, issue_token = true, metadata = @in} : memref<4x64x64xi32>
    aiex.npu.dma_memcpy_nd(%a[2, 1, 2, 0][3, 1, 64, 64][8, 4096, 64, 1], packet = <pkt_type = 0, pkt_id = 5>) {id = 7 : i64, issue_token = true, metadata = @in} : memref<4x64x64xi32>
    // There are gaps between these rows.
    // CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 1, 64, 32][0, 0, 64, 1])
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 64, 32][0, 0, 64, 1]) {id = 0 : i64, metadata = @in} : memref<4x64x64xi32>
  }
  // CHECK-LABEL: @repeated_load
  aie.runtime_sequence @repeated_load() {
    // CHECK-NEXT: aiex.npu.load_pdi {id = 1 : i32}
    // CHECK-NEXT: aiex.npu.load_pdi {id = 2 : i32}
    // CHECK-NEXT: aiex.npu.load_pdi {id = 1 : i32}
    // CHECK-NEXT: }
    aiex.npu.load_pdi {id = 1 : i32}
    aiex.npu.load_pdi {id = 1 : i32}
    aiex.npu.load_pdi {id = 2 : i32}
    aiex.npu.load_pdi {id = 1 : i32}
  }
  // CHECK-LABEL: @huge_transfer
  aie.runtime_sequence @huge_transfer(%a: memref<?xi32>) {
    // Offsets that 64 bits do not hold as one number stay apart.
    // CHECK: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 4294967296, 0][1, 1, 1, 64][0, 0, 8589934592, 1])
    aiex.npu.dma_memcpy_nd(%a[0, 0, 4294967296, 0][1, 1, 1, 64][0, 0, 8589934592, 1]) {id = 0 : i64, metadata = @in} : memref<?xi32>
  }
}
