// RUN: tilewright opt --air-gpu-contract-to-mma="chip=gfx1100" %s | filecheck %s
// Bytes have signs. Both halves of a wave load the same rows; of the sums each has every other row.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: gpu.func @bytes
// CHECK:       %[[LANE:.+]] = gpu.lane_id
// CHECK-NEXT:  %[[ROW:.+]] = arith.remui %[[LANE]], %c16 : index
// CHECK:       %[[A:.+]] = vector.load %arg0[%[[ROW]], %{{.+}}] : memref<16x16xi8>, vector<16xi8>
// B is read row by row, a column of it is not in one place.
// CHECK-COUNT-16: memref.load %arg1[%{{.+}}, %[[ROW]]] : memref<16x16xi8>
// CHECK-NEXT:  %[[B:.+]] = vector.from_elements
// CHECK-DAG:   vector.bitcast %[[A]] : vector<16xi8> to vector<4xi32>
// CHECK-DAG:   vector.bitcast %[[B]] : vector<16xi8> to vector<4xi32>
// CHECK:       rocdl.wmma.i32.16x16x16.iu8 %{{.+}} {signA = true, signB = true} : (vector<4xi32>, vector<4xi32>, vector<8xi32>) -> vector<8xi32>
// CHECK-COUNT-8: memref.store %{{.+}}, %arg2[%{{.+}}, %[[ROW]]] : memref<16x16xi32>
gpu.module @kernels {
  gpu.func @bytes(%A: memref<16x16xi8>, %B: memref<16x16xi8>, %C: memref<16x16xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %none = arith.constant 0 : i8
    %zero = arith.constant dense<0> : vector<16x16xi32>
    %a = vector.transfer_read %A[%c0, %c0], %none {in_bounds = [true, true]} : memref<16x16xi8>, vector<16x16xi8>
    %b = vector.transfer_read %B[%c0, %c0], %none {in_bounds = [true, true]} : memref<16x16xi8>, vector<16x16xi8>
    %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %zero : vector<16x16xi8>, vector<16x16xi8> into vector<16x16xi32>
    vector.transfer_write %c, %C[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xi32>, memref<16x16xi32>
    gpu.return
  }
}
