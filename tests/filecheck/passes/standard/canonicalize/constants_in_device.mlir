// RUN: tilewright opt --canonicalize %s | filecheck %s

// Cores and runtime sequences are taken out of the device later, so their constants stay with them.
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) {sym_name = "b"} : memref<4xi32>
  %core = aie.core(%tile) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : i32
    memref.store %one, %buffer[%zero] : memref<4xi32>
    %again = arith.constant 0 : index
    %two = arith.addi %one, %one : i32
    memref.store %two, %buffer[%again] : memref<4xi32>
    aie.end
  }
  aie.runtime_sequence(%argument: memref<4xi32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : i32
    memref.store %one, %argument[%zero] : memref<4xi32>
  }
}
// CHECK:      aie.core(%{{.*}}) {
// CHECK-NEXT:   %c2_i32 = arith.constant 2 : i32
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:   memref.store %c1_i32, %{{.*}}[%c0] : memref<4xi32>
// CHECK-NEXT:   memref.store %c2_i32, %{{.*}}[%c0] : memref<4xi32>
// CHECK:      aie.runtime_sequence(%arg0: memref<4xi32>) {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:   memref.store %c1_i32, %arg0[%c0] : memref<4xi32>
