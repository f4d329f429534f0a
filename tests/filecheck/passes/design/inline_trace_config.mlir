// RUN: tilewright opt --aie-inline-trace-config %s | filecheck %s

// Starting a trace writes its registers, in the module that the type of the packets names: 0x140D0 is Trace_Control0 of
// a core tile's memory module. The description of the trace stays, for whoever reads what was recorded.
// CHECK:      aie.trace.config @memory(%tile_1_2) packet_type = mem {
// CHECK:      aie.runtime_sequence() {
// CHECK-NEXT:   %[[CONTROL:.+]] = arith.constant 82128 : i32
// CHECK-NEXT:   %[[WORD:.+]] = arith.constant 7 : i32
// CHECK-NEXT:   aiex.npu.write32(%[[CONTROL]], %[[WORD]]) {column = 1 : i32, row = 2 : i32} : i32, i32
// CHECK-NEXT:   %[[EVENTS:.+]] = arith.constant 82144 : i32
// CHECK-NEXT:   %[[NEGATIVE:.+]] = arith.constant -1 : i32
// CHECK-NEXT:   aiex.npu.write32(%[[EVENTS]], %[[NEGATIVE]]) {column = 1 : i32, row = 2 : i32} : i32, i32
// CHECK-NEXT:   aiex.npu.preempt
aie.device(npu1) {
  %core = aie.tile(1, 2)
  aie.trace.config @memory(%core) packet_type = mem {
    aie.trace.reg register = "Trace_Control0" value = 7 mask = 255
    aie.trace.reg register = "trace_event0" value = -1
  }
  aie.runtime_sequence() {
    aie.trace.start_config @memory
    aiex.npu.preempt {level = 1 : ui8}
  }
}
