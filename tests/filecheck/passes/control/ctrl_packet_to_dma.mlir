// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-ctrl-packet-to-dma %s | filecheck %s

// Packets come from a new last argument. Each takes its data and two header words; rows 0 to 2 use channel 0.
// CHECK-LABEL: aie.device(npu1)
// CHECK:      aie.runtime_sequence(%arg0: memref<8xi32>, %arg1: memref<?xi32>) {
// CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg1[0, 0, 0, 0][1, 1, 1, 4][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @ctrlpkt_col1_mm2s_chan0} : memref<?xi32>
// CHECK-NEXT: %[[ROW:.+]] = arith.constant 0 : i32
// CHECK-NEXT: %[[COLUMN:.+]] = arith.constant 1 : i32
// CHECK-NEXT: %[[MM2S:.+]] = arith.constant 1 : i32
// CHECK-NEXT: %[[CHANNEL:.+]] = arith.constant 0 : i32
// CHECK-NEXT: %[[COLUMNS:.+]] = arith.constant 1 : i32
// CHECK-NEXT: %[[ROWS:.+]] = arith.constant 1 : i32
// CHECK-NEXT: aiex.npu.sync(%[[COLUMN]], %[[ROW]], %[[MM2S]], %[[CHANNEL]], %[[COLUMNS]], %[[ROWS]]) : i32, i32, i32, i32, i32, i32
// CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg1[0, 0, 0, 4][1, 1, 1, 5][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @ctrlpkt_col1_mm2s_chan1} : memref<?xi32>
aie.device(npu1) {
  aie.runtime_sequence(%a: memref<8xi32>) {
    aiex.control_packet {address = 0x2000004 : ui32, data = array<i32: 1, 2>, opcode = 0 : i32, stream_id = 0 : i32}
    aiex.control_packet {address = 0x2300004 : ui32, length = 3 : i32, opcode = 1 : i32, stream_id = 0 : i32}
  }
}

// -----

// AIE2p sends neighbouring packets to one tile in one transfer.
// CHECK-LABEL: aie.device(npu2)
// CHECK:      aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 1, 1, 6][0, 0, 0, 1])
// CHECK:      aiex.npu.preempt
// CHECK-NEXT: aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 6][1, 1, 1, 3][0, 0, 0, 1])
// CHECK-NOT:  aiex.control_packet
aie.device(npu2) {
  aie.runtime_sequence() {
    aiex.control_packet {address = 0 : ui32, data = array<i32: 1>, opcode = 0 : i32, stream_id = 0 : i32}
    aiex.control_packet {address = 4 : ui32, data = array<i32: 2>, opcode = 0 : i32, stream_id = 0 : i32}
    aiex.npu.preempt {level = 1 : ui8}
    aiex.control_packet {address = 8 : ui32, data = array<i32: 3>, opcode = 0 : i32, stream_id = 0 : i32}
  }
}

// -----

// A sequence without packets stays as it is.
// CHECK-LABEL: aie.device(npu2)
// CHECK: aie.runtime_sequence() {
aie.device(npu2) {
  aie.runtime_sequence() {
    aiex.npu.preempt {level = 1 : ui8}
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence() {
    // expected-error@+1 {{'aiex.control_packet' op is for tile (0, 9), which the device does not have}}
    aiex.control_packet {address = 0x900000 : ui32, data = array<i32: 1>, opcode = 0 : i32, stream_id = 0 : i32}
  }
}
