// RUN: tilewright opt --aie-lower-memcpy=compat=true %s | filecheck %s
// The first version of the lowering: numbered locks that start at 0, fixed descriptors and channels, an acquire that
// waits for equality, and addresses that the program must give.

// CHECK:      %[[SHIM:.+]] = aie.tile(0, 0)
// CHECK-NEXT: aie.shim_dma_allocation @shim_dma_leaving_0_0_0(%[[SHIM]], S2MM, 0)
// CHECK-NEXT: aie.shim_dma_allocation @shim_dma_arriving_0_0_0(%[[SHIM]], MM2S, 0)
// CHECK-NEXT: %[[CORE:.+]] = aie.tile(0, 2)
// CHECK-NEXT: %leaving_lock = aie.lock(%[[CORE]], 1) {init = 0 : i32, sym_name = "leaving_lock"}
// CHECK-NEXT: %arriving_lock = aie.lock(%[[CORE]], 0) {init = 0 : i32, sym_name = "arriving_lock"}
// CHECK:      aie.core
// CHECK-NEXT:   %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-NEXT:   aie.use_lock(%arriving_lock, AcquireGreaterEqual, %[[ONE]])
// CHECK:        aie.use_lock(%leaving_lock, Release, %{{.+}})
// CHECK-NEXT:   aie.end
// CHECK:      aie.runtime_sequence
// CHECK-NEXT:   aiex.npu.writebd {bd_id = 0 : i32, buffer_length = 8 : i32, buffer_offset = 1024 : i32,
// CHECK-SAME:     d0_size = 8 : i32, d0_stride = 0 : i32,
// CHECK-SAME:     d1_size = 1 : i32, {{.*}}d2_size = 1 : i32,
// CHECK-SAME:     lock_acq_enable = 0 : i32, {{.*}}lock_rel_id = 0 : i32, lock_rel_val = 1 : i32,
// CHECK:        aiex.npu.push_queue(0, 2, S2MM : 0) bd_id %{{.+}} repeat %{{.+}} {issue_token = true} : i32, i32
// CHECK-NEXT:   aiex.npu.dma_memcpy_nd(%{{.+}}[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @shim_dma_arriving_0_0_0} : memref<8xi32>
// CHECK-NEXT:   aiex.npu.writebd {bd_id = 1 : i32, buffer_length = 8 : i32, buffer_offset = 4096 : i32,
// CHECK-SAME:     lock_acq_enable = 1 : i32, lock_acq_id = 1 : i32, lock_acq_val = 1 : i32, lock_rel_id = 1 : i32, lock_rel_val = 0 : i32,
// CHECK:        aiex.npu.push_queue(0, 2, MM2S : 0) bd_id %{{.+}} repeat %{{.+}} {issue_token = false} : i32, i32
// CHECK-NEXT:   aiex.npu.dma_memcpy_nd(%{{.+}}[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @shim_dma_leaving_0_0_0} : memref<8xi32>
// CHECK-NEXT:   aiex.npu.dma_wait {symbol = @shim_dma_leaving_0_0_0}
// CHECK:      aie.flow(%[[SHIM]], DMA : 0, %[[CORE]], DMA : 0)
// CHECK-NEXT: aie.flow(%[[CORE]], DMA : 0, %[[SHIM]], DMA : 0)

aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %source = aie.buffer(%core) {address = 1024 : i32} : memref<8xi32>
  %target = aie.buffer(%core) {address = 4096 : i32} : memref<8xi32>
  aiex.token(0) {sym_name = "arriving"}
  aiex.token(0) {sym_name = "leaving"}
  aie.core(%core) {
    aiex.useToken @arriving(Acquire, 1)
    aiex.useToken @leaving(Release, 1)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<8xi32>, %b: memref<8xi32>) {
    aiex.memcpy @arriving(0, 1) (%shim : <%a, 0, 8>, %core : <%source, 0, 8>) : (memref<8xi32>, memref<8xi32>)
    aiex.memcpy @leaving(1, 0) (%core : <%target, 0, 8>, %shim : <%b, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}
