// RUN: tilewright opt --aie-vector-transfer-lowering %s | filecheck %s
// RUN: tilewright opt --aie-vector-transfer-lowering=max-transfer-rank=1 %s | filecheck %s --check-prefix=FLAT

// A transfer of elements that lie side by side is a load or a store.
// CHECK-LABEL: func.func @dense
// FLAT-LABEL:  func.func @dense
aie.device(npu1) {
  func.func @dense(%data: memref<8x64xi32>, %i: index, %zero: i32) -> (vector<16xi32>, vector<4x16xi32>) {
    // CHECK-NEXT: %[[ROW:.+]] = vector.load %arg0[%arg1, %arg1] : memref<8x64xi32>, vector<16xi32>
    %row = vector.transfer_read %data[%i, %i], %zero {in_bounds = [true]} : memref<8x64xi32>, vector<16xi32>
    // CHECK-NEXT: %[[ROWS:.+]] = vector.load %arg0[%arg1, %arg1] : memref<8x64xi32>, vector<4x16xi32>
    // FLAT:       vector.transfer_read {{.*}} : memref<8x64xi32>, vector<4x16xi32>
    %rows = vector.transfer_read %data[%i, %i], %zero {in_bounds = [true, true]} : memref<8x64xi32>, vector<4x16xi32>
    // CHECK-NEXT: vector.store %[[ROW]], %arg0[%arg1, %arg1] : memref<8x64xi32>, vector<16xi32>
    vector.transfer_write %row, %data[%i, %i] {in_bounds = [true]} : vector<16xi32>, memref<8x64xi32>
    return %row, %rows : vector<16xi32>, vector<4x16xi32>
  }

  // What is the same in all rows is read once; what a mask leaves out keeps the padding.
  // CHECK-LABEL: func.func @special
  func.func @special(%data: memref<64xi32>, %i: index, %pad: i32, %mask: vector<16xi1>) -> (vector<4x16xi32>, vector<16xi32>) {
    // CHECK-NEXT: %[[ONE:.+]] = vector.load %arg0[%arg1] : memref<64xi32>, vector<1x16xi32>
    // CHECK-NEXT: vector.broadcast %[[ONE]] : vector<1x16xi32> to vector<4x16xi32>
    %rows = vector.transfer_read %data[%i], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0) -> (0, d0)>} : memref<64xi32>, vector<4x16xi32>
    // CHECK-NEXT: %[[PAD:.+]] = vector.broadcast %arg2 : i32 to vector<16xi32>
    // CHECK-NEXT: %[[SOME:.+]] = vector.maskedload %arg0[%arg1], %arg3, %[[PAD]]
    %some = vector.transfer_read %data[%i], %pad, %mask {in_bounds = [true]} : memref<64xi32>, vector<16xi32>
    // CHECK-NEXT: vector.maskedstore %arg0[%arg1], %arg3, %[[SOME]]
    vector.transfer_write %some, %data[%i], %mask {in_bounds = [true]} : vector<16xi32>, memref<64xi32>
    return %rows, %some : vector<4x16xi32>, vector<16xi32>
  }

  // Others stay: beyond the buffer's end, with gaps, in another order.
  // CHECK-LABEL: func.func @kept
  func.func @kept(%data: memref<8x64xi32>, %gaps: memref<64xi32, strided<[2]>>, %i: index, %zero: i32) -> (vector<16xi32>, vector<16xi32>, vector<8xi32>) {
    // CHECK-COUNT-3: vector.transfer_read
    %0 = vector.transfer_read %data[%i, %i], %zero : memref<8x64xi32>, vector<16xi32>
    %1 = vector.transfer_read %gaps[%i], %zero {in_bounds = [true]} : memref<64xi32, strided<[2]>>, vector<16xi32>
    %2 = vector.transfer_read %data[%i, %i], %zero {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<8x64xi32>, vector<8xi32>
    return %0, %1, %2 : vector<16xi32>, vector<16xi32>, vector<8xi32>
  }
}
