// RUN: tilewright opt --split-input-file --aie-insert-trace-flows %s | filecheck %s

// Packets of the trace go to the DMA of a shim tile, which is declared if need be and gets an id for its tokens. The
// sequence synchronizes the timers of traced tiles (event 122 is broadcast 15 in a core), sets up a descriptor for the
// trace buffer, which has become its last argument, starts the DMA, and then the trace: it raises user event 1 (127) in
// the shim tile and broadcasts it. User event 0 (126) ends the trace when all is done.
// CHECK:      aie.device(npu1_1col) {
// CHECK-NEXT:   %shim_noc_tile_0_0 = aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
// CHECK-NEXT:   %tile_0_2 = aie.tile(0, 2)
// CHECK-NEXT:   aie.trace @hot(%tile_0_2) {
// CHECK-NEXT:     aie.trace.packet id = 1 type = core
// CHECK-NEXT:     aie.trace.event <"INSTR_VECTOR">
// CHECK-NEXT:     aie.trace.start broadcast = 15
// CHECK-NEXT:     aie.trace.stop broadcast = 14
// CHECK-NEXT:   }
// CHECK-NEXT:   aie.runtime_sequence(%arg0: memref<64xi32>, %arg1: memref<4096xi8>) {
// CHECK-NEXT:     aie.trace.start_config @hot
// CHECK-NEXT:     %[[TIMER:.+]] = arith.constant 212992 : i32
// CHECK-NEXT:     %[[BROADCAST_15:.+]] = arith.constant 31232 : i32
// CHECK-NEXT:     aiex.npu.write32(%[[TIMER]], %[[BROADCAST_15]]) {column = 0 : i32, row = 2 : i32} : i32, i32
// CHECK-NEXT:     aiex.npu.writebd {bd_id = 15 : i32, buffer_length = 1024 : i32,
// CHECK-SAME:       burst_length = 64 : i32, column = 0 : i32,
// CHECK-SAME:       enable_packet = 1 : i32,
// CHECK-SAME:       valid_bd = 1 : i32}
// CHECK-NEXT:     %[[OFFSET:.+]] = arith.constant 0 : i32
// CHECK-NEXT:     aiex.npu.address_patch(%[[OFFSET]] : i32) {addr = 119268 : ui32, arg_idx = 1 : i32}
// CHECK-NEXT:     %[[CONTROL:.+]] = arith.constant 119304 : i32
// CHECK-NEXT:     %[[ID:.+]] = arith.constant 3840 : i32
// CHECK-NEXT:     %[[MASK:.+]] = arith.constant 65280 : i32
// CHECK-NEXT:     aiex.npu.maskwrite32(%[[CONTROL]], %[[ID]], %[[MASK]]) {column = 0 : i32, row = 0 : i32} : i32, i32, i32
// CHECK-NEXT:     %[[QUEUE:.+]] = arith.constant 119308 : i32
// CHECK-NEXT:     %[[TASK:.+]] = arith.constant -2147483633 : i32
// CHECK-NEXT:     aiex.npu.write32(%[[QUEUE]], %[[TASK]]) {column = 0 : i32, row = 0 : i32} : i32, i32
// CHECK-NEXT:     %[[SHIM_TIMER:.+]] = arith.constant 212992 : i32
// CHECK-NEXT:     %[[USER_1:.+]] = arith.constant 32512 : i32
// CHECK-NEXT:     aiex.npu.write32(%[[SHIM_TIMER]], %[[USER_1]]) {column = 0 : i32, row = 0 : i32} : i32, i32
// CHECK-NEXT:     %[[CHANNEL_15:.+]] = arith.constant 213068 : i32
// CHECK-NEXT:     %[[EVENT_A:.+]] = arith.constant 127 : i32
// CHECK-NEXT:     aiex.npu.write32(%[[CHANNEL_15]], %[[EVENT_A]]) {column = 0 : i32, row = 0 : i32} : i32, i32
// CHECK-NEXT:     %[[GENERATE:.+]] = arith.constant 213000 : i32
// CHECK-NEXT:     %[[EVENT_B:.+]] = arith.constant 127 : i32
// CHECK-NEXT:     aiex.npu.write32(%[[GENERATE]], %[[EVENT_B]]) {column = 0 : i32, row = 0 : i32} : i32, i32
// CHECK-NEXT:     aiex.npu.preempt
// CHECK-NEXT:     %[[CHANNEL_14:.+]] = arith.constant 213064 : i32
// CHECK-NEXT:     %[[EVENT_C:.+]] = arith.constant 126 : i32
// CHECK-NEXT:     aiex.npu.write32(%[[CHANNEL_14]], %[[EVENT_C]]) {column = 0 : i32, row = 0 : i32} : i32, i32
// CHECK-NEXT:     %[[AGAIN:.+]] = arith.constant 213000 : i32
// CHECK-NEXT:     %[[EVENT_D:.+]] = arith.constant 126 : i32
// CHECK-NEXT:     aiex.npu.write32(%[[AGAIN]], %[[EVENT_D]]) {column = 0 : i32, row = 0 : i32} : i32, i32
// CHECK-NEXT:   }
// CHECK-NEXT:   aie.packet_flow(1) {
// CHECK-NEXT:     aie.packet_source<%tile_0_2, Trace : 0>
// CHECK-NEXT:     aie.packet_dest<%shim_noc_tile_0_0, DMA : 1>
// CHECK-NEXT:   } {keep_pkt_header = true}
// CHECK-NEXT: }
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    aie.trace.event<"INSTR_VECTOR">
    aie.trace.start broadcast=15
    aie.trace.stop broadcast=14
  }
  aie.runtime_sequence(%data: memref<64xi32>) {
    aie.trace.host_config {buffer_size = 4096 : i32}
    aie.trace.start_config @hot
    aiex.npu.preempt {level = 1 : ui8}
  }
}

