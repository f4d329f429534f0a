// RUN: tilewright opt --verify-diagnostics --cert-legalize-pages %s

aie.device(npu2) {
  memref.global "private" constant @data : memref<2000xi32> = dense<7>
  aiex.cert.uc_dma_chain @big {
    aiex.cert.uc_dma_bd @data, 0, 2000, false
  }
  // expected-warning@+1 {{page of about 8064 bytes may be too big, and cannot be cut}}
  aiex.cert.page {
    aiex.cert.job(1) {
      aiex.cert.uc_dma_write_des_sync(@big)
    }
  }
}
