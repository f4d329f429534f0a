// RUN: tilewright opt --split-input-file --aie-trace-pack-reg-writes %s | filecheck %s

// Fields become masks and values in their places; writes to one register become one, where the first of them was.
// 121 << 24 | 1 << 16 | 2, in the bits 24 to 30, 16 to 22, 0 and 1.
// CHECK:      aie.trace.config @core(%tile_0_2) packet_type = core {
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control0" value = 2030108674 mask = 2139029507 comment = "stop event + start event + trace mode"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Event0" value = 9504 mask = 32639 comment = "b"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Status" value = 3
// CHECK-NEXT: }
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  aie.trace.config @core(%core) packet_type = core {
    aie.trace.reg register = "Trace_Control0" field = "Trace_Stop_Event" value = 121 comment = "stop event"
    aie.trace.reg register = "Trace_Event0" field = "Trace_Event0" value = 32
    aie.trace.reg register = "Trace_Control0" field = "Trace_Start_Event" value = "TRUE" comment = "start event"
    aie.trace.reg register = "Trace_Control0" value = 2 mask = 3 comment = "trace mode"
    aie.trace.reg register = "Trace_Event0" field = "Trace_Event1" value = CoreEventAIE2::INSTR_VECTOR comment = "b"
    // A write without a mask is of the whole register, and stays alone.
    aie.trace.reg register = "Trace_Status" value = 3
  }
}

// -----

// Ports become their numbers among the masters (North:1 is 14) or among the slaves (DMA:0 is 1) of the tile's switch.
// 14 << 16 | 1 << 21 | 1.
// CHECK:      aie.trace.reg register = "Stream_Switch_Event_Port_Selection_0" value = 3014657 mask = 4128831
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  aie.trace.config @ports(%core) packet_type = core {
    aie.trace.reg register = "Stream_Switch_Event_Port_Selection_0" field = "Port_2_ID" value = "North:1"
    aie.trace.reg register = "Stream_Switch_Event_Port_Selection_0" field = "Port_2_Master_Slave" value = 1
    aie.trace.reg register = "Stream_Switch_Event_Port_Selection_0" field = "Port_0_ID" value = "dma:0"
    aie.trace.reg register = "Stream_Switch_Event_Port_Selection_0" field = "Port_0_Master_Slave" value = 0
  }
}

// -----

// Event numbers of a mem tile have eight bits: 157 << 16, and 156 << 24 as a signed number.
// CHECK:      aie.trace.reg register = "Trace_Control0" value = -1667432448 mask = -65536
aie.device(npu2_1col) {
  %mem = aie.tile(0, 1)
  aie.trace.config @mem_tile(%mem) packet_type = memtile {
    aie.trace.reg register = "Trace_Control0" field = "Trace_Start_Event" value = 157
    aie.trace.reg register = "Trace_Control0" field = "Trace_Stop_Event" value = 156
  }
}
