// RUN: tilewright opt --airrt-to-npu="trace-size=4096 trace-offset=512" %s | filecheck %s

// A trace of a core in column 1 of two: its unit starts when it hears broadcast 15, and a descriptor of the shim tile
// writes what it sends to the second half of the 4,096 bytes, behind the 512 that are results.
// CHECK-LABEL: aie.runtime_sequence @host
// CHECK:         %[[TIMER:.+]] = arith.constant 212992 : i32
// CHECK-NEXT:    %[[BROADCAST_15:.+]] = arith.constant 31232 : i32
// CHECK-NEXT:    aiex.npu.write32(%[[TIMER]], %[[BROADCAST_15]]) {column = 1 : i32, row = 2 : i32}
// CHECK:         %[[HEADER:.+]] = arith.constant 213204 : i32
// CHECK-NEXT:    %[[ID:.+]] = arith.constant 6 : i32
// CHECK-NEXT:    aiex.npu.write32(%[[HEADER]], %[[ID]]) {column = 1 : i32, row = 2 : i32}
// CHECK:         aiex.npu.writebd {bd_id = 15 : i32, buffer_length = 2048 : i32, buffer_offset = 2560 : i32, column = 1 : i32
// CHECK-SAME:      enable_packet = 1 : i32
// CHECK-SAME:      packet_id = 6 : i32, packet_type = 0 : i32
// CHECK-NEXT:    %[[OFFSET:.+]] = arith.constant 2560 : i32
// CHECK-NEXT:    aiex.npu.address_patch(%[[OFFSET]] : i32) {addr = 33673700 : ui32, arg_idx = 2 : i32}
// CHECK-NEXT:    %[[QUEUE:.+]] = arith.constant 119300 : i32
// CHECK-NEXT:    %[[BD:.+]] = arith.constant 15 : i32
// CHECK-NEXT:    aiex.npu.write32(%[[QUEUE]], %[[BD]]) {column = 1 : i32, row = 0 : i32}

// All begin with an event of the first shim tile. Then comes what the host does.
// CHECK:         %[[GENERATE:.+]] = arith.constant 213000 : i32
// CHECK-NEXT:    %[[USER_EVENT_1:.+]] = arith.constant 127 : i32
// CHECK-NEXT:    aiex.npu.write32(%[[GENERATE]], %[[USER_EVENT_1]]) {column = 0 : i32, row = 0 : i32}
// CHECK:         aiex.dma_configure_task_for @in
aie.device(npu1_2col) @segment {
  %shim0 = aie.tile(0, 0)
  %shim1 = aie.tile(1, 0)
  %core = aie.tile(1, 2)
  // a flow of data
  aie.packet_flow(2) {
    aie.packet_source<%shim0, DMA : 0>
    aie.packet_dest<%core, DMA : 0>
  }
  aie.packet_flow(6) {
    aie.packet_source<%core, Trace : 0>
    aie.packet_dest<%shim1, DMA : 0>
  } {keep_pkt_header = true}
  aie.shim_dma_allocation @in(%shim0, MM2S, 0)
}
func.func @host(%a: memref<64xi32>, %b: memref<64xi32>, %trace: memref<1152xi32>) {
  %c0_i32 = arith.constant 0 : i32
  %c0 = arith.constant 0 : i64
  airrt.dma_memcpy_nd(%c0_i32, %c0, %c0, %a[0, 0, 0, 0], [1, 1, 1, 64], [0, 0, 0, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>)
  %load = airrt.segment_load "segment" : i64
  return
}