// -----

// Ids that programs give are kept; the others go by column and row, whatever the order in the program. Both units of a
// core tile may be traced: that of the memory module has a port of its own.
// CHECK-LABEL: module @ids
// CHECK:         aie.trace @upper
// CHECK-NEXT:      aie.trace.packet id = 4 type = core
// CHECK:         aie.trace @lower
// CHECK-NEXT:      aie.trace.packet id = 2 type = memtile
// CHECK:         aie.trace @given
// CHECK:           aie.trace.packet id = 1 type = mem
// CHECK:         aie.trace @first
// CHECK:           aie.trace.packet id = 3 type = core
// CHECK:         aie.packet_flow(4) {
// CHECK-NEXT:      aie.packet_source<%tile_0_3, Trace : 0>
// CHECK:         aie.packet_flow(2) {
// CHECK-NEXT:      aie.packet_source<%mem_tile_0_1, Trace : 0>
// CHECK:         aie.packet_flow(1) {
// CHECK-NEXT:      aie.packet_source<%tile_0_2, Trace : 1>
// CHECK:         aie.packet_flow(3) {
// CHECK-NEXT:      aie.packet_source<%tile_0_2, Trace : 0>
module @ids {
  aie.device(npu2_1col) {
    %low = aie.tile(0, 1)
    %middle = aie.tile(0, 2)
    %high = aie.tile(0, 3)
    aie.trace @upper(%high) {
      aie.trace.start broadcast=15
      aie.trace.stop broadcast=14
    }
    aie.trace @lower(%low) {
      aie.trace.start broadcast=15
      aie.trace.stop broadcast=14
    }
    aie.trace @given(%middle) {
      aie.trace.start broadcast=15
      aie.trace.stop broadcast=14
      aie.trace.packet id=1 type=mem
    }
    aie.trace @first(%middle) {
      aie.trace.start broadcast=15
      aie.trace.stop broadcast=14
      aie.trace.packet type=core
    }
    aie.runtime_sequence() {
      aie.trace.host_config {buffer_size = 4096 : i32}
    }
  }
}

// -----

// The shim tile that raises the events does not hear its own broadcasts, but it knows the events themselves. Another
// shim tile hears them (event 125 is broadcast 15 on the network A of a shim tile, in bits 8 and up of the register).
// CHECK-LABEL: module @shim_tiles
// CHECK:         aie.trace @source
// CHECK:           aie.trace.start event = <"USER_EVENT_1">
// CHECK-NEXT:      aie.trace.stop event = <"USER_EVENT_0">
// CHECK:         aie.trace @listener
// CHECK:           aie.trace.start broadcast = 15
// CHECK-NEXT:      aie.trace.stop broadcast = 14
// CHECK:           arith.constant 212992 : i32
// CHECK-NEXT:      arith.constant 32000 : i32
// CHECK-NEXT:      aiex.npu.write32({{.*}}) {column = 1 : i32, row = 0 : i32}
// CHECK-NEXT:      aiex.npu.writebd
module @shim_tiles {
  aie.device(npu1_2col) {
    %here = aie.tile(0, 0)
    %there = aie.tile(1, 0)
    aie.trace @source(%here) {
      aie.trace.start broadcast=15
      aie.trace.stop broadcast=14
    }
    aie.trace @listener(%there) {
      aie.trace.start broadcast=15
      aie.trace.stop broadcast=14
    }
    aie.runtime_sequence() {
      aie.trace.host_config {buffer_size = 4096 : i32}
    }
  }
}

