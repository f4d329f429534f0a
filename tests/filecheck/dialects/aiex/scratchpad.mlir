// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

aiex.scratchpad_parameter @scale : bf16
aiex.scratchpad_parameter @row : i32 {kind = 1 : i32, state_table_idx = 0 : ui8}
aie.device(npu2) {
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    %scale = aiex.read_scratchpad_parameter @scale : bf16
    aie.end
  }
  aie.runtime_sequence() {
    aiex.sync_scratchpad_parameters_from_host
  }
}

// CHECK: aiex.scratchpad_parameter @scale : bf16
// CHECK: aiex.scratchpad_parameter @row : i32 {kind = 1 : i32, state_table_idx = 0 : ui8}
// CHECK: %0 = aiex.read_scratchpad_parameter @scale : bf16
// CHECK: aiex.sync_scratchpad_parameters_from_host
