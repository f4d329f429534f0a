// RUN: tilewright opt --split-input-file --aie-assign-buffer-addresses=alloc-scheme=basic-sequential %s | filecheck %s

// One after the other, the largest first, around what has an address.
// CHECK-LABEL: aie.device(npu1) @around
aie.device(npu1) @around {
  %tile = aie.tile(0, 2)
  // CHECK:      {address = 4096 : i32, sym_name = "in_the_way"}
  %in_the_way = aie.buffer(%tile) {address = 4096 : i32, sym_name = "in_the_way"} : memref<64xi32>
  // CHECK-NEXT: {address = 8448 : i32, sym_name = "small"}
  %small = aie.buffer(%tile) {sym_name = "small"} : memref<16xi32>
  // CHECK-NEXT: {address = 4352 : i32, sym_name = "large"}
  %large = aie.buffer(%tile) {sym_name = "large"} : memref<1024xi32>
  %core = aie.core(%tile) {
    aie.end
  }
}

// -----

// The stack is as large as the core says; what one tile says about its scheme is for that tile.
// CHECK-LABEL: aie.device(npu1) @stack
aie.device(npu1) @stack {
  %one = aie.tile(0, 2)
  %two = aie.tile(0, 3) {allocation_scheme = "bank-aware"}
  // CHECK: {address = 8192 : i32, sym_name = "a"}
  %a = aie.buffer(%one) {sym_name = "a"} : memref<16xi32>
  // CHECK: {address = 0 : i32, mem_bank = 0 : i32, sym_name = "b"}
  %b = aie.buffer(%two) {sym_name = "b"} : memref<16xi32>
  %core = aie.core(%one) {
    aie.end
  } {stack_size = 8192 : i32}
}

// -----

// A buffer with contents may be declared where the program of the core uses it.
// CHECK-LABEL: aie.device(npu1) @constants
aie.device(npu1) @constants {
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    // CHECK: aie.buffer({{.*}}) {address = 1024 : i32, sym_name = "weights"} : memref<2xi32> = dense<[1, 2]>
    %weights = aie.buffer(%tile) {sym_name = "weights"} : memref<2xi32> = dense<[1, 2]>
    aie.end
  }
}
