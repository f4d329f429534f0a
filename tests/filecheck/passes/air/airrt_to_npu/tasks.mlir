// RUN: tilewright opt --airrt-to-npu --canonicalize --split-input-file %s | filecheck %s

// The function goes into the device that it loads. Outputs issue a token and are waited for; of inputs only the
// descriptor is freed, unless the transfer says that its end is awaited.
// CHECK-LABEL: aie.device(npu1) @segment
// CHECK:       aie.runtime_sequence @host(%[[A:.+]]: memref<64xi32>, %[[B:.+]]: memref<64xi32>)
// CHECK:         %[[IN:.+]] = aiex.dma_configure_task_for @in {
// CHECK-NEXT:      aie.dma_bd(%[[A]] : memref<64xi32> offset = 8 len = 16
// CHECK:         }
// CHECK-NEXT:    aiex.dma_start_task(%[[IN]])
// CHECK:         %[[OUT:.+]] = aiex.dma_configure_task_for @out {
// CHECK:         } {issue_token = true}
// CHECK:         %[[AWAITED:.+]] = aiex.dma_configure_task_for @in {
// CHECK:         } {{{.*}}issue_token = true}
// CHECK:         aiex.dma_free_task(%[[IN]])
// CHECK-NEXT:    aiex.dma_await_task(%[[OUT]])
// CHECK-NEXT:    aiex.dma_await_task(%[[AWAITED]])
aie.device(npu1) @segment {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
}
func.func @host(%a: memref<64xi32>, %b: memref<64xi32>) {
  %id = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %p = airrt.segment_load "segment" : i64
  %0 = airrt.dma_memcpy_nd(%id, %z, %z, %a[0, 0, 0, 8], [1, 1, 1, 16], [0, 0, 0, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>) : !airrt.event
  %1 = airrt.dma_memcpy_nd(%id, %z, %z, %b[0, 0, 0, 0], [1, 1, 1, 64], [0, 0, 0, 1]) {metadata = @out} : (i32, i64, i64, memref<64xi32>) : !airrt.event
  %2 = airrt.dma_memcpy_nd(%id, %z, %z, %a[0, 0, 0, 0], [1, 1, 1, 16], [0, 0, 0, 1]) {metadata = @in, air.await_completion = true} : (i32, i64, i64, memref<64xi32>) : !airrt.event
  airrt.wait_all %0, %1, %2
  return
}

// -----

// The outermost dimension repeats the task; it is in the descriptor too if it moves on.
// CHECK-LABEL: aie.runtime_sequence @repeats
// CHECK:         aie.dma_bd(%{{.+}} : memref<64xi32> offset = 0 len = 8 sizes = [8] strides = [1])
// CHECK:         repeat_count = 2 : i32
// CHECK:         aie.dma_bd(%{{.+}} : memref<64xi32> offset = 0 len = 8 sizes = [3, 1, 1, 8] strides = [16, 0, 0, 1])
// CHECK:         repeat_count = 2 : i32
aie.device(npu1) @segment {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
}
func.func @repeats(%a: memref<64xi32>) {
  %id = arith.constant 0 : i32
  %z = arith.constant 0 : i64
  %p = airrt.segment_load "segment" : i64
  airrt.dma_memcpy_nd(%id, %z, %z, %a[0, 0, 0, 0], [3, 1, 1, 8], [0, 0, 0, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>)
  airrt.dma_memcpy_nd(%id, %z, %z, %a[0, 0, 0, 0], [3, 1, 1, 8], [16, 0, 0, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>)
  return
}
