// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  %tile = aie.tile(0, 0)
  // expected-error@+1 {{'aie.mem' op failed to verify that op exists in a core tile}}
  %0 = aie.mem(%tile) {
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.memtile_dma' op failed to verify that op exists in a MemTile}}
  %0 = aie.memtile_dma(%tile) {
    aie.end
  }
}

// -----

// The shim tile of this column has no DMA.
aie.device(xcve2302) {
  %tile = aie.tile(4, 0)
  // expected-error@+1 {{'aie.shim_dma' op failed to verify that op exists in a shim tile with NOC connection}}
  %0 = aie.shim_dma(%tile) {
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-note@+1 {{in this context: }}
  %0 = aie.mem(%tile) {
    // expected-error@+1 {{'cf.br' op is not an allowed terminator}}
    cf.br ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.mem' op uses more output channels than available on this tile}}
  %0 = aie.mem(%tile) {
    %a = aie.dma_start(MM2S, 0, ^end, ^b)
  ^b:
    %b = aie.dma_start(MM2S, 1, ^end, ^c)
  ^c:
    %c = aie.dma_start(MM2S, 2, ^end, ^end)
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) : memref<8xi32>
  // expected-error@+1 {{'aie.mem' op BD block must have exactly one DMABDOp, found 2}}
  %0 = aie.mem(%tile) {
    %a = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    // expected-note@+1 {{in this BD block}}
    aie.dma_bd(%buffer : memref<8xi32>)
    aie.dma_bd(%buffer : memref<8xi32>)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) : memref<8xi32>
  %lock = aie.lock(%tile, 0)
  // expected-error@+1 {{'aie.mem' op BD block must have at most one release UseLockOp, found 2}}
  %0 = aie.mem(%tile) {
    %one = arith.constant 1 : i32
    %a = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    // expected-note@+1 {{in this BD block}}
    aie.dma_bd(%buffer : memref<8xi32>)
    aie.use_lock(%lock, Release, %one)
    aie.use_lock(%lock, Release, %one)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

// Channels 0 to 3 of a mem tile reach its neighbours, channels 4 and 5 do not.
aie.device(npu1) {
  %west = aie.tile(0, 1)
  %tile = aie.tile(1, 1)
  // expected-note@+1 {{buffer}}
  %buffer = aie.buffer(%west) : memref<8xi32>
  %0 = aie.memtile_dma(%tile) {
    %a = aie.dma_start(MM2S, 3, ^fine, ^next)
  ^fine:
    aie.dma_bd(%buffer : memref<8xi32>)
    aie.next_bd ^end
  ^next:
    // expected-note@+1 {{channel}}
    %b = aie.dma_start(MM2S, 4, ^far, ^end)
  ^far:
    // expected-error@+1 {{'aie.dma_bd' op is reachable from DMA channel 4 and attempts to access a non-local buffer}}
    aie.dma_bd(%buffer : memref<8xi32>)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    // expected-error@+1 {{'aie.dma_start' op expects parent op to be one of 'aie.mem, aie.memtile_dma, func.func, aie.shim_dma'}}
    %0 = aie.dma_start(MM2S, 0, ^end, ^end)
  ^end:
    aie.end
  }
}

// -----

aie.device(npu2) {
  %tile = aie.tile(0, 1)
  %0 = aie.memtile_dma(%tile) {
    // expected-error@+1 {{'aie.dma_start' op pad_value is only supported on MM2S DMA channels}}
    %a = aie.dma_start(S2MM, 0, ^end, ^end) {pad_value = 1 : i32}
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 1)
  %0 = aie.memtile_dma(%tile) {
    // expected-error@+1 {{'aie.dma_start' op pad_value requires the CONSTANT_PAD_VALUE register, unavailable on this target}}
    %a = aie.dma_start(MM2S, 0, ^end, ^end) {pad_value = 1 : i32}
  ^end:
    aie.end
  }
}

// -----

aie.device(npu2) {
  %tile = aie.tile(0, 2)
  %0 = aie.mem(%tile) {
    // expected-error@+1 {{'aie.dma_start' op pad_value is only supported on memtile DMA channels}}
    %a = aie.dma_start(MM2S, 0, ^end, ^end) {pad_value = 1 : i32}
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) : memref<8xi32>
  %0 = aie.mem(%tile) {
    // expected-error@+1 {{'aie.dma' op DMAOp regions/blocks must have exactly two UseLock ops}}
    %a = aie.dma(MM2S, 0) [{
      aie.dma_bd(%buffer : memref<8xi32>)
    }]
    aie.end
  }
}
