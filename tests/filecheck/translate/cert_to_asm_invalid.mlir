// RUN: tilewright translate --aie-cert-to-asm --split-input-file --verify-diagnostics %s

aie.device(npu2) {
  aiex.cert.job(1) {
    // expected-error@+2 {{Unsupported operation in CertJobOp}}
    // expected-note@+1 {{run --aie-npu-to-cert first}}
    aiex.npu.preempt {level = 1 : ui8}
  }
}

// -----

aie.device(npu2) {
  aiex.cert.uc_dma_chain @chain {
    // expected-error@+2 {{Global symbol not found}}
    // expected-note@+1 {{there is no memref.global @nothing}}
    aiex.cert.uc_dma_bd @nothing, 0, 1, false
  }
}

// -----

aie.device(npu2) {
  // expected-note@+1 {{this is the global}}
  memref.global "private" @empty : memref<1xi32>
  aiex.cert.uc_dma_chain @chain {
    // expected-error@+1 {{Global symbol has no initial value}}
    aiex.cert.uc_dma_bd @empty, 0, 1, false
  }
}
