// RUN: tilewright opt --split-input-file --verify-diagnostics %s

aie.device(npu1) {
  %tile = aie.tile(0, 1)
  // expected-error@+1 {{'aie.core' op failed to verify that op exists in a core tile}}
  %0 = aie.core(%tile) {
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.core' op should have non-empty body}}
  %0 = aie.core(%tile) {
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.core' op stack_size 65536 leaves no local memory for this tile's buffers (65536 bytes total)}}
  %0 = aie.core(%tile) {
    aie.end
  } {stack_size = 0x10000 : i32}
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.core' op attribute 'stack_size' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1}}
  %0 = aie.core(%tile) {
    aie.end
  } {stack_size = 0 : i32}
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.core' op When `elf_file` attribute is specified, core body must be empty (consist of exactly one `aie.end` op).}}
  %0 = aie.core(%tile) {
    %one = arith.constant 1 : i32
    aie.end
  } {elf_file = "core.elf"}
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.core' op cannot specify both 'link_with' (deprecated) and 'link_merge_files' on the same core; run aie-assign-core-link-files to migrate}}
  %0 = aie.core(%tile) {
    aie.end
  } {link_with = "a.o", link_merge_files = ["b.ll"]}
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.core' op artifact 'a.ll' appears in both 'link_files' and 'link_merge_files'; an artifact must be either merged or linked, not both}}
  %0 = aie.core(%tile) {
    aie.end
  } {link_files = ["b.o", "a.ll"], link_merge_files = ["a.ll"]}
}

// -----

// One place has one core, however often the tile is declared.
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %again = aie.logical_tile<CoreTile>(0, 2)
  // expected-note@+1 {{the other core is here}}
  %0 = aie.core(%tile) {
    aie.end
  }
  // expected-error@+1 {{'aie.core' op tile (0, 2) already has a core; each compute tile can host only one core}}
  %1 = aie.core(%again) {
    aie.end
  }
}
