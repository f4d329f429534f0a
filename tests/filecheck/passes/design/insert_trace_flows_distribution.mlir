// RUN: tilewright opt --split-input-file --aie-insert-trace-flows="distribute-channels lateral-routing" %s | filecheck %s

// Traces take turns on the two channels of a shim tile. Each channel fills a part of the buffer, which has room for both.
// CHECK-LABEL: module @turns
// CHECK:         aie.runtime_sequence(%arg0: memref<8192xi8>) {
// CHECK:           aiex.npu.writebd {bd_id = 15 : i32, buffer_length = 1024 : i32
// CHECK-NEXT:      %[[FIRST:.+]] = arith.constant 0 : i32
// CHECK-NEXT:      aiex.npu.address_patch(%[[FIRST]] : i32) {addr = 119268 : ui32, arg_idx = 0 : i32}
// CHECK:           aiex.npu.writebd {bd_id = 14 : i32, buffer_length = 1024 : i32
// CHECK-NEXT:      %[[SECOND:.+]] = arith.constant 4096 : i32
// CHECK-NEXT:      aiex.npu.address_patch(%[[SECOND]] : i32) {addr = 119236 : ui32, arg_idx = 0 : i32}
// CHECK:         aie.packet_flow(1) {
// CHECK:           aie.packet_dest<%shim_noc_tile_0_0, DMA : 1>
// CHECK:         aie.packet_flow(2) {
// CHECK:           aie.packet_dest<%shim_noc_tile_0_0, DMA : 0>
// CHECK:         aie.packet_flow(3) {
// CHECK:           aie.packet_dest<%shim_noc_tile_0_0, DMA : 1>
module @turns {
  aie.device(npu2_1col) {
    %a = aie.tile(0, 2)
    %b = aie.tile(0, 3)
    %c = aie.tile(0, 4)
    aie.trace @trace_a(%a) {
      aie.trace.start event=<"TRUE">
      aie.trace.stop event=<"NONE">
    }
    aie.trace @trace_b(%b) {
      aie.trace.start event=<"TRUE">
      aie.trace.stop event=<"NONE">
    }
    aie.trace @trace_c(%c) {
      aie.trace.start event=<"TRUE">
      aie.trace.stop event=<"NONE">
    }
    aie.runtime_sequence() {
      aie.trace.host_config {buffer_size = 4096 : i32}
    }
  }
}

// -----

// A shim tile without a free channel is left for the nearest that has one: here on channel 0, as 1 is taken too.
// CHECK-LABEL: module @full
// CHECK:         aiex.npu.writebd {{.*}}column = 1 : i32
// CHECK:         aie.packet_dest<%shim_noc_tile_1_0, DMA : 0>
module @full {
  aie.device(npu1_2col) {
    %shim = aie.tile(0, 0)
    %next = aie.tile(1, 0)
    %core = aie.tile(0, 2)
    aie.flow(%core, DMA : 0, %shim, DMA : 0)
    aie.packet_flow(7) {
      aie.packet_source<%core, DMA : 1>
      aie.packet_dest<%shim, DMA : 1>
    }
    aie.shim_dma_allocation @taken(%next, S2MM, 1)
    aie.trace @always(%core) {
      aie.trace.start event=<"TRUE">
      aie.trace.stop event=<"NONE">
    }
    aie.runtime_sequence() {
      aie.trace.host_config {buffer_size = 4096 : i32}
    }
  }
}
