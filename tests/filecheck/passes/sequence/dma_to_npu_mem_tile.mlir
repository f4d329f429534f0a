// RUN: tilewright opt --aie-dma-to-npu %s | filecheck %s
// RUN: tilewright opt --aie-dma-to-npu=guards=full %s | filecheck %s --check-prefix=FULL
// A mem tile's descriptor walks four dimensions. The stride of the fourth, and with it the size of the third, are part of
// the words where `d3_stride` is given; without it mlir-aie leaves that size out, and so do we unless all is asked for.

// Word 4 of the first has d2 wrap 5 and step 3 (2): 5 << 17 | 2, word 5 has d3 step 8 (7).
// CHECK-DAG: memref.global "private" constant @blockwrite_data_0 : memref<8xi32> = dense<[8, 0, 0, 0, 655362, 7, 0, -2147483648]>
// CHECK-DAG: memref.global "private" constant @blockwrite_data_1 : memref<8xi32> = dense<[8, 0, 0, 0, 2, 0, 0, -2147483648]>
// FULL-DAG: memref.global "private" constant @blockwrite_data_0 : memref<8xi32> = dense<[8, 0, 0, 0, 655362, 7, 0, -2147483648]>
// FULL-DAG: memref.global "private" constant @blockwrite_data_1 : memref<8xi32> = dense<[8, 0, 0, 0, 655362, 0, 0, -2147483648]>

aie.device(npu2) {
  aie.runtime_sequence() {
    aiex.npu.writebd {bd_id = 0 : i32, buffer_length = 8 : i32, buffer_offset = 0 : i32, column = 0 : i32, d0_size = 0 : i32, d0_stride = 0 : i32, d0_zero_after = 0 : i32, d0_zero_before = 0 : i32, d1_size = 0 : i32, d1_stride = 0 : i32, d1_zero_after = 0 : i32, d1_zero_before = 0 : i32, d2_size = 5 : i32, d2_stride = 2 : i32, d2_zero_after = 0 : i32, d2_zero_before = 0 : i32, d3_stride = 7 : i32, enable_packet = 0 : i32, iteration_current = 0 : i32, iteration_size = 0 : i32, iteration_stride = 0 : i32, lock_acq_enable = 0 : i32, lock_acq_id = 0 : i32, lock_acq_val = 0 : i32, lock_rel_id = 0 : i32, lock_rel_val = 0 : i32, next_bd = 0 : i32, out_of_order_id = 0 : i32, packet_id = 0 : i32, packet_type = 0 : i32, row = 1 : i32, use_next_bd = 0 : i32, valid_bd = 1 : i32}
    aiex.npu.writebd {bd_id = 1 : i32, buffer_length = 8 : i32, buffer_offset = 0 : i32, column = 0 : i32, d0_size = 0 : i32, d0_stride = 0 : i32, d0_zero_after = 0 : i32, d0_zero_before = 0 : i32, d1_size = 0 : i32, d1_stride = 0 : i32, d1_zero_after = 0 : i32, d1_zero_before = 0 : i32, d2_size = 5 : i32, d2_stride = 2 : i32, d2_zero_after = 0 : i32, d2_zero_before = 0 : i32, enable_packet = 0 : i32, iteration_current = 0 : i32, iteration_size = 0 : i32, iteration_stride = 0 : i32, lock_acq_enable = 0 : i32, lock_acq_id = 0 : i32, lock_acq_val = 0 : i32, lock_rel_id = 0 : i32, lock_rel_val = 0 : i32, next_bd = 0 : i32, out_of_order_id = 0 : i32, packet_id = 0 : i32, packet_type = 0 : i32, row = 1 : i32, use_next_bd = 0 : i32, valid_bd = 1 : i32}
  }
}
