// RUN: tilewright translate --aie-cert-to-asm %s -o %T/out.asm
// RUN: filecheck %s --input-file %T/out.asm
// RUN: filecheck %s --check-prefix=SECTION --input-file %T/image.asm

// Code, descriptors and data of control code, as the assembler reads them. Sections are files, beside the result.
// CHECK:      .partition 4column
// CHECK-NEXT: .attach_to_group 0
// CHECK:      image:
// CHECK-NEXT: .include image.asm
// CHECK-NEXT: .endl image
// CHECK:      .align 16
// CHECK-NEXT: START_JOB 1
// CHECK-NEXT:   NOP
// CHECK-NEXT:   WRITE_32               0x00001000, 0x0000002a
// CHECK-NEXT:   MASK_WRITE_32          0x00002000, 0x000000ff, 0x00000001
// CHECK-NEXT:   APPLY_OFFSET_57        @words, 1, 65535
// CHECK-NEXT:   uC_DMA_WRITE_DES_SYNC  @chain
// CHECK-NEXT:   WAIT_TCTS              64, 6, 1
// CHECK-NEXT:   LOCAL_BARRIER          $lb1, 2
// CHECK-NEXT:   REMOTE_BARRIER         $rb1, 3
// CHECK-NEXT:   PREEMPT                0x0005, @image, @image
// CHECK-NEXT:   LOAD_PDI               7, @image
// CHECK-NEXT: END_JOB
// CHECK:      .eop
// CHECK:      EOF
// CHECK:        .align 16
// CHECK-NEXT: chain:
// CHECK-NEXT:   UC_DMA_BD       0, 0x00020400, @words, 2, 0, 1
// CHECK-NEXT:   UC_DMA_BD       0, 0x00020420, @words, 2, 0, 0
// CHECK:        .align 16
// CHECK-NEXT: words:
// CHECK-NEXT:   .long           0x00000001
// CHECK-NEXT:   .long           0xffffffff
// CHECK:      .attach_to_group 3
// CHECK:      START_JOB 4

// SECTION:      ;text
// SECTION:      START_JOB 2
// SECTION-NEXT:   NOP
// SECTION-NEXT: END_JOB
// SECTION:      EOF
aie.device(npu1) {
  memref.global "private" constant @words : memref<2xi32> = dense<[1, -1]>
  aiex.cert.uc_dma_chain @chain {
    aiex.cert.uc_dma_bd @words, 0x20400, 2, true
    aiex.cert.uc_dma_bd @words, 0x20420, 2, false
  }
  aiex.cert.section @image {
    aiex.cert.job(2) {
      aiex.cert.nop
    }
  }
  aiex.cert.page {
    aiex.cert.job(1) {
      aiex.cert.nop
      aiex.cert.write32(0x1000, 42)
      aiex.cert.maskwrite32(0x2000, 255, 1)
      aiex.cert.apply_offset_57(@words, 1, 0xffff)
      aiex.cert.uc_dma_write_des_sync(@chain)
      aiex.cert.wait_tcts(64, 6, 1)
      aiex.cert.local_barrier(1, 2)
      aiex.cert.remote_barrier(1, 0x3)
      aiex.cert.preempt(5, @image, @image)
      aiex.cert.load_pdi(7, @image)
    }
  }
  aiex.cert.attach_to_group(0) {
    aiex.cert.job(3) {
      aiex.cert.nop
    }
  }
  aiex.cert.attach_to_group(3) {
    aiex.cert.job(4) {
      aiex.cert.nop
    }
  }
}
