// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.lock' op lock assigned invalid id (maximum is 15)}}
  %a = aie.lock(%tile, 16)
}

// -----

// A mem tile has more of them, and neighbours share theirs.
aie.device(npu1) {
  %left = aie.tile(0, 1)
  %tile = aie.tile(1, 1)
  %far = aie.tile(3, 1)
  %a = aie.lock(%left, 63)
  // expected-error@+1 {{'aie.lock' op in Column 3 and Row 1 is accessed from an unreachable tile in Column 1 and Row 1}}
  %b = aie.lock(%far, 0)
  %buffer = aie.buffer(%tile) : memref<8xi32>
  %dma = aie.memtile_dma(%tile) {
    %one = arith.constant 1 : i32
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    aie.use_lock(%a, AcquireGreaterEqual, %one)
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8)
    // expected-note@+1 {{user}}
    aie.use_lock(%b, Release, %one)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %a = aie.lock(%tile, 0)
  %one = arith.constant 1 : i32
  // expected-error@+1 {{'aie.use_lock' op must be used in a core or memory operation.}}
  aie.use_lock(%a, Release, %one)
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %a = aie.lock(%tile, 0)
  %buffer = aie.buffer(%tile) : memref<8xi32>
  %dma = aie.mem(%tile) {
    %one = arith.constant 1 : i32
    %two = arith.addi %one, %one : i32
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    // expected-error@+1 {{'aie.use_lock' op lock value in a DMA/BD block must be a compile-time constant (defined by an arith.constant).}}
    aie.use_lock(%a, AcquireGreaterEqual, %two)
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

// On AIE1 a descriptor has one lock, of its own tile.
aie.device(xcvc1902) {
  %tile = aie.tile(1, 2)
  %a = aie.lock(%tile, 0)
  %b = aie.lock(%tile, 1)
  %buffer = aie.buffer(%tile) : memref<8xi32>
  %dma = aie.mem(%tile) {
    %zero = arith.constant 0 : i32
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    // expected-error@+1 {{'aie.use_lock' op used in a DMA block that have multiple locks.}}
    aie.use_lock(%a, Acquire, %zero)
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8)
    aie.use_lock(%b, Release, %zero)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 3)
  %south = aie.tile(0, 2)
  %a = aie.lock(%south, 0)
  %buffer = aie.buffer(%tile) : memref<8xi32>
  %dma = aie.mem(%tile) {
    %one = arith.constant 1 : i32
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    // The core of this tile reaches the lock, its DMA does not.
    // expected-error@+1 {{'aie.use_lock' op can only access a lock in the same tile}}
    aie.use_lock(%a, AcquireGreaterEqual, %one)
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %a = aie.lock(%tile, 0)
  aie.bd_chain @chain(%buffer: memref<8xi32>) {
    %one = arith.constant 1 : i32
    // expected-error@+1 {{'aie.use_lock' op expects some parent op to be one of AIE::device, AIE::core, func::func, AIE::mem, AIE::shimDMA, or AIEX::dma_configure_task}}
    aie.use_lock(%a, AcquireGreaterEqual, %one)
    aie.dma_bd(%buffer : memref<8xi32> offset = 0 len = 8)
    aie.end
  }
}

// -----

aie.device(xcvc1902) {
  %tile = aie.tile(1, 2)
  %a = aie.lock(%tile, 0)
  %core = aie.core(%tile) {
    %one = arith.constant 1 : i32
    // expected-error@+1 {{'aie.use_lock' op AcquireGreaterEqual is not supported in AIE1.}}
    aie.use_lock(%a, AcquireGreaterEqual, %one)
    aie.end
  }
}
