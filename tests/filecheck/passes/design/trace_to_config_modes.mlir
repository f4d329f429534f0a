// RUN: tilewright opt --aie-trace-to-config --aie-trace-pack-reg-writes --aie-inline-trace-config %s | filecheck %s

// The mode of a core's trace is in the lowest bits of its control register, below start (event 122) and stop (121): 0 for
// times, 1 for program counters, 2 for every branch. Units of memories have no modes, whatever their traces say.
// CHECK:      aie.runtime_sequence() {
// CHECK-NEXT:   %[[CORE:.+]] = arith.constant 213200 : i32
// CHECK-NEXT:   %[[TIMES:.+]] = arith.constant 2038038528 : i32
// CHECK-NEXT:   aiex.npu.write32(%[[CORE]], %[[TIMES]]) {column = 0 : i32, row = 2 : i32} : i32, i32
// CHECK:        %[[COUNTERS:.+]] = arith.constant 2038038529 : i32
// CHECK:        aiex.npu.write32(%{{.+}}, %[[COUNTERS]]) {column = 0 : i32, row = 3 : i32} : i32, i32
// CHECK:        %[[BRANCHES:.+]] = arith.constant 2038038530 : i32
// CHECK:        aiex.npu.write32(%{{.+}}, %[[BRANCHES]]) {column = 0 : i32, row = 4 : i32} : i32, i32
// CHECK:        %[[MEMORY:.+]] = arith.constant 82128 : i32
// CHECK:        %[[NONE:.+]] = arith.constant 2038038528 : i32
// CHECK:        aiex.npu.write32(%[[MEMORY]], %[[NONE]]) {column = 0 : i32, row = 2 : i32} : i32, i32
aie.device(npu1_1col) {
  %low = aie.tile(0, 2)
  %middle = aie.tile(0, 3)
  %high = aie.tile(0, 4)
  aie.trace @times(%low) {
    aie.trace.mode "Event-Time"
    aie.trace.packet id=1 type=core
    aie.trace.start broadcast=15
    aie.trace.stop broadcast=14
  }
  aie.trace @counters(%middle) {
    aie.trace.mode "Event-PC"
    aie.trace.packet id=2 type=core
    aie.trace.start broadcast=15
    aie.trace.stop broadcast=14
  }
  aie.trace @branches(%high) {
    aie.trace.mode Execution
    aie.trace.packet id=3 type=core
    aie.trace.start broadcast=15
    aie.trace.stop broadcast=14
  }
  aie.trace @memory(%low) {
    aie.trace.mode "Event-PC"
    aie.trace.packet id=4 type=mem
    aie.trace.start broadcast=15
    aie.trace.stop broadcast=14
  }
  aie.runtime_sequence() {
    aie.trace.start_config @times
    aie.trace.start_config @counters
    aie.trace.start_config @branches
    aie.trace.start_config @memory
  }
}
