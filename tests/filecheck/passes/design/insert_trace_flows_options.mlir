// RUN: tilewright opt --aie-insert-trace-flows %s | filecheck %s --check-prefix=PLAIN
// RUN: tilewright opt --aie-insert-trace-flows="shim-channel=0 default-bd-id=7 packet-id-start=9 burst-length=256" %s | filecheck %s --check-prefix=NUMBERS
// RUN: tilewright opt --aie-insert-trace-flows=distribute-channels %s | filecheck %s --check-prefix=BOTH
// RUN: tilewright opt --aie-insert-trace-flows=lateral-routing %s | filecheck %s --check-prefix=LATERAL
// RUN: tilewright opt --aie-insert-trace-flows="lateral-routing lateral-target-col=2" %s | filecheck %s --check-prefix=FORCED

// Channel 1 of the shim tile asked for is taken, so the traces use channel 0.
// PLAIN:      aiex.npu.writebd {bd_id = 15 : i32, {{.*}}burst_length = 64 : i32, column = 1 : i32
// PLAIN-NOT:  aiex.npu.writebd
// PLAIN:      aie.packet_flow(1) {
// PLAIN-NEXT:   aie.packet_source<%tile_1_2, Trace : 0>
// PLAIN-NEXT:   aie.packet_dest<%shim_noc_tile_1_0, DMA : 0>
// PLAIN:      aie.packet_flow(2) {
// PLAIN-NEXT:   aie.packet_source<%tile_1_3, Trace : 0>
// PLAIN-NEXT:   aie.packet_dest<%shim_noc_tile_1_0, DMA : 0>

// NUMBERS: aiex.npu.writebd {bd_id = 7 : i32, {{.*}}burst_length = 256 : i32, column = 1 : i32
// NUMBERS: aiex.npu.address_patch({{.*}}) {addr = 33673444 : ui32
// NUMBERS: aie.packet_flow(9) {
// NUMBERS: aie.packet_dest<%shim_noc_tile_1_0, DMA : 0>
// NUMBERS: aie.packet_flow(10) {

// Distribution takes what is free, and that is one channel.
// BOTH:      aiex.npu.writebd
// BOTH-NOT:  aiex.npu.writebd
// BOTH:      aie.packet_dest<%shim_noc_tile_1_0, DMA : 0>
// BOTH:      aie.packet_dest<%shim_noc_tile_1_0, DMA : 0>

// Column 1 has cores. Columns 0 and 2 have none and are equally near; the left one is taken.
// LATERAL:      %shim_noc_tile_0_0 = aie.tile(0, 0)
// LATERAL:      aiex.npu.writebd {{.*}}column = 0 : i32
// LATERAL:      aie.packet_dest<%shim_noc_tile_0_0, DMA : 1>

// FORCED:      aiex.npu.writebd {{.*}}column = 2 : i32
// FORCED:      aie.packet_dest<%shim_noc_tile_2_0, DMA : 1>
aie.device(npu1_3col) {
  %shim = aie.tile(1, 0)
  %lower = aie.tile(1, 2)
  %upper = aie.tile(1, 3)
  aie.flow(%lower, DMA : 0, %shim, DMA : 1)
  %core = aie.core(%lower) {
    aie.end
  }
  aie.trace @lower_trace(%lower) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  aie.trace @upper_trace(%upper) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  aie.runtime_sequence() {
    aie.trace.host_config {buffer_size = 4096 : i32, egress_shim_col = 1 : i32}
  }
}
