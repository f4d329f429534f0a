// RUN: tilewright opt --aie-legalize-ctrl-packet %s | filecheck %s

// A packet carries four words at most.
// CHECK:      aie.runtime_sequence() {
// CHECK-NEXT:   aiex.control_packet {address = 8 : ui32, data = array<i32: 1, 2, 3, 4>, opcode = 2 : i32, stream_id = 1 : i32}
// CHECK-NEXT:   aiex.control_packet {address = 24 : ui32, data = array<i32: 5>, opcode = 2 : i32, stream_id = 1 : i32}
// CHECK-NEXT:   aiex.control_packet {address = 64 : ui32, data = array<i32: 1, 2, 3, 4>, opcode = 0 : i32, stream_id = 0 : i32}
// CHECK-NEXT:   aiex.control_packet {address = 96 : ui32, length = 3 : i32, opcode = 1 : i32, stream_id = 0 : i32}
// CHECK-NEXT: }
aie.device(npu2) {
  aie.runtime_sequence() {
    aiex.control_packet {address = 8 : ui32, data = array<i32: 1, 2, 3, 4, 5>, opcode = 2 : i32, stream_id = 1 : i32}
    aiex.control_packet {address = 64 : ui32, data = array<i32: 1, 2, 3, 4>, opcode = 0 : i32, stream_id = 0 : i32}
    aiex.control_packet {address = 96 : ui32, length = 3 : i32, opcode = 1 : i32, stream_id = 0 : i32}
  }
}
