// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-assign-runtime-sequence-bd-ids %s | filecheck %s

// To free a task that has been awaited changes nothing: here the descriptor belongs to another task by then, which still
// runs when a third one needs a descriptor.
// CHECK-LABEL: aie.device(npu1)
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>) {
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32>) {bd_id = 0 : i32}
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%first)
    aiex.dma_await_task(%first)
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32>) {bd_id = 0 : i32}
    %second = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    aiex.dma_start_task(%second)
    aiex.dma_free_task(%first)
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32>) {bd_id = 1 : i32}
    %third = aiex.dma_configure_task(%shim, MM2S, 1) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
  }
}

// -----

// Odd channels of a mem tile reach the upper half of its descriptors only.
// CHECK-LABEL: aie.device(npu2)
aie.device(npu2) {
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) {address = 0 : i32} : memref<8xi32>
  aie.runtime_sequence() {
    // CHECK: aie.dma_bd(%{{.+}}) {bd_id = 24 : i32}
    %odd = aiex.dma_configure_task(%mem, MM2S, 1) {
      aie.dma_bd(%buffer : memref<8xi32>)
      aie.end
    }
    // CHECK: aie.dma_bd(%{{.+}}) {bd_id = 0 : i32}
    %even = aiex.dma_configure_task(%mem, MM2S, 4) {
      aie.dma_bd(%buffer : memref<8xi32>)
      aie.end
    }
  }
}

// -----

aie.device(npu2) {
  %mem = aie.tile(0, 1)
  %buffer = aie.buffer(%mem) {address = 0 : i32} : memref<8xi32>
  aie.runtime_sequence() {
    %odd = aiex.dma_configure_task(%mem, MM2S, 1) {
      // expected-error@+1 {{has the ID 5, but its channel 1 reaches only 24 to 47}}
      aie.dma_bd(%buffer : memref<8xi32>) {bd_id = 5 : i32}
      aie.end
    }
  }
}
