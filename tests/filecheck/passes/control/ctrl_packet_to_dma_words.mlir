// RUN: tilewright opt --aie-ctrl-packet-to-dma=keep-words %s | filecheck %s

// The words of the packets stay with the sequence: which argument they are, then two headers and the data of each. The
// first header has the id of the tile's controller, and a bit that makes the number of ones odd.
// CHECK: aie.runtime_sequence(%arg0: memref<8xi32>, %arg1: memref<?xi32>) attributes {tilewright.control_packets = [1 : i32, array<i32: -2147483621, -2146435068, 1, 2, -2147483621, 8, -1>]} {
aie.device(npu2) {
  %tile = aie.tile(0, 2) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 27>}
  aie.runtime_sequence(%a: memref<8xi32>) {
    aiex.control_packet {address = 0x200004 : ui32, data = array<i32: 1, 2>, opcode = 0 : i32, stream_id = 0 : i32}
    aiex.control_packet {address = 0x200008 : ui32, data = array<i32: -1>, opcode = 0 : i32, stream_id = 0 : i32}
  }
}
