// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-trace-to-config --aie-trace-pack-reg-writes --aie-inline-trace-config %s

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    // expected-error@+2 {{unknown trace event 'INSTR_VECTORS'}}
    // expected-note@+1 {{did you mean INSTR_VECTOR}}
    aie.trace.event<"INSTR_VECTORS">
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    // expected-error@+2 {{unknown trace event 'DMA_S2MM_0_START_TASK'}}
    // expected-note@+1 {{it is one of the Mem module, this trace is of the Core module of its tile}}
    aie.trace.start event=<"DMA_S2MM_0_START_TASK">
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    // expected-error@+1 {{unknown broadcast event 'BROADCAST_16'}}
    aie.trace.stop broadcast=16
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    // expected-error@+1 {{the trace has no packet id yet; run --aie-insert-trace-flows first, or give it one}}
    aie.trace.packet type=core
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace.config @hot(%core) packet_type = mem {
    // expected-error@+1 {{Register not found in database: Stream_Switch_Event_Port_Selection_0}}
    aie.trace.reg register = "Stream_Switch_Event_Port_Selection_0" field = "Port_0_ID" value = 1
  }
}

// -----

aie.device(npu1) {
  %mem = aie.tile(0, 1)
  aie.trace.config @hot(%mem) packet_type = memtile {
    // expected-error@+1 {{Field not found in register: Mode in Trace_Control0}}
    aie.trace.reg register = "Trace_Control0" field = "Mode" value = 1
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace.config @hot(%core) packet_type = core {
    // expected-error@+1 {{Overlapping masks for register Trace_Control1: mask1=31 mask2=16}}
    aie.trace.reg register = "Trace_Control1" field = "ID" value = 1
    // expected-note@+1 {{this write sets some of the same bits}}
    aie.trace.reg register = "Trace_Control1" value = 16 mask = 16
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace.config @hot(%core) packet_type = core {
    // expected-error@+1 {{Failed to resolve port value: DMA:7}}
    aie.trace.reg register = "Stream_Switch_Event_Port_Selection_0" field = "Port_0_ID" value = "DMA:7"
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace.config @hot(%core) packet_type = core {
    // expected-warning@+1 {{value 32 exceeds field width 5; its upper bits are cut off}}
    aie.trace.reg register = "Trace_Control1" field = "ID" value = 32
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence() {
    // expected-error@+1 {{trace config symbol 'nothing' not found}}
    aie.trace.start_config @nothing
  }
}

// -----

aie.device(npu1) {
  %core = aie.logical_tile<CoreTile>(?, ?)
  // expected-note@+1 {{run --aie-place-tiles first}}
  aie.trace.config @hot(%core) packet_type = core {
  }
  aie.runtime_sequence() {
    // expected-error@+1 {{tile operand must be a TileOp}}
    aie.trace.start_config @hot
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace.config @hot(%core) packet_type = core {
    // expected-error@+1 {{Register 'Trace_Control7' not found for tile (0, 2)}}
    aie.trace.reg register = "Trace_Control7" value = 16 mask = 16
  }
  aie.runtime_sequence() {
    aie.trace.start_config @hot
  }
}
