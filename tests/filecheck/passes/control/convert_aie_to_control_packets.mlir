// RUN: tilewright opt --split-input-file --convert-aie-to-control-packets %s | filecheck %s

// Control packets have no masks: what follows each other to one register sets its bits together, so the two ends of a
// reset are one packet. A descriptor of 8 words takes two packets, one carries at most 4.
// CHECK-LABEL: aie.runtime_sequence @configure() {
// CHECK-NEXT:    aiex.control_packet {address = 2301952 : ui32, data = array<i32: 2>, opcode = 0 : i32, stream_id = 0 : i32}
// CHECK-COUNT-16: data = array<i32: 0>
// CHECK-NEXT:    aiex.control_packet {address = 1703936 : ui32, data = array<i32: 4, 131072, 0, 0>, opcode = 0 : i32, stream_id = 0 : i32}
// CHECK-NEXT:    aiex.control_packet {address = 1703952 : ui32, data = array<i32: 0, 0, 0, -2147483648>, opcode = 0 : i32, stream_id = 0 : i32}
// CHECK-NEXT:    aiex.control_packet {address = 1705476 : ui32, data = array<i32: 0>
// CHECK-NEXT:    aiex.control_packet {address = 1705472 : ui32, data = array<i32: 1>
// CHECK-NEXT:    aiex.control_packet {address = 126976 : ui32, data = array<i32: 17408>
// CHECK-NEXT:    aiex.control_packet {address = 2301952 : ui32, data = array<i32: 1>
// CHECK-NEXT:  }
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %b = aie.buffer(%mem) {address = 0 : i32} : memref<4xi32>
  aie.core(%core) { aie.end }
  aie.memtile_dma(%mem) {
    %0 = aie.dma_start(S2MM, 0, ^bd, ^end)
  ^bd:
    aie.dma_bd(%b : memref<4xi32>) {bd_id = 0 : i32}
    aie.next_bd ^end
  ^end:
    aie.end
  }
  aie.shim_mux(%shim) {
    aie.connect<DMA : 0, North : 3>
    aie.connect<DMA : 1, North : 7>
  }
}
