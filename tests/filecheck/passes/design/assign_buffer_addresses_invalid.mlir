// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-assign-buffer-addresses %s

aie.device(npu1) {
  // expected-warning@+4 {{Not all requested buffers fit in the available memory.}}
  // expected-warning@+3 {{Bank-aware allocation failed, trying basic sequential allocation.}}
  // expected-error@+2 {{allocated buffers exceeded available memory}}
  // expected-error@+1 {{Basic sequential allocation also failed.}}
  %tile = aie.tile(0, 2)
  // expected-warning@+1 {{Failed to allocate buffer: "a" with size: 66000 bytes.}}
  %a = aie.buffer(%tile) {sym_name = "a"} : memref<16500xi32>
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{Bank-aware allocation failed.}}
  %tile = aie.tile(0, 2) {allocation_scheme = "bank-aware"}
  // expected-error@+2 {{address attribute value must be aligned to tile load/store bus width when aligned attribute is set}}
  // a multiple of 4, not of 32
  %a = aie.buffer(%tile) {address = 4 : i32, sym_name = "a"} : memref<16xi32>
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{Bank-aware allocation failed.}}
  %tile = aie.tile(0, 2) {allocation_scheme = "bank-aware"}
  // expected-error@+1 {{address attribute does not fall within any bank range}}
  %a = aie.buffer(%tile) {address = 65536 : i32, sym_name = "a"} : memref<16xi32>
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{Bank-aware allocation failed.}}
  %tile = aie.tile(0, 2) {allocation_scheme = "bank-aware"}
  // expected-note@+2 {{the tile has banks 0 to 3}}
  // expected-error@+1 {{mem_bank attribute value is out of range}}
  %a = aie.buffer(%tile) {mem_bank = 4 : i32, sym_name = "a"} : memref<16xi32>
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{Bank-aware allocation failed.}}
  %tile = aie.tile(0, 2) {allocation_scheme = "bank-aware"}
  // expected-error@+1 {{mem_bank attribute is inconsistent with address attribute}}
  %a = aie.buffer(%tile) {address = 0 : i32, mem_bank = 1 : i32, sym_name = "a"} : memref<16xi32>
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{Basic sequential allocation failed.}}
  %tile = aie.tile(0, 2) {allocation_scheme = "basic-sequential"}
  // expected-note@+2 {{move the buffer up, or lower `stack_size` of the tile's core}}
  // expected-error@+1 {{buffer '"a"' at address 0x20 overlaps with stack (size: 1024 bytes)}}
  %a = aie.buffer(%tile) {address = 32 : i32, sym_name = "a"} : memref<16xi32>
  %core = aie.core(%tile) {
    aie.end
  }
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{Basic sequential allocation failed.}}
  %tile = aie.tile(0, 2) {allocation_scheme = "basic-sequential"}
  // expected-note@+1 {{which ends at 0x40; leave out the address of one to have a free one found}}
  %a = aie.buffer(%tile) {address = 0 : i32, sym_name = "a"} : memref<16xi32>
  // expected-error@+1 {{buffer '"b"' at address 0x20 overlaps with '"a"' at address 0x0 (size: 64 bytes)}}
  %b = aie.buffer(%tile) {address = 32 : i32, sym_name = "b"} : memref<16xi32>
}

// -----

aie.device(npu1) {
  // expected-note@+2 {{there are 'basic-sequential', 'bank-aware'}}
  // expected-error@+1 {{unknown allocation scheme 'bank-unaware'}}
  %tile = aie.tile(0, 2) {allocation_scheme = "bank-unaware"}
  %a = aie.buffer(%tile) {sym_name = "a"} : memref<16xi32>
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{Buffer '"a"' must be defined directly under the device scope. Currently it is nested inside a core tile.}}
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    // expected-note@+1 {{move this buffer out of the core, or give it an initial value}}
    %a = aie.buffer(%tile) {sym_name = "a"} : memref<16xi32>
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.logical_tile<CoreTile>(?, ?)
  // expected-error@+1 {{is on a tile that is not placed; run --aie-place-tiles first}}
  %a = aie.buffer(%tile) {sym_name = "a"} : memref<16xi32>
}
