// RUN: tilewright opt %s --aie-trace-to-config | filecheck %s

// A trace that says nothing becomes a configuration that does nothing.
// CHECK: aie.trace.config @hot_config
// CHECK-NOT: aie.trace.reg
aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace @hot(%core) {
  }
}
