// RUN: tilewright opt --aie-lower-memcpy %s | filecheck %s
// A token that a copy between tiles takes and gives goes along: it has a lock at both ends. One that says that there is
// room in the destination is taken there, one that says that the source may be overwritten is given there.

// CHECK:      %[[FIRST:.+]] = aie.tile(0, 2)
// CHECK-NEXT: %passed_lock_0_2 = aie.lock(%[[FIRST]]) {init = 0 : i32, sym_name = "passed_lock_0_2"}
// CHECK-NEXT: %sent_lock = aie.lock(%[[FIRST]]) {init = 1 : i32, sym_name = "sent_lock"}
// CHECK-NEXT: %[[SECOND:.+]] = aie.tile(0, 4)
// CHECK-NEXT: %passed_lock_0_4 = aie.lock(%[[SECOND]]) {init = 0 : i32, sym_name = "passed_lock_0_4"}
// CHECK-NEXT: %empty_lock = aie.lock(%[[SECOND]]) {init = 2 : i32, sym_name = "empty_lock"}
// CHECK:      aiex.dma_configure_task(%[[SECOND]], S2MM, 0)
// CHECK:        %[[TWO:.+]] = arith.constant 2 : i32
// CHECK:        aie.use_lock(%empty_lock, AcquireGreaterEqual, %[[TWO]])
// CHECK:        aie.dma_bd
// CHECK:        aie.use_lock(%passed_lock_0_4, Release
// CHECK:      aiex.dma_configure_task(%[[FIRST]], MM2S, 0)
// CHECK:        aie.use_lock(%passed_lock_0_2, AcquireGreaterEqual
// CHECK:        aie.dma_bd
// CHECK:        aie.use_lock(%sent_lock, Release

aie.device(npu2) {
  %first = aie.tile(0, 2)
  %second = aie.tile(0, 4)
  %from = aie.buffer(%first) : memref<8xi32>
  %to = aie.buffer(%second) : memref<8xi32>
  aiex.token(0) {sym_name = "passed"}
  aiex.token(1) {sym_name = "sent"}
  aiex.token(2) {sym_name = "empty"}
  aie.core(%first) {
    aiex.useToken @sent(Acquire, 1)
    aiex.useToken @passed(Release, 1)
    aie.end
  }
  aie.core(%second) {
    aiex.useToken @passed(Acquire, 1)
    aiex.useToken @empty(Release, 2)
    aie.end
  }
  aie.runtime_sequence @run() {
    aiex.memcpy @passed(1, 1), @sent(0, 1), @empty(2, 0) (%first : <%from, 0, 8>, %second : <%to, 0, 8>) : (memref<8xi32>, memref<8xi32>)
  }
}
