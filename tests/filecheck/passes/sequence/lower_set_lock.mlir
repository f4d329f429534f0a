// RUN: tilewright opt --split-input-file --aie-lower-set-lock %s | filecheck %s

// Setting a lock is a write to its value register, at an offset in its tile: 16 bytes for each lock.
// CHECK-LABEL: aie.device(npu2)
aie.device(npu2) {
  %core = aie.tile(1, 2)
  %mem = aie.tile(1, 1)
  %shim = aie.tile(1, 0)
  %in_core = aie.lock(%core, 3)
  %in_mem = aie.lock(%mem, 63)
  %in_shim = aie.lock(%shim, 0)
  aie.runtime_sequence() {
    // CHECK:      %[[ADDRESS:.+]] = arith.constant 127024 : i32
    // CHECK-NEXT: %[[VALUE:.+]] = arith.constant 7 : i32
    // CHECK-NEXT: aiex.npu.write32(%[[ADDRESS]], %[[VALUE]]) {column = 1 : i32, row = 2 : i32} : i32, i32
    aiex.set_lock(%in_core, 7)
    // CHECK:      arith.constant 787440 : i32
    // CHECK:      aiex.npu.write32({{.*}}) {column = 1 : i32, row = 1 : i32}
    aiex.set_lock(%in_mem, 0)
    // CHECK:      arith.constant 81920 : i32
    // CHECK:      aiex.npu.write32({{.*}}) {column = 1 : i32, row = 0 : i32}
    aiex.set_lock(%in_shim, 1)
    // CHECK-NOT:  aiex.set_lock
  }
}
