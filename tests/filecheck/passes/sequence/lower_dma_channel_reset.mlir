// RUN: tilewright opt --split-input-file --aie-lower-dma-channel-reset %s | filecheck %s

// A channel has its reset bit set and cleared, in a register that depends on tile, direction and channel.
// CHECK-LABEL: aie.device(npu1)
aie.device(npu1) {
  %core = aie.tile(0, 2)
  %mem = aie.tile(0, 1)
  aie.runtime_sequence() {
    // CHECK:      %[[ADDRESS:.+]] = arith.constant 122392 : i32
    // CHECK-NEXT: %[[SET:.+]] = arith.constant 2 : i32
    // CHECK-NEXT: %[[MASK:.+]] = arith.constant 2 : i32
    // CHECK-NEXT: aiex.npu.maskwrite32(%[[ADDRESS]], %[[SET]], %[[MASK]]) {column = 0 : i32, row = 2 : i32}
    // CHECK-NEXT: arith.constant 122392 : i32
    // CHECK-NEXT: arith.constant 0 : i32
    // CHECK-NEXT: arith.constant 2 : i32
    // CHECK-NEXT: aiex.npu.maskwrite32({{.*}}) {column = 0 : i32, row = 2 : i32}
    aiex.dma_channel_reset(%core, MM2S, 1)
    // CHECK-NEXT: arith.constant 656936 : i32
    // CHECK:      aiex.npu.maskwrite32({{.*}}) {column = 0 : i32, row = 1 : i32}
    aiex.dma_channel_reset(%mem, S2MM, 5)
  }
}

// -----

// To start an object FIFO anew, reset all its channels, then set its locks, then push the first descriptors. The binding
// that says which these are is of no use after that.
// CHECK-LABEL: aie.device(npu2)
// CHECK-NOT:   aie.objectfifo_rearm_binding
aie.device(npu2) {
  %core = aie.tile(0, 2)
  %mem = aie.tile(0, 1)
  %produced = aie.lock(%core, 0)
  %consumed = aie.lock(%core, 1)
  aie.objectfifo_rearm_binding @fifo channels(%core, %mem : index, index) locks(%produced, %consumed : index, index)
    {channel_dirs = array<i32: 0, 1>, channel_indices = array<i32: 0, 3>, lock_inits = array<i32: 2, 0>,
     head_bd_ids = array<i32: 4, 24>, repeat_counts = array<i32: 1, 0>}
  aie.runtime_sequence() {
    // CHECK:      aiex.npu.maskwrite32({{.*}}) {column = 0 : i32, row = 2 : i32}
    // CHECK:      aiex.npu.maskwrite32({{.*}}) {column = 0 : i32, row = 2 : i32}
    // CHECK:      aiex.npu.maskwrite32({{.*}}) {column = 0 : i32, row = 1 : i32}
    // CHECK:      aiex.npu.maskwrite32({{.*}}) {column = 0 : i32, row = 1 : i32}
    // CHECK-NEXT: aiex.set_lock(%{{.*}}, 2)
    // CHECK-NEXT: aiex.set_lock(%{{.*}}, 0)
    // CHECK-NEXT: %[[REPEAT:.+]] = arith.constant 1 : i32
    // CHECK-NEXT: %[[FIRST:.+]] = arith.constant 4 : i32
    // CHECK-NEXT: aiex.npu.push_queue(0, 2, S2MM : 0) bd_id %[[FIRST]] repeat %[[REPEAT]] {issue_token = false}
    // CHECK-NEXT: %[[ONCE:.+]] = arith.constant 0 : i32
    // CHECK-NEXT: %[[OTHER:.+]] = arith.constant 24 : i32
    // CHECK-NEXT: aiex.npu.push_queue(0, 1, MM2S : 3) bd_id %[[OTHER]] repeat %[[ONCE]] {issue_token = false}
    // CHECK-NEXT: }
    aiex.dma_channel_reset_for(@fifo)
  }
}
