// Two tiles share one way to the host. While the packet of one passes, an arbiter makes that of the other wait.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %first = aie.buffer(%a) : memref<32xi32> = dense<1>
  %second = aie.buffer(%b) : memref<32xi32> = dense<2>
  %turn_a = aie.lock(%a) {sym_name = "turn_a", init = 0 : i32}
  %turn_b = aie.lock(%b) {sym_name = "turn_b", init = 0 : i32}
  aie.packet_flow(1) {
    aie.packet_source<%a, DMA : 0>
    aie.packet_dest<%shim, DMA : 0>
  }
  aie.packet_flow(2) {
    aie.packet_source<%b, DMA : 0>
    aie.packet_dest<%shim, DMA : 0>
  }
  aie.shim_dma_allocation @out(%shim, S2MM, 0)
  %mem_a = aie.mem(%a) {
    %send = aie.dma_start(MM2S, 0, ^packet, ^end)
  ^packet:
    %one = arith.constant 1 : i32
    aie.use_lock(%turn_a, AcquireGreaterEqual, %one)
    aie.dma_bd(%first : memref<32xi32> offset = 0 len = 32) {packet = #aie.packet_info<pkt_id = 1, pkt_type = 0>}
    aie.next_bd ^packet
  ^end:
    aie.end
  }
  %mem_b = aie.mem(%b) {
    %send = aie.dma_start(MM2S, 0, ^packet, ^end)
  ^packet:
    %one = arith.constant 1 : i32
    aie.use_lock(%turn_b, AcquireGreaterEqual, %one)
    aie.dma_bd(%second : memref<32xi32> offset = 0 len = 32) {packet = #aie.packet_info<pkt_id = 2, pkt_type = 0>}
    aie.next_bd ^packet
  ^end:
    aie.end
  }
  aie.runtime_sequence @merge(%out: memref<96xi32>) {
    %head = aiex.dma_configure_task_for @out {
      aie.dma_bd(%out : memref<96xi32> offset = 0 len = 32)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%head)
    aiex.set_lock(%turn_b, 1)
    aiex.dma_await_task(%head)
    %rest = aiex.dma_configure_task_for @out {
      aie.dma_bd(%out : memref<96xi32> offset = 32 len = 64)
      aie.end
    } {issue_token = true}
    aiex.set_lock(%turn_a, 1)
    aiex.set_lock(%turn_b, 1)
    aiex.dma_start_task(%rest)
    aiex.dma_await_task(%rest)
  }
}
