// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

aie.device(npu2) {
  %core = aie.tile(0, 2)
  %lock = aie.lock(%core, 3)
  aie.runtime_sequence() {
    aiex.control_packet {address = 0x100 : ui32, opcode = 0 : i32, stream_id = 1 : i32, data = array<i32: 22, 42>}
    aiex.control_packet {address = 256 : ui32, length = 3 : i32, opcode = 1 : i32, stream_id = 4 : i32}
    aiex.set_lock(%lock, 5)
    aiex.dma_channel_reset(%core, S2MM, 1)
    aiex.core_reset(%core)
    aiex.dma_channel_reset_for(@not_lowered_yet)
  }
}

// CHECK:      aiex.control_packet {address = 256 : ui32, data = array<i32: 22, 42>, opcode = 0 : i32, stream_id = 1 : i32}
// CHECK-NEXT: aiex.control_packet {address = 256 : ui32, length = 3 : i32, opcode = 1 : i32, stream_id = 4 : i32}
// CHECK-NEXT: aiex.set_lock(%lock_0_2, 5)
// CHECK-NEXT: aiex.dma_channel_reset(%tile_0_2, S2MM, 1)
// CHECK-NEXT: aiex.core_reset(%tile_0_2)
// CHECK-NEXT: aiex.dma_channel_reset_for(@not_lowered_yet)
