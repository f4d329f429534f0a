// RUN: tilewright opt --aiex-standard-lowering %s | filecheck %s

// What a runtime sequence tells the array is of no use to a compiler of cores.
// CHECK-LABEL: aie.runtime_sequence
// CHECK-NOT:   aiex.
aie.device(npu1) {
  %tile = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%tile, MM2S, 0)
  aie.runtime_sequence(%data: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%data[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @in}
  }
}
