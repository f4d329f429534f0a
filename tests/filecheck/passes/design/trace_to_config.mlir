// RUN: tilewright opt --split-input-file --aie-trace-to-config %s | filecheck %s

// Each statement of a trace becomes fields of registers, under the vendor's names: first what makes events of others,
// then control in the order of the program, ports, and what is recorded. Sequences refer to the result.
// CHECK:      aie.trace.config @hot_config(%tile_0_2) packet_type = core {
// CHECK-NEXT:   aie.trace.reg register = "Combo_event_inputs" field = "eventC" value = "INSTR_VECTOR" comment = "combo1 eventA"
// CHECK-NEXT:   aie.trace.reg register = "Combo_event_inputs" field = "eventD" value = CoreEventAIE2::LOCK_STALL comment = "combo1 eventB"
// CHECK-NEXT:   aie.trace.reg register = "Combo_event_control" field = "combo1" value = 1 comment = "combo1 logic"
// CHECK-NEXT:   aie.trace.reg register = "Combo_event_control" field = "combo2" value = 2 comment = "combo2 logic"
// CHECK-NEXT:   aie.trace.reg register = "Edge_Detection_event_control" field = "Edge_Detection_Event_1" value = "ACTIVE" comment = "edge1 source"
// CHECK-NEXT:   aie.trace.reg register = "Edge_Detection_event_control" field = "Edge_Detection_1_Trigger_Rising" value = 0 comment = "edge1 rising"
// CHECK-NEXT:   aie.trace.reg register = "Edge_Detection_event_control" field = "Edge_Detection_1_Trigger_Falling" value = 1 comment = "edge1 falling"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control0" field = "Trace_Stop_Event" value = 121 comment = "stop event"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control0" field = "Trace_Start_Event" value = 1 comment = "start event"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control0" field = "Mode" value = 2 comment = "trace mode"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control1" field = "ID" value = 5 comment = "packet ID"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control1" field = "Packet_Type" value = 0 comment = "packet type"
// CHECK-NEXT:   aie.trace.reg register = "Stream_Switch_Event_Port_Selection_1" field = "Port_6_ID" value = "North:1" comment = "port 6 ID"
// CHECK-NEXT:   aie.trace.reg register = "Stream_Switch_Event_Port_Selection_1" field = "Port_6_Master_Slave" value = 1 comment = "port 6 master/slave"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Event0" field = "Trace_Event0" value = "COMBO_EVENT_2" comment = "COMBO_EVENT_2"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Event0" field = "Trace_Event1" value = CoreEventAIE2::PORT_RUNNING_6 comment = "PORT_RUNNING_6"
// CHECK-NEXT: }
// CHECK-NEXT: aie.runtime_sequence() {
// CHECK-NEXT:   aie.trace.start_config @hot_config
aie.device(npu1_1col) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
    aie.trace.event<"COMBO_EVENT_2">
    aie.trace.event<CoreEventAIE2::PORT_RUNNING_6>
    aie.trace.port<6> port=North channel=1 direction=S2MM
    aie.trace.stop broadcast=14
    aie.trace.start event=<"TRUE">
    aie.trace.mode "Execution"
    aie.trace.packet id=5 type=core
    aie.trace.edge_event<1> event=<"ACTIVE"> trigger=FALLING
    aie.trace.combo_event<1> <"INSTR_VECTOR"> AND_NOT <CoreEventAIE2::LOCK_STALL>
    // The third combo event has the results of the others for inputs: there is nothing to choose.
    aie.trace.combo_event<2> <"COMBO_EVENT_0"> OR <"COMBO_EVENT_1">
  }
  aie.runtime_sequence() {
    aie.trace.start_config @hot
  }
}

// -----

// Only cores have modes. The same broadcast is another event in each kind of module.
// CHECK:      aie.trace.config @memory_config(%tile_0_2) packet_type = mem {
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control1" field = "ID" value = 1 comment = "packet ID"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control1" field = "Packet_Type" value = 1 comment = "packet type"
// CHECK-NEXT:   aie.trace.reg register = "Trace_Control0" field = "Trace_Start_Event" value = 122 comment = "start event"
// CHECK-NEXT: }
// CHECK:      aie.trace.config @mem_tile_config(%mem_tile_0_1) packet_type = memtile {
// CHECK:        aie.trace.reg register = "Trace_Control0" field = "Trace_Start_Event" value = 157 comment = "start event"
// CHECK:      aie.trace.config @shim_config(%shim_noc_tile_0_0) packet_type = shimtile {
// CHECK:        aie.trace.reg register = "Trace_Control0" field = "Trace_Start_Event" value = 125 comment = "start event"
aie.device(npu2_1col) {
  %core = aie.tile(0, 2)
  %mem = aie.tile(0, 1)
  %shim = aie.tile(0, 0)
  aie.trace @memory(%core) {
    aie.trace.packet id=1 type=mem
    aie.trace.mode "Event-Time"
    aie.trace.start broadcast=15
  }
  aie.trace @mem_tile(%mem) {
    aie.trace.packet id=2 type=memtile
    aie.trace.start broadcast=15
  }
  aie.trace @shim(%shim) {
    aie.trace.packet id=3 type=shimtile
    aie.trace.start broadcast=15
  }
}
