// RUN: tilewright opt --split-input-file --aie-dma-tasks-to-npu %s | filecheck %s

// Configuring a task writes its descriptors, starting it pushes the first, awaiting it waits for its token.
// CHECK-LABEL: @chain
// CHECK:      aiex.npu.writebd {bd_id = 3 : i32, buffer_length = 4 : i32, buffer_offset = 0 : i32, column = 0 : i32, {{.*}} enable_packet = 1 : i32, {{.*}} next_bd = 4 : i32, {{.*}} packet_id = 2 : i32, packet_type = 1 : i32, row = 0 : i32, use_next_bd = 1 : i32, valid_bd = 1 : i32}
// CHECK:      aiex.npu.address_patch(%{{.+}} : i32) {addr = 118884 : ui32, arg_idx = 0 : i32}
// CHECK:      aiex.npu.writebd {bd_id = 4 : i32, buffer_length = 6 : i32, buffer_offset = 16 : i32, column = 0 : i32, d0_size = 2 : i32, d0_stride = 0 : i32, {{.*}} d1_size = 3 : i32, d1_stride = 3 : i32, {{.*}} use_next_bd = 0 : i32
// CHECK:      %[[OFFSET:.+]] = arith.constant 16 : i32
// CHECK-NEXT: aiex.npu.address_patch(%[[OFFSET]] : i32) {addr = 118916 : ui32, arg_idx = 0 : i32}
// CHECK-NEXT: %[[BD:.+]] = arith.constant 3 : i32
// CHECK-NEXT: %[[REPEAT:.+]] = arith.constant 7 : i32
// CHECK-NEXT: aiex.npu.push_queue(0, 0, MM2S : 1) bd_id %[[BD]] repeat %[[REPEAT]] {issue_token = true} : i32, i32
// CHECK:      aiex.npu.sync(
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @chain(%a: memref<32xi32>) {
    %task = aiex.dma_configure_task(%shim, MM2S, 1, <pkt_type = 1, pkt_id = 2>) {
      aie.dma_bd(%a : memref<32xi32> offset = 0 len = 4) {bd_id = 3 : i32}
      aie.next_bd ^second
    ^second:
      aie.dma_bd(%a : memref<32xi32> offset = 4 len = 6 sizes = [3, 2] strides = [4, 1]) {bd_id = 4 : i32}
      aie.end
    } {issue_token = true, repeat_count = 7 : i32}
    aiex.dma_start_task(%task)
    aiex.dma_await_task(%task)
  }
}

// -----

// A descriptor of a buffer in the array has its address written; its locks are fields. -1 waits for at least 1.
// CHECK-LABEL: @core_buffer
// CHECK:      aiex.npu.writebd {{.*}} lock_acq_enable = 1 : i32, lock_acq_id = 2 : i32, lock_acq_val = -1 : i32, lock_rel_id = 3 : i32, lock_rel_val = 1 : i32
// CHECK-NEXT: %[[REGISTER:.+]] = arith.constant 2215936 : i32
// CHECK-NEXT: %[[ADDRESS:.+]] = arith.constant 4210688 : i32
// CHECK-NEXT: %[[MASK:.+]] = arith.constant 268419072 : i32
// CHECK-NEXT: aiex.npu.maskwrite32(%[[REGISTER]], %[[ADDRESS]], %[[MASK]]) : i32, i32, i32
aie.device(npu1) {
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) {address = 1024 : i32} : memref<8xi32>
  %free = aie.lock(%core, 2)
  %full = aie.lock(%core, 3)
  aie.runtime_sequence @core_buffer() {
    %task = aiex.dma_configure_task(%core, S2MM, 0) {
      %c1 = arith.constant 1 : i32
      aie.use_lock(%free, AcquireGreaterEqual, %c1)
      aie.dma_bd(%buffer : memref<8xi32> offset = 1 len = 4) {bd_id = 0 : i32}
      aie.use_lock(%full, Release, %c1)
      aie.end
    }
  }
}

// -----

// A descriptor whose number is known at run time only is written word by word.
// CHECK-LABEL: @pooled
// CHECK:      %[[BD:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
// CHECK:      %[[SCALED:.+]] = arith.muli %[[BD]], %c32_i32{{[_0-9]*}} : i32
// CHECK:      %[[BASE:.+]] = arith.addi %c118784_i32{{[_0-9]*}}, %[[SCALED]] : i32
// CHECK-NOT:  aiex.npu.writebd
// CHECK:      aiex.npu.write32
// CHECK:      aiex.npu.address_patch(%{{.+}} : i32) addr %{{.+}} : i32 {addr = 118788 : ui32, arg_idx = 0 : i32}
// CHECK:      aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %[[BD]] repeat %{{.+}} {issue_token = false} : i32, i32
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @pooled(%a: memref<1024xi32>) {
    %bd = aiex.dma_bd_pool_pop(0, 0) : i32
    %task = aiex.dma_configure_task(%shim, MM2S, 0) bd_id %bd : i32 {
      aie.dma_bd(%a : memref<1024xi32> offset = 0 len = 256)
      aie.end
    }
    aiex.dma_start_task(%task)
  }
}

// -----

// What a descriptor depends on may be computed in the task.
// CHECK-LABEL: @computed_length
// CHECK:      %[[LENGTH:.+]] = arith.addi %arg1, %arg1 : i32
// CHECK:      arith.muli %[[LENGTH]]
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @computed_length(%a: memref<1024xi32>, %n: i32) {
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      %length = arith.addi %n, %n : i32
      aie.dma_bd(%a : memref<1024xi32> offset = 0 len = %length) {bd_id = 0 : i32}
      aie.end
    }
  }
}
