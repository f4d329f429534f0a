// RUN: tilewright opt --aie-standard-lowering %s | filecheck %s
// RUN: tilewright opt --aie-standard-lowering="tilecol=0 tilerow=3" %s | filecheck %s --check-prefix=ONE
// RUN: not tilewright opt --aie-standard-lowering=device=other %s 2>&1 | filecheck %s --check-prefix=NONE

// NONE: error: No such device: other

// Buffers are globals, and the program of each core is a function. The device is gone.
// CHECK:      module attributes {llvm.target_triple = "aie2"} {
// CHECK-NEXT:   memref.global "public" @b : memref<2xi32> = dense<[1, 2]>
// CHECK-NEXT:   memref.global "public" @a : memref<4xi32>
// CHECK:        func.func private @llvm.aie2.acquire(i32, i32)
// CHECK:        func.func private @kernel(memref<4xi32>)
// CHECK:        func.func @core_0_3() {

// One core is asked for: only that, and the contents of buffers that are its own.
// ONE:        memref.global "public" @b : memref<2xi32> = dense<[1, 2]>
// ONE-NOT:    @core_0_2
// ONE:        func.func @core_0_3() {
// ONE-NOT:    @core_0_2
aie.device(npu1) {
  %first = aie.tile(0, 2)
  %second = aie.tile(0, 3)
  %a = aie.buffer(%first) {sym_name = "a"} : memref<4xi32>
  %b = aie.buffer(%second) {sym_name = "b"} : memref<2xi32> = dense<[1, 2]>
  func.func private @kernel(memref<4xi32>)
  // CHECK:      func.func @core_0_2() {
  // CHECK-NEXT:   %[[A:.+]] = memref.get_global @a : memref<4xi32>
  // CHECK-NEXT:   memref.assume_alignment %[[A]], 32 : memref<4xi32>
  // CHECK-NEXT:   call @kernel(%[[A]]) : (memref<4xi32>) -> ()
  // CHECK-NEXT:   return
  // CHECK-NEXT: }
  // CHECK-NOT:  aie.device
  %core = aie.core(%first) {
    func.call @kernel(%a) : (memref<4xi32>) -> ()
    aie.end
  }
  %other = aie.core(%second) {
    aie.end
  }
}
