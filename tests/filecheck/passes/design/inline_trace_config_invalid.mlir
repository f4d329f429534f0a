// RUN: tilewright opt --verify-diagnostics --aie-inline-trace-config %s

aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.trace.config @hot(%core) packet_type = core {
    // expected-error@+1 {{aie.trace.reg still has field attribute - run -aie-trace-pack-reg-writes pass first}}
    aie.trace.reg register = "Trace_Control1" field = "ID" value = 1
  }
  aie.runtime_sequence() {
    aie.trace.start_config @hot
  }
}
