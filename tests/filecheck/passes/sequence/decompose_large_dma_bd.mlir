// RUN: tilewright opt --aie-decompose-large-dma-bd %s | filecheck %s

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)

  // CHECK-LABEL: @factored
  aie.runtime_sequence @factored(%a: memref<8192xi32>) {
    // 1920 = 2 * 960, and a dimension is free.
    // CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 4, 2, 960][0, 1921, 960, 1]) {id = 5 : i64, issue_token = true, metadata = @in} : memref<8192xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 4, 1920][0, 0, 1921, 1]) {id = 5 : i64, issue_token = true, metadata = @in} : memref<8192xi32>
  }

  // CHECK-LABEL: @cut
  aie.runtime_sequence @cut(%a: memref<8192xi32>) {
    // 1031 is prime: two transfers. They take ids that nothing else on the channel uses, and the last issues the token.
    // CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 1, 1023, 2][0, 0, 3, 1]) {id = 0 : i64, metadata = @in}
    // CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 1023, 0][1, 1, 8, 2][0, 0, 3, 1]) {id = 2 : i64, issue_token = true, metadata = @in}
    // CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 1 : i64, metadata = @in}
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1031, 2][0, 0, 3, 1]) {id = 0 : i64, issue_token = true, metadata = @in} : memref<8192xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 1 : i64, metadata = @in} : memref<8192xi32>
  }

  // CHECK-LABEL: @left_alone
  aie.runtime_sequence @left_alone(%a: memref<2073600xi32>) {
    // A contiguous transfer needs no wraps.
    // CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 1, 1080, 1920][0, 0, 1920, 1])
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1080, 1920][0, 0, 1920, 1]) {id = 0 : i64, metadata = @in} : memref<2073600xi32>
    // Seventeen descriptors are more than a shim tile has.
    // CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 1, 17389, 2][0, 0, 3, 1])
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 17389, 2][0, 0, 3, 1]) {id = 0 : i64, metadata = @in} : memref<2073600xi32>
  }

  // CHECK-LABEL: @task
  aie.runtime_sequence @task(%a: memref<8192xi32>) {
    // One descriptor replaces another in place.
    // CHECK:      aiex.dma_configure_task(%shim_noc_tile_0_0, MM2S, 0) {
    // CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8192xi32> offset = 8 len = 7680 sizes = [1, 4, 2, 960] strides = [0, 1921, 960, 1]) {bd_id = 3 : i32}
    // CHECK-NEXT:   aie.end
    %factored = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8192xi32> offset = 8 len = 7680 sizes = [1, 1, 4, 1920] strides = [0, 0, 1921, 1]) {bd_id = 3 : i32}
      aie.end
    }
    // Several form a chain.
    // CHECK:      aiex.dma_configure_task_for @in {
    // CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8192xi32> offset = 8 len = 2046 sizes = [1, 1, 1023, 2] strides = [0, 0, 3, 1]) {bd_id = 3 : i32, burst_length = 64 : i32}
    // CHECK-NEXT:   aie.next_bd ^bb1
    // CHECK-NEXT: ^bb1:
    // CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8192xi32> offset = 3077 len = 16 sizes = [1, 1, 8, 2] strides = [0, 0, 3, 1]) {burst_length = 64 : i32}
    // CHECK-NEXT:   aie.end
    // CHECK-NEXT: } {issue_token = true}
    %cut = aiex.dma_configure_task_for @in {
      aie.dma_bd(%a : memref<8192xi32> offset = 8 len = 2062 sizes = [1, 1, 1031, 2] strides = [0, 0, 3, 1]) {bd_id = 3 : i32, burst_length = 64 : i32}
      aie.end
    } {issue_token = true}
  }
}
