// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-verify-runtime-rearm %s

// Whoever resets a channel must set all the locks that its descriptors use, somewhere in the device.
aie.device(npu1) {
  %core = aie.tile(0, 2)
  %buffer = aie.buffer(%core) : memref<4xi32>
  %empty = aie.lock(%core, 0)
  // expected-note@+1 {{this lock is bound to the reset channel and is not re-armed}}
  %full = aie.lock(%core, 1)
  %mem = aie.mem(%core) {
    %in = aie.dma_start(S2MM, 0, ^first, ^end)
  ^first:
    %one = arith.constant 1 : i32
    aie.use_lock(%empty, AcquireGreaterEqual, %one)
    aie.dma_bd(%buffer : memref<4xi32>)
    aie.next_bd ^second
  ^second:
    aie.dma_bd(%buffer : memref<4xi32>)
    %two = arith.constant 1 : i32
    aie.use_lock(%full, Release, %two)
    aie.next_bd ^first
  ^end:
    aie.end
  }
  aie.runtime_sequence @other() {
    aiex.set_lock(%empty, 1)
  }
  aie.runtime_sequence @reset() {
    aiex.dma_channel_reset(%core, MM2S, 0)
    // expected-error@+1 {{resets a DMA channel whose objectFIFO lock is never re-armed}}
    aiex.dma_channel_reset(%core, S2MM, 0)
  }
}
