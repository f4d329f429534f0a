// A task waits for a lock that nobody will release. A reset of its channel makes way for the next one.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %wrong = aie.buffer(%mem) {sym_name = "wrong"} : memref<8xi32> = dense<-1>
  %right = aie.buffer(%mem) {sym_name = "right"} : memref<8xi32> = dense<[1, 1, 2, 3, 5, 8, 13, 21]>
  %never = aie.lock(%mem) {sym_name = "never", init = 0 : i32}
  %unused = aie.lock(%mem) {sym_name = "unused", init = 0 : i32}
  aie.flow(%mem, DMA : 0, %shim, DMA : 0)
  aie.runtime_sequence @begin_again(%out: memref<8xi32>) {
    %arrive = aiex.dma_configure_task(%shim, S2MM, 0) {
      aie.dma_bd(%out : memref<8xi32> offset = 0 len = 8)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%arrive)
    %stuck = aiex.dma_configure_task(%mem, MM2S, 0) {
      %one = arith.constant 1 : i32
      aie.use_lock(%never, AcquireGreaterEqual, %one)
      aie.dma_bd(%wrong : memref<8xi32> offset = 0 len = 8)
      aie.use_lock(%unused, Release, %one)
      aie.end
    }
    aiex.dma_start_task(%stuck)
    aiex.dma_channel_reset(%mem, MM2S, 0)
    %send = aiex.dma_configure_task(%mem, MM2S, 0) {
      aie.dma_bd(%right : memref<8xi32> offset = 0 len = 8)
      aie.end
    }
    aiex.dma_start_task(%send)
    aiex.dma_await_task(%arrive)
  }
}
