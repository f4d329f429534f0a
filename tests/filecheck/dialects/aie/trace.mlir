// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu2) {
  %core = aie.tile(0, 2)
  %mem = aie.logical_tile<MemTile>(?, ?)

  aie.trace @of_core(%core) {
    aie.trace.mode "Event-Time"
    aie.trace.packet id=1 type=core
    aie.trace.event<"INSTR_EVENT_0">
    aie.trace.event<CoreEventAIE2P::SPARSITY_OVERFLOW> label="sparse"
    aie.trace.port<0> port=North channel=1 direction=S2MM
    aie.trace.combo_event<0> <"LOCK_STALL"> AND_NOT <MemEventAIE2P::DMA_MM2S_0_STALLED_LOCK>
    aie.trace.edge_event<1> event=<"LOCK_STALL"> trigger=BOTH
    aie.trace.start broadcast=15
    aie.trace.stop event=<"USER_EVENT_0">
  }
  // A packet without an id gets one when flows are made.
  aie.trace @of_mem(%mem) {
    aie.trace.mode Execution
    aie.trace.packet type=memtile
    aie.trace.event<MemTileEventAIE2P::PORT_RUNNING_0>
  }
  aie.trace.config @registers(%core) packet_type=mem {
    aie.trace.reg register="Trace_Control0" field="Mode" value=0 comment="time"
    aie.trace.reg register="Trace_Event0" value=0xFF000000 mask=0xFF00
    aie.trace.reg register="Trace_Event0" field="Trace_Event1" value="LOCK_STALL"
    aie.trace.reg register="Trace_Event0" field="Trace_Event2" value=CoreEventAIE2P::ACTIVE
  }
  aie.runtime_sequence() {
    aie.trace.host_config {buffer_size = 8192 : i32, reuse_output_buffer = false, egress_shim_col = 1 : i32}
    aie.trace.start_config @of_core
    // How it was written before: -1 stood for the end of the last argument.
    aie.trace.host_config buffer_size = 4096 arg_idx = -1 routing = single egress_shim_col = 2
    aie.trace.host_config buffer_size = 4096 arg_idx = 4
  }
}

// CHECK:      aie.trace @of_core(%tile_0_2) {
// CHECK-NEXT:   aie.trace.mode "Event-Time"
// CHECK-NEXT:   aie.trace.packet id = 1 type = core
// CHECK-NEXT:   aie.trace.event <"INSTR_EVENT_0">
// CHECK-NEXT:   aie.trace.event <CoreEventAIE2P::SPARSITY_OVERFLOW> label = "sparse"
// CHECK-NEXT:   aie.trace.port<0> port = North channel = 1 direction = S2MM
// CHECK-NEXT:   aie.trace.combo_event<0> <"LOCK_STALL"> AND_NOT <MemEventAIE2P::DMA_MM2S_0_STALLED_LOCK>
// CHECK-NEXT:   aie.trace.edge_event<1> event = <"LOCK_STALL"> trigger = BOTH
// CHECK-NEXT:   aie.trace.start broadcast = 15
// CHECK-NEXT:   aie.trace.stop event = <"USER_EVENT_0">
// CHECK-NEXT: }
// CHECK-NEXT: aie.trace @of_mem(%logical_mem) {
// CHECK-NEXT:   aie.trace.mode Execution
// CHECK-NEXT:   aie.trace.packet type = memtile
// CHECK-NEXT:   aie.trace.event <MemTileEventAIE2P::PORT_RUNNING_0>
// CHECK-NEXT: }
// CHECK-NEXT: aie.trace.config @registers(%tile_0_2) packet_type = mem {
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control0" field = "Mode" value = 0 comment = "time"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Event0" value = -16777216 mask = 65280
// CHECK-NEXT:   aie.trace.reg register = "Trace_Event0" field = "Trace_Event1" value = "LOCK_STALL"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Event0" field = "Trace_Event2" value = CoreEventAIE2P::ACTIVE
// CHECK-NEXT: }
// CHECK-NEXT: aie.runtime_sequence() {
// CHECK-NEXT:   aie.trace.host_config {buffer_size = 8192 : i32, egress_shim_col = 1 : i32}
// CHECK-NEXT:   aie.trace.start_config @of_core
// CHECK-NEXT:   aie.trace.host_config {buffer_size = 4096 : i32, egress_shim_col = 2 : i32, reuse_output_buffer = true}
// CHECK-NEXT:   aie.trace.host_config {buffer_size = 4096 : i32}

// GENERIC: "aie.trace.mode"() <{mode = 0 : i32}> : () -> ()
// GENERIC: "aie.trace.event"() <{event = #aie.trace_event<"INSTR_EVENT_0">}> : () -> ()
// GENERIC: "aie.trace.host_config"() <{buffer_size = 8192 : i32, egress_shim_col = 1 : i32, reuse_output_buffer = false, routing = 0 : i32}> : () -> ()
