// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

aie.device(npu1) @kernel {
  aie.runtime_sequence @once(%a: memref<8xi32>) {
  }
}
aie.device(npu1) {
  aie.runtime_sequence(%a: memref<8xi32>) {
    aiex.configure @kernel {
      aiex.run @once(%a) : (memref<8xi32>)
    }
    aiex.configure @kernel {
    } {expand_mode = 2 : i32}
  }
}

// CHECK:      aiex.configure @kernel {
// CHECK-NEXT:   aiex.run @once(%arg0) : (memref<8xi32>)
// CHECK-NEXT: }
// CHECK-NEXT: aiex.configure @kernel {
// CHECK-NEXT: } {expand_mode = 2 : i32}