// -----

// Traces that wait for events of their own tile need no broadcasts, only a way to the host.
// CHECK-LABEL: module @own_events
// CHECK:         aie.runtime_sequence(%arg0: memref<16xi8>) {
// CHECK-NEXT:      aiex.npu.writebd
// CHECK-NEXT:      arith.constant
// CHECK-NEXT:      aiex.npu.address_patch
// CHECK-COUNT-3:   arith.constant
// CHECK-NEXT:      aiex.npu.maskwrite32
// CHECK-COUNT-2:   arith.constant
// CHECK-NEXT:      aiex.npu.write32
// CHECK-NEXT:    }
module @own_events {
  aie.device(npu1_1col) {
    %core = aie.tile(0, 2)
    aie.trace @always(%core) {
      aie.trace.start event=<"TRUE">
      aie.trace.stop event=<"NONE">
    }
    aie.runtime_sequence() {
      aie.trace.host_config {buffer_size = 16 : i32}
    }
  }
}

// -----

// Traces may wait for different broadcasts: the one event goes out on all of them.
// CHECK-LABEL: module @two_broadcasts
// CHECK:         arith.constant 213068 : i32
// CHECK:         arith.constant 213020 : i32
// CHECK:         arith.constant 213000 : i32
module @two_broadcasts {
  aie.device(npu1_1col) {
    %core = aie.tile(0, 2)
    %other = aie.tile(0, 3)
    aie.trace @early(%core) {
      aie.trace.start broadcast=15
      aie.trace.stop event=<"NONE">
    }
    aie.trace @late(%other) {
      aie.trace.start broadcast=3
      aie.trace.stop event=<"NONE">
    }
    aie.runtime_sequence() {
      aie.trace.host_config {buffer_size = 16 : i32}
    }
  }
}

// -----

// The host counts its buffers, not its numbers; each sequence that records has a buffer, one that does not has none.
// CHECK-LABEL: module @sequences
// CHECK:         aie.runtime_sequence @quiet(%arg0: memref<4xi32>) {
// CHECK-NEXT:    }
// CHECK:         aie.runtime_sequence @loud(%arg0: i32, %arg1: memref<4xi32>, %arg2: memref<16xi8>) {
// CHECK:           aiex.npu.address_patch({{.*}}) {{.*}}arg_idx = 1 : i32
// CHECK:         aie.runtime_sequence @reusing(%arg0: memref<4xi32>, %arg1: memref<6x2xi16>) {
// CHECK:           %[[BEHIND:.+]] = arith.constant 24 : i32
// CHECK-NEXT:      aiex.npu.address_patch(%[[BEHIND]] : i32) {{.*}}arg_idx = 1 : i32
module @sequences {
  aie.device(npu1_1col) {
    %core = aie.tile(0, 2)
    aie.trace @always(%core) {
      aie.trace.start event=<"TRUE">
      aie.trace.stop event=<"NONE">
    }
    aie.runtime_sequence @quiet(%data: memref<4xi32>) {
    }
    aie.runtime_sequence @loud(%n: i32, %data: memref<4xi32>) {
      aie.trace.host_config {buffer_size = 16 : i32}
    }
    aie.runtime_sequence @reusing(%in: memref<4xi32>, %out: memref<6x2xi16>) {
      aie.trace.host_config {buffer_size = 16 : i32, reuse_output_buffer = true}
    }
  }
}

// -----

// Room for traces is asked for, and nothing is traced: the sequence is as if it were not.
// CHECK-LABEL: module @nothing_traced
// CHECK:         aie.runtime_sequence(%arg0: memref<4xi32>) {
// CHECK-NEXT:    }
module @nothing_traced {
  aie.device(npu1_1col) {
    aie.runtime_sequence(%data: memref<4xi32>) {
      aie.trace.host_config {buffer_size = 16 : i32}
    }
  }
}
