// RUN: tilewright opt --split-input-file --verify-diagnostics --tilewright-lint-queue-depth %s
// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-npu-dma-lowering=guards=full --canonicalize --tilewright-lint-queue-depth %s

// A DMA reads a descriptor when it comes to it, so one must not be rewritten before its task is done. That is found in
// transfers and tasks, and in the registers that they are lowered to.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @same_id_twice(%a: memref<64xi32>) {
    // expected-note@+1 {{the task is pushed here, and nothing waits for it in between}}
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 3 : i64, metadata = @in} : memref<64xi32>
    // expected-warning@+2 {{BD 3 of shim tile (0, 0) may be rewritten while a task on MM2S 0 still uses it}}
    // expected-note@+1 {{await that task before this write, or use another descriptor; so far there is no token to wait for (issue_token)}}
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 32][1, 1, 1, 32][0, 0, 0, 1]) {id = 3 : i64, metadata = @in} : memref<64xi32>
  }
  aie.runtime_sequence @waits_in_between(%a: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 3 : i64, issue_token = true, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @in}
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 32][1, 1, 1, 32][0, 0, 0, 1]) {id = 3 : i64, issue_token = true, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 32][1, 1, 1, 32][0, 0, 0, 1]) {id = 4 : i64, issue_token = true, metadata = @in} : memref<64xi32>
  }
}

// -----

// A descriptor further down the chain of a task is in use as well.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @second_in_chain(%a: memref<64xi32>) {
    %chain = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 32) {bd_id = 0 : i32}
      aie.next_bd ^second
    ^second:
      aie.dma_bd(%a : memref<64xi32> offset = 32 len = 32) {bd_id = 1 : i32}
      aie.end
    }
    aiex.dma_start_task(%chain)
    aiex.dma_free_task(%chain)
    // expected-warning@+1 {{BD 1 of shim tile (0, 0) may be rewritten while a task on MM2S 0 still uses it}}
    %task = aiex.dma_configure_task(%shim, MM2S, 1) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64) {bd_id = 1 : i32}
      aie.end
    }
    aiex.dma_start_task(%task)
  }
}
