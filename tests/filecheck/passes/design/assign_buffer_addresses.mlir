// RUN: tilewright opt --split-input-file --aie-assign-buffer-addresses %s | filecheck %s

// The largest buffer comes first, then one bank after the other: 16 KiB each in a core tile, the first after the stack.
// CHECK-LABEL: aie.device(npu1) @banks
aie.device(npu1) @banks {
  %tile = aie.tile(0, 2)
  // CHECK:      aie.buffer({{.*}}) {address = 32768 : i32, mem_bank = 2 : i32, sym_name = "small"}
  %small = aie.buffer(%tile) {sym_name = "small"} : memref<16xi32>
  // CHECK-NEXT: aie.buffer({{.*}}) {address = 1024 : i32, mem_bank = 0 : i32, sym_name = "large"}
  %large = aie.buffer(%tile) {sym_name = "large"} : memref<1024xi32>
  // CHECK-NEXT: aie.buffer({{.*}}) {address = 16384 : i32, mem_bank = 1 : i32, sym_name = "middle"}
  %middle = aie.buffer(%tile) {sym_name = "middle"} : memref<512xi32>
  %core = aie.core(%tile) {
    aie.end
  }
}

// -----

// A buffer that has an address or a bank keeps it; others go behind it.
// CHECK-LABEL: aie.device(npu1) @given
aie.device(npu1) @given {
  %tile = aie.tile(0, 2)
  // CHECK:      aie.buffer({{.*}}) {address = 256 : i32, mem_bank = 0 : i32, sym_name = "at"}
  %at = aie.buffer(%tile) {address = 256 : i32, sym_name = "at"} : memref<64xi32>
  // CHECK-NEXT: aie.buffer({{.*}}) {address = 49152 : i32, mem_bank = 3 : i32, sym_name = "in"}
  %in = aie.buffer(%tile) {mem_bank = 3 : i32, sym_name = "in"} : memref<64xi32>
  // CHECK-NEXT: aie.buffer({{.*}}) {address = 512 : i32, mem_bank = 0 : i32, sym_name = "free"}
  %free = aie.buffer(%tile) {sym_name = "free"} : memref<128xi32>
}

// -----

// A core reaches 32 bytes at once, hence the next multiple of that; a buffer that asks for it may begin anywhere.
// CHECK-LABEL: aie.device(npu1) @alignment
aie.device(npu1) @alignment {
  %tile = aie.tile(0, 2) {allocation_scheme = "basic-sequential"}
  // CHECK:      aie.buffer({{.*}}) {address = 0 : i32, sym_name = "first"}
  %first = aie.buffer(%tile) {sym_name = "first"} : memref<5xi8>
  // CHECK-NEXT: aie.buffer({{.*}}) {address = 32 : i32, sym_name = "second"}
  %second = aie.buffer(%tile) {sym_name = "second"} : memref<3xi8>
  // CHECK-NEXT: aie.buffer({{.*}}) {address = 35 : i32, aligned = false, sym_name = "packed"}
  %packed = aie.buffer(%tile) {aligned = false, sym_name = "packed"} : memref<2xi8>
}

// -----

// A mem tile has no core: its banks are 64 KiB, its bus is a word. Buffers without a name get one.
// CHECK-LABEL: aie.device(npu1) @mem_tile
aie.device(npu1) @mem_tile {
  %tile = aie.tile(0, 1)
  // CHECK:      aie.buffer({{.*}}) {address = 0 : i32, mem_bank = 0 : i32, sym_name = "_anonymous0"}
  %0 = aie.buffer(%tile) : memref<7xi8>
  // CHECK-NEXT: aie.buffer({{.*}}) {address = 65536 : i32, mem_bank = 1 : i32, sym_name = "_anonymous1"}
  %1 = aie.buffer(%tile) : memref<5xi8>
}

// -----

// A buffer may be larger than a bank: then the tile's buffers follow each other without regard to banks.
// CHECK-LABEL: aie.device(npu1) @fallback
aie.device(npu1) @fallback {
  %tile = aie.tile(0, 2)
  // CHECK:      aie.buffer({{.*}}) {address = 0 : i32, sym_name = "huge"} : memref<8192xi32>
  %huge = aie.buffer(%tile) {sym_name = "huge"} : memref<8192xi32>
  // CHECK-NEXT: aie.buffer({{.*}}) {address = 32768 : i32, sym_name = "other"} : memref<4xi32>
  %other = aie.buffer(%tile) {sym_name = "other"} : memref<4xi32>
}
