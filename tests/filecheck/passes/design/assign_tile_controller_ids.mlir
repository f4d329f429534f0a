// RUN: tilewright opt --split-input-file --aie-assign-tile-controller-ids %s | filecheck %s
// RUN: tilewright opt --split-input-file --aie-assign-tile-controller-ids=column-wise-unique-ids=false %s | filecheck %s --check-prefix=GLOBAL

// An id of the program's own stays. Ids repeat from column to column unless they must not.
// CHECK:      aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
// CHECK-NEXT: aie.tile(1, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
// CHECK-NEXT: aie.tile(1, 5) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 31>}
// CHECK-NEXT: aie.tile(1, 2) {controller_id = #aie.packet_info<pkt_type = 1, pkt_id = 3>}
// GLOBAL:      aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
// GLOBAL-NEXT: aie.tile(1, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 14>}
// GLOBAL-NEXT: aie.tile(1, 5) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 25>}
// GLOBAL-NEXT: aie.tile(1, 2) {controller_id = #aie.packet_info<pkt_type = 1, pkt_id = 3>}
aie.device(npu1) {
  %t00 = aie.tile(0, 0)
  %t10 = aie.tile(1, 0)
  %t15 = aie.tile(1, 5)
  %t12 = aie.tile(1, 2) {controller_id = #aie.packet_info<pkt_type = 1, pkt_id = 3>}
}

// -----

// Control packets came with the second generation.
// CHECK: aie.tile(2, 2)
// CHECK-NOT: controller_id
aie.device(xcvc1902) {
  %t = aie.tile(2, 2)
}
