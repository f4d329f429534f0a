// RUN: tilewright opt --aie-ctrl-packet-infer-tiles %s | filecheck %s

// The tile that an address names is declared, with the id under which its control port answers. An id stays.
aie.device(npu1) {
  %mem = aie.tile(0, 1) {controller_id = #aie.packet_info<pkt_type = 1, pkt_id = 7>}
  aie.runtime_sequence() {
    aiex.control_packet {address = 0x1F000 : ui32, data = array<i32: 1>, opcode = 0 : i32, stream_id = 0 : i32}
    aiex.control_packet {address = 0x100000 : ui32, data = array<i32: 1>, opcode = 0 : i32, stream_id = 0 : i32}
    aiex.control_packet {address = 0x2200004 : ui32, data = array<i32: 1>, opcode = 0 : i32, stream_id = 0 : i32}
  }
}

// CHECK:      aie.device(npu1) {
// CHECK-NEXT:   aie.tile(1, 2) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 27>}
// CHECK-NEXT:   aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
// CHECK-NEXT:   aie.tile(0, 1) {controller_id = #aie.packet_info<pkt_type = 1, pkt_id = 7>}
