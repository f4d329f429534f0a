// RUN: not tilewright opt --aie-assign-buffer-addresses %s 2>&1 | filecheck %s

// Where buffers do not fit, the maps of both attempts show what is where: bank 0 has no room for "d" beside the stack.
// CHECK:      warning: Failed to allocate buffer: "d" with size: 16000 bytes.
// CHECK:      warning: Not all requested buffers fit in the available memory.
// CHECK:      note: Current configuration of buffers in bank(s) : MemoryMap:
// CHECK-NEXT: (stack) : 0x0-0x3FF (1024 bytes)
// CHECK-NEXT: bank : 0 0x0-0x3FFF
// CHECK-NEXT: bank : 1 0x4000-0x7FFF
// CHECK-NEXT: a : 0x4000-0x7FFF (16384 bytes)
// CHECK-NEXT: bank : 2 0x8000-0xBFFF
// CHECK-NEXT: b : 0x8000-0xBE7F (16000 bytes)
// CHECK-NEXT: bank : 3 0xC000-0xFFFF
// CHECK-NEXT: c : 0xC000-0xFE7F (16000 bytes)
// CHECK:      error: 'aie.tile' op allocated buffers exceeded available memory
// CHECK:      note: MemoryMap:
// CHECK-NEXT: (stack) : 0x0-0x3FF (1024 bytes)
// CHECK-NEXT: a : 0x400-0x43FF (16384 bytes)
// CHECK-NEXT: b : 0x4400-0x827F (16000 bytes)
// CHECK-NEXT: c : 0x8280-0xC0FF (16000 bytes)
// CHECK-NEXT: d : 0xC100-0xFF7F (16000 bytes)
// CHECK-NEXT: e : 0xFF80-0x13DFF (16000 bytes)
// CHECK-NEXT: the tile has 65536 bytes, 15872 less than these buffers take up
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %a = aie.buffer(%tile) {sym_name = "a"} : memref<4096xi32>
  %b = aie.buffer(%tile) {sym_name = "b"} : memref<4000xi32>
  %c = aie.buffer(%tile) {sym_name = "c"} : memref<4000xi32>
  %d = aie.buffer(%tile) {sym_name = "d"} : memref<4000xi32>
  %e = aie.buffer(%tile) {sym_name = "e"} : memref<4000xi32>
  %core = aie.core(%tile) {
    aie.end
  }
}
