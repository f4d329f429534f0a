// RUN: tilewright opt --verify-diagnostics --aie-decompose-large-dma-bd %s | filecheck %s

// A descriptor that a loop takes from the pool cannot become a chain yet.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8192xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %t = aiex.dma_configure_task(%shim, MM2S, 0) {
        // expected-remark@+1 {{deferring multi-BD decomposition under runtime control flow (dynamic BD pool supports single-BD tasks only)}}
        aie.dma_bd(%a : memref<8192xi32> offset = 0 len = 2062 sizes = [1, 1, 1031, 2] strides = [0, 0, 3, 1])
        aie.end
      }
    }
  }
}

// CHECK: aie.dma_bd(%arg0 : memref<8192xi32> offset = 0 len = 2062 sizes = [1, 1, 1031, 2] strides = [0, 0, 3, 1])
