// RUN: tilewright opt --aie-lower-scratchpad-parameters=output-params-file=%t %s | filecheck %s && cat %t | filecheck %s --check-prefix=FILE

// The file for the host: how many parameters there are, then name, entry, type and use of each.
// FILE:      3
// FILE-NEXT: factor 0 bf16 core
// FILE-NEXT: bias 1 i8 core
// FILE-NEXT: begin 2 i32 addr
// CHECK:      aiex.scratchpad_parameter @factor : bf16 {kind = 0 : i32, state_table_idx = 0 : ui8}
// CHECK-NEXT: aiex.scratchpad_parameter @bias : i8 {kind = 0 : i32, state_table_idx = 1 : ui8}
// CHECK-NEXT: aiex.scratchpad_parameter @begin : i32 {kind = 1 : i32, state_table_idx = 2 : ui8}
aiex.scratchpad_parameter @factor : bf16
aiex.scratchpad_parameter @bias : i8
aiex.scratchpad_parameter @begin : i32

// CHECK-LABEL: aie.device(npu2)
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  // CHECK:      %[[TILE:.+]] = aie.tile(0, 2)
  // CHECK-NEXT: %[[LOCK:.+]] = aie.lock(%[[TILE]]) {init = 0 : i32}
  // CHECK-NEXT: %[[BIAS:.+]] = aie.buffer(%[[TILE]]) {sym_name = "__param_bias_0_2_1"} : memref<2xi32>
  // CHECK-NEXT: %[[FACTOR:.+]] = aie.buffer(%[[TILE]]) {sym_name = "__param_factor_0_2_0"} : memref<2xi32>
  %tile = aie.tile(0, 2)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)

  // A core waits until its parameters are there. The host has shifted them by two bits, which the firmware clears.
  // CHECK: aie.core(%[[TILE]]) {
  %core = aie.core(%tile) {
    // CHECK-NEXT: %[[ONE:.+]] = arith.constant 1 : i32
    // CHECK-NEXT: aie.use_lock(%[[LOCK]], Acquire, %[[ONE]])
    // CHECK-NEXT: %[[ZERO:.+]] = arith.constant 0 : index
    // CHECK-NEXT: %[[LOADED:.+]] = memref.load %[[FACTOR]][%[[ZERO]]] : memref<2xi32>
    // CHECK-NEXT: %[[TWO:.+]] = arith.constant 2 : i32
    // CHECK-NEXT: %[[SHIFTED:.+]] = arith.shrui %[[LOADED]], %[[TWO]] : i32
    // CHECK-NEXT: %[[HALF:.+]] = arith.trunci %[[SHIFTED]] : i32 to i16
    // CHECK-NEXT: %[[VALUE:.+]] = arith.bitcast %[[HALF]] : i16 to bf16
    %factor = aiex.read_scratchpad_parameter @factor : bf16
    // CHECK: memref.load %[[BIAS]]
    // CHECK: %[[BYTE:.+]] = arith.trunci %{{.+}} : i32 to i8
    %bias = aiex.read_scratchpad_parameter @bias : i8
    // CHECK: call @use(%[[VALUE]], %[[BYTE]])
    func.call @use(%factor, %bias) : (bf16, i8) -> ()
    // CHECK: memref.load %[[FACTOR]]
    %again = aiex.read_scratchpad_parameter @factor : bf16
    func.call @use(%again, %bias) : (bf16, i8) -> ()
    // CHECK: } {emit_parameter_sync_preamble = false}
    aie.end
  }
  func.func private @use(bf16, i8)

  // A sequence begins by having the firmware add each entry to a cleared buffer, then it lets the core go on.
  // CHECK: aie.runtime_sequence @passes_first(%arg0: memref<8xi32>) attributes {emit_parameter_sync_preamble = false} {
  // CHECK-NEXT: aiex.npu.create_scratchpad {size = 12 : ui32}
  // CHECK-NEXT: %[[ADDRESS:.+]] = arith.constant 0 : i32
  // CHECK-NEXT: %[[CLEAR:.+]] = arith.constant 0 : i32
  // CHECK-NEXT: aiex.npu.write32(%[[ADDRESS]], %[[CLEAR]]) {buffer = @__param_factor_0_2_0} : i32, i32
  // CHECK-NEXT: aiex.npu.update_from_scratchpad {address = 0 : ui32, buffer = @__param_factor_0_2_0, state_table_idx = 0 : ui8}
  // CHECK:      aiex.npu.write32({{.*}}) {buffer = @__param_bias_0_2_1}
  // CHECK-NEXT: aiex.npu.update_from_scratchpad {address = 0 : ui32, buffer = @__param_bias_0_2_1, state_table_idx = 1 : ui8}
  // CHECK-NEXT: aiex.set_lock(%[[LOCK]], 1)
  aie.runtime_sequence @passes_first(%x: memref<8xi32>) {
    // CHECK: aie.dma_bd(%arg0 : memref<8xi32>) {offset_state_table_idx = 2 : ui8}
    %task = aiex.dma_configure_task_for @in {
      aie.dma_bd(%x : memref<8xi32>) {offset_parameter = @begin}
      aie.end
    }
  }

  // One that says where to pass parameters does it there; it creates the scratchpad once.
  // CHECK: aie.runtime_sequence @passes_later() {
  // CHECK-NEXT: aiex.npu.preempt {level = 1 : ui8}
  // CHECK-NEXT: aiex.npu.create_scratchpad
  // CHECK:      aiex.set_lock(%[[LOCK]], 1)
  // CHECK-NEXT: aiex.npu.preempt {level = 2 : ui8}
  // CHECK-NOT:  aiex.npu.create_scratchpad
  // CHECK:      aiex.set_lock(%[[LOCK]], 1)
  aie.runtime_sequence @passes_later() {
    aiex.npu.preempt {level = 1 : ui8}
    aiex.sync_scratchpad_parameters_from_host
    aiex.npu.preempt {level = 2 : ui8}
    aiex.sync_scratchpad_parameters_from_host
  }
}
