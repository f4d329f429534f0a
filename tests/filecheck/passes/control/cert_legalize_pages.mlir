// RUN: tilewright opt --split-input-file --cert-legalize-pages %s | filecheck %s

// Loading an image takes a page of its own; what was before and after it in the same job stays in order.
// CHECK-LABEL: module @alone
// CHECK:         aiex.cert.page {
// CHECK-NEXT:      aiex.cert.job(1) {
// CHECK-NEXT:        aiex.cert.write32(0, 1)
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    aiex.cert.page {
// CHECK-NEXT:      aiex.cert.job(3) {
// CHECK-NEXT:        aiex.cert.load_pdi(1, @image)
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    aiex.cert.page {
// CHECK-NEXT:      aiex.cert.job(4) {
// CHECK-NEXT:        aiex.cert.write32(0, 2)
// CHECK-NEXT:        aiex.cert.write32(0, 3)
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    aiex.cert.section @image {
// CHECK-NEXT:      aiex.cert.page {
// CHECK-NEXT:        aiex.cert.job(2) {
module @alone {
  aie.device(npu2) {
    aiex.cert.job(1) {
      aiex.cert.write32(0, 1)
      aiex.cert.load_pdi(1, @image)
      aiex.cert.write32(0, 2)
      aiex.cert.write32(0, 3)
    }
    aiex.cert.section @image {
      aiex.cert.page {
        aiex.cert.job(2) {
          aiex.cert.nop
        }
      }
    }
  }
}

// -----

// Two blocks of 4000 bytes and what plays them exceed a page of 8000. The cut is where half of one is full; the jobs
// behind it count on.
// CHECK-LABEL: module @big
// CHECK:         aiex.cert.page {
// CHECK-NEXT:      aiex.cert.job(1) {
// CHECK-NEXT:        aiex.cert.write32(0, 1)
// CHECK-NEXT:        aiex.cert.uc_dma_write_des_sync(@first)
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    aiex.cert.page {
// CHECK-NEXT:      aiex.cert.job(2) {
// CHECK-NEXT:        aiex.cert.write32(0, 2)
// CHECK-NEXT:        aiex.cert.uc_dma_write_des_sync(@second)
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    aiex.cert.page {
// CHECK-NEXT:      aiex.cert.job(3) {
module @big {
  aie.device(npu2) {
    memref.global "private" constant @data : memref<1000xi32> = dense<7>
    aiex.cert.uc_dma_chain @first {
      aiex.cert.uc_dma_bd @data, 0, 1000, false
    }
    aiex.cert.uc_dma_chain @second {
      aiex.cert.uc_dma_bd @data, 4096, 1000, false
    }
    aiex.cert.page {
      aiex.cert.job(1) {
        aiex.cert.write32(0, 1)
        aiex.cert.uc_dma_write_des_sync(@first)
        aiex.cert.write32(0, 2)
        aiex.cert.uc_dma_write_des_sync(@second)
      }
    }
    aiex.cert.page {
      aiex.cert.job(2) {
        aiex.cert.write32(0, 3)
      }
    }
  }
}
