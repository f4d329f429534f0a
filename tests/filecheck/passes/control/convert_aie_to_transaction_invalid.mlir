// RUN: tilewright opt --split-input-file --verify-diagnostics --convert-aie-to-transaction %s

// expected-error@+2 {{'aie.device' op xcve2302 is not configured by register writes}}
// expected-note@+1 {{choose an npu device}}
aie.device(xcve2302) {}

// -----

aie.device(npu1) {
  %core = aie.logical_tile<CoreTile>(?, ?)
  // expected-error@+2 {{'aie.lock' op cannot be configured: its tile is not placed}}
  // expected-note@+1 {{run --aie-place-tiles first}}
  %lock = aie.lock(%core, 0) {init = 1 : i32}
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-error@+2 {{'aie.lock' op XAie_LockSetValue failed with XAIE_INVALID_LOCK_VALUE}}
  // expected-note@+1 {{a lock counts from 0 to 63, its initial value is 64}}
  %lock = aie.lock(%core, 0) {init = 64 : i32}
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-error@+2 {{buffer must have address assigned}}
  // expected-note@+1 {{run --aie-assign-buffer-addresses first}}
  %b = aie.buffer(%core) : memref<1xi32> = dense<1>
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-error@+2 {{'aie.buffer' op XAie_DataMemBlockWrite failed with XAIE_ERR_OUTOFBOUND}}
  // expected-note@+1 {{the buffer ends at 0x10004, the memory of the tile at 0x10000}}
  %b = aie.buffer(%core) {address = 65532 : i32} : memref<2xi32> = dense<1>
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 0 : i32} : memref<8xi32>
  aie.mem(%core) {
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    // expected-error@+2 {{'aie.dma_bd' op DMABDOp must have assigned bd_id; did you forget to run aie-assign-bd-ids?}}
    // expected-note@+1 {{run --aie-assign-bd-ids first}}
    aie.dma_bd(%b : memref<8xi32>)
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

// The wraps of a core tile's descriptors have 8 bits. The outermost dimension may be longer: it ends with the transfer.
aie.device(npu1) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 0 : i32} : memref<1024xi32>
  aie.mem(%core) {
    %0 = aie.dma_start(S2MM, 0, ^long, ^end)
  ^long:
    aie.dma_bd(%b : memref<1024xi32> offset = 0 len = 512 sizes = [512] strides = [2]) {bd_id = 0 : i32}
    aie.next_bd ^bd
  ^bd:
    // expected-error@+3 {{'aie.dma_bd' op XAie_DmaSetMultiDimAddr failed with XAIE_ERR}}
    // expected-note@+2 {{d0_wrap is in [0, 255] in a descriptor of this tile, this one needs 256}}
    // expected-note@+1 {{split the dimension in two}}
    aie.dma_bd(%b : memref<1024xi32> offset = 0 len = 512 sizes = [2, 256] strides = [512, 1]) {bd_id = 1 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

// A DMA counts words: three bytes of each row are not possible.
aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %b = aie.buffer(%mem) {address = 0 : i32} : memref<64xi8>
  aie.memtile_dma(%mem) {
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    // expected-error@+2 {{'aie.dma_bd' op moves parts of 32-bit words}}
    // expected-note@+1 {{the stride of dimension 1 (0 is innermost) is 6 bytes}}
    aie.dma_bd(%b : memref<64xi8> offset = 0 len = 16 sizes = [4, 4] strides = [6, 1]) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %b = aie.buffer(%mem) {address = 0 : i32} : memref<64xi32>
  %lock = aie.lock(%mem)
  aie.memtile_dma(%mem) {
    %c1 = arith.constant 1 : i32
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    // expected-error@+1 {{'aie.use_lock' op uses a lock that has no number}}
    aie.use_lock(%lock, AcquireGreaterEqual, %c1)
    aie.dma_bd(%b : memref<64xi32>) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

// A task runs at most 256 times.
aie.device(npu1) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 0 : i32} : memref<8xi32>
  aie.mem(%core) {
    // expected-error@+3 {{'aie.dma_start' op XAie_DmaChannelSetStartQueue failed with XAIE_INVALID_ARGS}}
    // expected-note@+2 {{a channel runs a task 1 to 256 times, this one 257 times}}
    // expected-note@+1 {{use a repeat_count of 0 to 255}}
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end, repeat_count = 256)
  ^bd:
    aie.dma_bd(%b : memref<8xi32>) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

// Odd channels of a mem tile reach the upper half of its descriptors only.
aie.device(npu1) {
  %mem = aie.tile(0, 1)
  %b = aie.buffer(%mem) {address = 0 : i32} : memref<8xi32>
  aie.memtile_dma(%mem) {
    // expected-error@+2 {{'aie.dma_start' op XAie_DmaChannelSetStartQueue failed with XAIE_INVALID_BD_NUM}}
    // expected-note@+1 {{channel 1 of this tile does not reach descriptor 0}}
    %0 = aie.dma_start(S2MM, 1, ^bd, ^end)
  ^bd:
    // expected-note@+1 {{let --aie-assign-bd-ids choose the descriptor}}
    aie.dma_bd(%b : memref<8xi32>) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.switchbox(%core) {
    %a = aie.amsel<0>(0)
    %out = aie.masterset(DMA : 0, %a)
    // expected-error@+2 {{'aie.packet_rules' op XAie_StrmPktSwSlaveSlotEnable failed with XAIE_ERR_STREAM_PORT}}
    // expected-note@+1 {{a port has 4 packet rules, this one needs 5}}
    aie.packet_rules(South : 0) {
      aie.rule(31, 0, %a)
      aie.rule(31, 1, %a)
      aie.rule(31, 2, %a)
      aie.rule(31, 3, %a)
      // expected-note@+1 {{merge rules under a mask}}
      aie.rule(31, 4, %a)
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_mux(%shim) {
    // expected-error@+2 {{'aie.connect' op XAie_EnableShimDmaToAieStrmPort failed with XAIE_ERR_STREAM_PORT}}
    // expected-note@+1 {{MM2S channels of the shim DMA are wired to ports of the switch: 0 to South 3, 1 to South 7}}
    aie.connect<DMA : 0, North : 7>
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-error@+3 {{'aie.core' op XAie_LoadElf failed with XAIE_INVALID_ELF}}
  // expected-note@+2 {{cannot open 'nowhere/core_0_2.elf': No such file or directory}}
  // expected-note@+1 {{say where the ELF files are with elf-dir=DIRECTORY}}
  aie.core(%core) { aie.end } {elf_file = "nowhere/core_0_2.elf"}
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 0 : i32} : memref<8xi32>
  aie.mem(%core) {
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    // expected-note@+1 {{this is the other one}}
    aie.dma_bd(%b : memref<8xi32>) {bd_id = 5 : i32}
    aie.next_bd ^next
  ^next:
    // expected-error@+2 {{'aie.dma_bd' op would overwrite descriptor 5 of its tile}}
    // expected-note@+1 {{give one of them another bd_id}}
    aie.dma_bd(%b : memref<8xi32>) {bd_id = 5 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence @inner() {}
  aie.runtime_sequence @outer() {
    aiex.configure @main {
      // expected-error@+2 {{'aiex.run' op expects parent op 'aiex.configure'}}
      // expected-note@+1 {{run --aie-materialize-runtime-sequences first}}
      aiex.run @inner() : ()
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %host = aie.external_buffer {address = 0x1002 : i64} : memref<8xi32>
  aie.shim_dma(%shim) {
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    // expected-error@+2 {{'aie.dma_bd' op XAie_DmaSetAddrLen failed with XAIE_INVALID_ADDRESS}}
    // expected-note@+1 {{descriptors begin at whole words of 4 bytes, this one at 0x1002}}
    aie.dma_bd(%host : memref<8xi32>) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 65520 : i32} : memref<8xi32>
  aie.mem(%core) {
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    // expected-error@+2 {{'aie.dma_bd' op XAie_DmaSetAddrLen failed with XAIE_INVALID_ADDRESS}}
    // expected-note@+1 {{it ends at 0x10010, what the DMA of the tile reaches at 0x10000}}
    aie.dma_bd(%b : memref<8xi32>) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  %b = aie.buffer(%core) {address = 0 : i32} : memref<8xi32>
  aie.mem(%core) {
    // expected-error@+2 {{'aie.dma_start' op XAie_DmaChannelSetStartQueue failed with XAIE_INVALID_CHANNEL_NUM}}
    // expected-note@+1 {{the tile has S2MM channels 0 to 1, this is channel 2}}
    %0 = aie.dma_start(S2MM, 2, ^bd, ^end)
  ^bd:
    aie.dma_bd(%b : memref<8xi32>) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.switchbox(%core) {
    %a = aie.amsel<0>(0)
    %out = aie.masterset(DMA : 0, %a)
    aie.packet_rules(South : 0) {
      // expected-error@+2 {{'aie.rule' op XAie_StrmPktSwSlaveSlotEnable failed with XAIE_INVALID_ARGS}}
      // expected-note@+1 {{packet ids are 0 to 31, the value of this rule is 32}}
      aie.rule(31, 32, %a)
    }
  }
}
