// RUN: tilewright translate --split-input-file --aie-ctrlpkt-to-bin --aie-output-binary=false --verify-diagnostics %s | filecheck %s
// A control packet: the header by which the stream switches route it, its own header, and the words to write. The
// uppermost bit of a header makes the number of ones odd.

// CHECK:      8000000F
// CHECK-NEXT: 80010400
// CHECK-NEXT: FFFFFFFF
// CHECK-NEXT: 8000000F
// CHECK-NEXT: 01F00404
aie.device(npu1) {
  %tile = aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
  aie.runtime_sequence() {
    aiex.control_packet {address = 66560 : ui32, data = array<i32: -1>, opcode = 0 : i32, stream_id = 0 : i32}
    aiex.control_packet {address = 1028 : ui32, length = 4 : i32, opcode = 3 : i32, stream_id = 1 : i32}
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence() {
    // expected-error@+1 {{control packet with a write opcode requires a data payload}}
    aiex.control_packet {address = 1028 : ui32, length = 4 : i32, opcode = 2 : i32, stream_id = 1 : i32}
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence() {
    // expected-error@+1 {{'aiex.control_packet' op moves 5 words, a control packet moves 1 to 4}}
    aiex.control_packet {address = 1028 : ui32, data = array<i32: 1, 2, 3, 4, 5>, opcode = 0 : i32, stream_id = 1 : i32}
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence() {
    // expected-error@+1 {{'aiex.control_packet' op does not fit its header: return_id must be in [0, 31], got 32}}
    aiex.control_packet {address = 1028 : ui32, length = 4 : i32, opcode = 1 : i32, stream_id = 32 : i32}
  }
}
