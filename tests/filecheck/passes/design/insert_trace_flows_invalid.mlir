// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-insert-trace-flows %s

// expected-error@+1 {{aie.trace ops found but no runtime_sequence defined}}
aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  // expected-error@+2 {{runtime_sequence with traces requires aie.trace.host_config}}
  // expected-note@+1 {{add `aie.trace.host_config}}
  aie.runtime_sequence() {
    aie.trace.start_config @hot
  }
}

// -----

aie.device(npu1) {
  // expected-error@+1 {{LogicalTileOp must be resolved to TileOp before running -aie-insert-trace-flows (run -aie-place-tiles first)}}
  %core = aie.logical_tile<CoreTile>(?, ?)
  // expected-error@+1 {{LogicalTileOp must be resolved to TileOp}}
  %shim = aie.logical_tile<ShimNOCTile>(0, 0)
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-error@+1 {{trace is missing 'aie.trace.start'}}
  aie.trace @hot(%core) {
    aie.trace.stop event=<"NONE">
  }
  aie.runtime_sequence() {
    aie.trace.host_config {buffer_size = 16 : i32}
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-note@+1 {{the other trace is here; move its events into one of the two}}
  aie.trace @first(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  // expected-error@+1 {{tile (0, 2) is traced more than once on the same trace unit; each unit can have only one trace configuration}}
  aie.trace @second(%core) {
    aie.trace.packet type=core
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  aie.runtime_sequence() {
    aie.trace.host_config {buffer_size = 16 : i32}
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @first(%core) {
    // expected-note@+1 {{previous use of packet id 3}}
    aie.trace.packet id=3 type=core
  }
  aie.trace @second(%core) {
    // expected-error@+1 {{trace packet id 3 is already used by another trace; explicit packet ids must be unique across the device}}
    aie.trace.packet id=3 type=mem
  }
  aie.runtime_sequence() {
    aie.trace.host_config {buffer_size = 16 : i32}
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  // expected-error@+1 {{Failed to lookup broadcast event 'BROADCAST_16'}}
  aie.trace @hot(%core) {
    aie.trace.start broadcast=16
    aie.trace.stop event=<"NONE">
  }
  aie.runtime_sequence() {
    aie.trace.host_config {buffer_size = 16 : i32}
  }
}

// -----

// expected-error@+1 {{egress_shim_col 4 is not a valid shim NOC tile (device has 4 columns)}}
aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  aie.runtime_sequence() {
    aie.trace.host_config {buffer_size = 16 : i32, egress_shim_col = 4 : i32}
  }
}

// -----

// expected-error@+1 {{no S2MM channels available on shim tile at column 0 (both channels in use by existing flows); enable lateral-routing to redirect to a spare column}}
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.flow(%core, DMA : 0, %shim, DMA : 0)
  aie.flow(%core, DMA : 1, %shim, DMA : 1)
  aie.trace @hot(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  aie.runtime_sequence() {
    aie.trace.host_config {buffer_size = 16 : i32}
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  // expected-error@+1 {{trace.host_config reuse_output_buffer=true cannot be used with a dynamic (runtime-sized) runtime_sequence}}
  aie.runtime_sequence(%out: memref<64xi32>, %n: i32) {
    aie.trace.host_config {buffer_size = 16 : i32, reuse_output_buffer = true}
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  // expected-error@+1 {{trace.host_config reuse_output_buffer requires the runtime_sequence to have at least one argument to reuse}}
  aie.runtime_sequence() {
    aie.trace.host_config {buffer_size = 16 : i32, reuse_output_buffer = true}
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  // expected-error@+1 {{trace.host_config reuse_output_buffer needs a last argument whose size is known}}
  aie.runtime_sequence(%out: memref<?xi32>) {
    aie.trace.host_config {buffer_size = 16 : i32, reuse_output_buffer = true}
  }
}

// -----

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
  aie.runtime_sequence @one() {
    // expected-note@+1 {{here it is 0}}
    aie.trace.host_config {buffer_size = 16 : i32}
  }
  aie.runtime_sequence @two() {
    // expected-error@+1 {{egress_shim_col 1 differs from that of another runtime_sequence; the device has one route for its traces}}
    aie.trace.host_config {buffer_size = 16 : i32, egress_shim_col = 1 : i32}
  }
}

// -----

// expected-error@+1 {{traces on xcvc1902 cannot be lowered: the registers of its trace units are not known}}
aie.device(xcvc1902) {
  %core = aie.tile(2, 2)
  aie.trace @hot(%core) {
    aie.trace.start event=<"TRUE">
    aie.trace.stop event=<"NONE">
  }
}
