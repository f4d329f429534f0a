// RUN: tilewright opt --aie-npu-dma-lowering=guards=full %s | filecheck %s

// Everything in a sequence becomes instructions: chains, loops of known length, and such that are known at run time only.
// CHECK-NOT: {{ aiex\.(dma_(configure|start|await|free)|set_lock|core_reset|dma_channel_reset)}}
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %lock = aie.lock(%core, 3)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.bd_chain @chain(%x: memref<64xi32>) {
    aie.dma_bd(%x : memref<64xi32> offset = 0 len = 32)
    aie.next_bd ^next
  ^next:
    aie.dma_bd(%x : memref<64xi32> offset = 32 len = 32)
    aie.end
  }

  // CHECK-LABEL: aie.runtime_sequence @straight
  aie.runtime_sequence @straight(%a: memref<64xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    // CHECK-COUNT-2: aiex.npu.sync
    scf.for %i = %c0 to %c2 step %c1 {
      %task = aiex.dma_configure_task_for @in {
        aie.dma_bd(%a : memref<64xi32>)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%task)
    }
    // CHECK: aiex.npu.blockwrite(%{{.+}}) {address = 118784 : ui32}
    // CHECK: aiex.npu.blockwrite(%{{.+}}) {address = 118816 : ui32}
    %task = aiex.dma_start_bd_chain_for @chain(%a) : (memref<64xi32>) for @in
    // CHECK: aiex.npu.write32({{.+}}) {column = 0 : i32, row = 2 : i32}
    aiex.set_lock(%lock, 1)
    // CHECK-COUNT-4: aiex.npu.maskwrite32({{.+}}) {column = 0 : i32, row = 2 : i32}
    aiex.core_reset(%core)
    aiex.dma_channel_reset(%core, S2MM, 0)
  }

  // A chain in `scf.while`: what follows a descriptor is as little known as its own number, and so is what is pushed.
  // CHECK-LABEL: aie.runtime_sequence @while
  aie.runtime_sequence @while(%a: memref<64xi32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: scf.while
    %count = scf.while (%i = %c0) : (i32) -> i32 {
      %more = arith.cmpi slt, %i, %n : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      // CHECK: %[[HEAD:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
      // CHECK: %[[TAIL:.+]] = aiex.dma_bd_pool_pop(0, 0) : i32
      %task = aiex.dma_configure_task_for @in {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 32)
        aie.next_bd ^next
      ^next:
        aie.dma_bd(%a : memref<64xi32> offset = 32 len = 32)
        aie.end
      } {issue_token = true}
      // CHECK: aiex.npu.address_patch
      // CHECK: aiex.npu.address_patch
      // CHECK: arith.andi %[[HEAD]]
      // CHECK: aiex.npu.write32
      // CHECK: aiex.npu.sync
      // CHECK: aiex.dma_bd_pool_push(0, 0) bd_id %[[TAIL]] : i32
      // CHECK: aiex.dma_bd_pool_push(0, 0) bd_id %[[HEAD]] : i32
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%task)
      aiex.dma_free_task(%task)
      %next = arith.addi %i, %c1 : i32
      scf.yield %next : i32
    }
  }
}
