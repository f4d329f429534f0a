// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu1) {
  %tile = aie.tile(0, 0)

  // The default name goes without saying; arguments lose their names but not their order.
  aie.runtime_sequence @sequence(%a: memref<8xi32>, %n: i32) {
  }
  aie.runtime_sequence @step(%a: memref<8xi32> {ignored = 1 : i32}) attributes {emit_parameter_sync_preamble = false, mine} {
    // Bodies see the tiles of the device.
    %task = aiex.dma_configure_task(%tile, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32> offset = 0 len = 8)
      aie.end
    }
  }
  // What it was called at first.
  aiex.runtime_sequence @older() {
  }
  aie.bd_chain @pingpong(%one: memref<8xi32>, %two: memref<8xi32>) {
      aie.dma_bd(%one : memref<8xi32> offset = 0 len = 8)
      aie.next_bd ^second
    ^second:
      aie.dma_bd(%two : memref<8xi32> offset = 0 len = 8)
      aie.end
  }
}

// CHECK:      aie.runtime_sequence(%arg0: memref<8xi32>, %arg1: i32) {
// CHECK-NEXT: }
// CHECK-NEXT: aie.runtime_sequence @step(%arg0: memref<8xi32>) attributes {emit_parameter_sync_preamble = false, mine} {
// CHECK-NEXT:   %{{.+}} = aiex.dma_configure_task(%shim_noc_tile_0_0, MM2S, 0) {
// CHECK:      aie.runtime_sequence @older() {
// CHECK-NEXT: }
// CHECK-NEXT: aie.bd_chain @pingpong(%arg0: memref<8xi32>, %arg1: memref<8xi32>) {
// CHECK-NEXT:   aie.dma_bd(%arg0 : memref<8xi32> offset = 0 len = 8)
// CHECK-NEXT:   aie.next_bd ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT:   aie.dma_bd(%arg1 : memref<8xi32> offset = 0 len = 8)
// CHECK-NEXT:   aie.end
// CHECK-NEXT: }

// GENERIC:      "aie.runtime_sequence"() <{sym_name = "sequence"}> ({
// GENERIC-NEXT: ^bb0(%arg{{[0-9]+}}: memref<8xi32>, %arg{{[0-9]+}}: i32):
// GENERIC:      "aie.runtime_sequence"() <{emit_parameter_sync_preamble = false, sym_name = "step"}> ({
// GENERIC:      }) {mine} : () -> ()
// GENERIC:      "aie.bd_chain"() <{sym_name = "pingpong"}> ({
