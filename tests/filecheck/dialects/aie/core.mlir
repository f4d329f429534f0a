// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | filecheck %s --check-prefix=GENERIC

aie.device(npu2) {
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %c = aie.logical_tile<CoreTile>(?, ?)
  // CHECK:      %core_0_2 = aie.core(%tile_0_2) {
  // CHECK-NEXT:   %c3_i32 = arith.constant 3 : i32
  // CHECK-NEXT:   aie.debug(%c3_i32 : i32)
  // CHECK-NEXT:   aie.end
  // CHECK-NEXT: } {dynamic_objfifo_lowering = false, link_files = ["k.o", "m.o"], stack_size = 2048 : i32}
  %0 = aie.core(%a) {
    %three = arith.constant 3 : i32
    aie.debug(%three : i32)
    aie.end
  } {stack_size = 2048 : i32, link_files = ["k.o", "m.o"], dynamic_objfifo_lowering = false}
  // CHECK-NEXT: %core_0_3 = aie.core(%tile_0_3) {
  // CHECK-NEXT:   aie.end
  // CHECK-NEXT: } {elf_file = "core.elf"}
  %1 = aie.core(%b) {
    aie.end
  } {elf_file = "core.elf"}
  // A core of several blocks, on a tile that has no place yet and so gives it no name.
  // CHECK-NEXT: %0 = aie.core(%logical_core) {
  // CHECK-NEXT:   cf.br ^bb1
  // CHECK-NEXT: ^bb1:  // pred: ^bb0
  // CHECK-NEXT:   aie.end
  // CHECK-NEXT: }
  %2 = aie.core(%c) {
    cf.br ^exit
  ^exit:
    aie.end
  }
}
// GENERIC: "aie.core"(%0) <{dynamic_objfifo_lowering = false, link_files = ["k.o", "m.o"], stack_size = 2048 : i32}> ({
