// RUN: tilewright opt --aie-expand-load-pdi=ctrl-pkt %s | filecheck %s

// With control packets the overlay that routes them is loaded first, and a copy of it the next time; the connections of
// the overlay are left as they are. A load that says how it is expanded is expanded so.
// CHECK:       aie.device(npu2_1col) @ctrl_pkt_overlay {
// CHECK:       aie.device(npu2_1col) @ctrl_pkt_overlay_copy {
aie.device(npu2_1col) @ctrl_pkt_overlay {
  %shim = aie.tile(0, 0)
}
aie.device(npu2_1col) @switched {
  %core = aie.tile(0, 2)
  aie.switchbox(%core) {
    aie.connect<South : 0, Core : 0>
    aie.connect<South : 1, TileControl : 0> {is_ctrl_pkt_overlay}
  }
}
// CHECK-LABEL: aie.device(npu2_1col) {
// CHECK-NEXT:    aie.runtime_sequence() {
// CHECK-NEXT:      aiex.npu.load_pdi {device_ref = @ctrl_pkt_overlay, expand_mode = 0 : i32}
// CHECK-NEXT:      aiex.control_packet {address = 2355200 : ui32, data = array<i32: -2147483643>, opcode = 0 : i32, stream_id = 0 : i32}
// CHECK-NEXT:      aiex.control_packet {address = 2355476 : ui32, data = array<i32: -2147483648>, opcode = 0 : i32, stream_id = 0 : i32}
// CHECK-NEXT:      aiex.npu.load_pdi {device_ref = @ctrl_pkt_overlay_copy, expand_mode = 0 : i32}
// CHECK-NEXT:      aiex.control_packet
// CHECK-NEXT:      aiex.control_packet
// CHECK-NEXT:      aiex.npu.load_pdi {device_ref = @empty_0, expand_mode = 0 : i32}
// CHECK-COUNT-4:   aiex.npu.write32
// CHECK-NOT:       aiex.npu.write32
aie.device(npu2_1col) {
  aie.runtime_sequence() {
    aiex.npu.load_pdi {device_ref = @switched}
    aiex.npu.load_pdi {device_ref = @switched}
    aiex.npu.load_pdi {device_ref = @switched, expand_mode = 1 : i32}
  }
}
