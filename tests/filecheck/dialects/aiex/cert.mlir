// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

aie.device(npu2) {
  memref.global "private" constant @words : memref<2xi32> = dense<[1, 2]>
  aiex.cert.uc_dma_chain @chain {
    aiex.cert.uc_dma_bd @words, 0x20400, 2, true
    aiex.cert.uc_dma_bd @words, 0x20420, 2, false
  }
  aiex.cert.section @pdi {
    aiex.cert.job(1) {
      aiex.cert.nop
    }
  }
  aiex.cert.attach_to_group(1) {
    aiex.cert.page {
      aiex.cert.job(0) {
        aiex.cert.write32(0x1000, 42)
        aiex.cert.maskwrite32(0x2000, 255, 1)
        aiex.cert.apply_offset_57(@words, 1, 0xffff)
        aiex.cert.uc_dma_write_des_sync(@chain)
        aiex.cert.wait_tcts(0, 6, 1)
        aiex.cert.local_barrier(1, 2)
        aiex.cert.remote_barrier(1, 0x3)
        aiex.cert.preempt(0, @pdi, @pdi)
        aiex.cert.load_pdi(0, @pdi)
      }
    }
  }
}

// CHECK:      aiex.cert.uc_dma_chain @chain {
// CHECK-NEXT:   aiex.cert.uc_dma_bd @words, 132096, 2, true
// CHECK-NEXT:   aiex.cert.uc_dma_bd @words, 132128, 2, false
// CHECK-NEXT: }
// CHECK-NEXT: aiex.cert.section @pdi {
// CHECK-NEXT:   aiex.cert.job(1) {
// CHECK-NEXT:     aiex.cert.nop
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NEXT: aiex.cert.attach_to_group(1) {
// CHECK-NEXT:   aiex.cert.page {
// CHECK-NEXT:     aiex.cert.job(0) {
// CHECK-NEXT:       aiex.cert.write32(4096, 42)
// CHECK-NEXT:       aiex.cert.maskwrite32(8192, 255, 1)
// CHECK-NEXT:       aiex.cert.apply_offset_57(@words, 1, -1)
// CHECK-NEXT:       aiex.cert.uc_dma_write_des_sync(@chain)
// CHECK-NEXT:       aiex.cert.wait_tcts(0, 6, 1)
// CHECK-NEXT:       aiex.cert.local_barrier(1, 2)
// CHECK-NEXT:       aiex.cert.remote_barrier(1, 3)
// CHECK-NEXT:       aiex.cert.preempt(0, @pdi, @pdi)
// CHECK-NEXT:       aiex.cert.load_pdi(0, @pdi)
