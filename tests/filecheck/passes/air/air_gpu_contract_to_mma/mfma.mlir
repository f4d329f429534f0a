// RUN: tilewright opt --air-gpu-contract-to-mma="chip=gfx90a" %s | filecheck %s
// A lane has row `lane % 16` of A, four elements of it from `lane / 16 * 4` on, and as many of a column of B, whose
// columns are rows here. Sums stay in registers while the loop goes on in depth.

#rows = affine_map<(d0, d1, d2) -> (d0, d2)>
#columns = affine_map<(d0, d1, d2) -> (d1, d2)>
#sums = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: gpu.func @loop
// CHECK:       %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK-NEXT:  %[[LANE:.+]] = gpu.lane_id
// CHECK-NEXT:  %[[ROW:.+]] = arith.remui %[[LANE]], %c16
// CHECK-NEXT:  %[[GROUP:.+]] = arith.divui %[[LANE]], %c16
// CHECK-NEXT:  %[[PLACE:.+]] = arith.remui %[[GROUP]], %c4
// CHECK-NEXT:  %[[DEEP:.+]] = arith.muli %[[PLACE]], %c4
// CHECK-NEXT:  %[[C2:.+]] = arith.constant dense<2.000000e+00> : vector<4xf32>
// CHECK:       %[[SUMS:.+]]:2 = scf.for %[[K:.+]] = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[UP:.+]] = %[[ZERO]], %[[DOWN:.+]] = %[[ZERO]]) -> (vector<4xf32>, vector<4xf32>) {
// CHECK:         %[[K_A:.+]] = arith.addi %[[K]], %[[DEEP]] : index
// CHECK-NEXT:    %[[A0:.+]] = vector.load %arg0[%[[ROW]], %[[K_A]]] : memref<32x64xf16>, vector<4xf16>
// CHECK-NEXT:    %[[LOWER:.+]] = arith.addi %[[ROW]], %c16{{.*}} : index
// CHECK-NEXT:    %[[A1:.+]] = vector.load %arg0[%[[LOWER]], %[[K_A]]] : memref<32x64xf16>, vector<4xf16>
// CHECK-NEXT:    %[[K_B:.+]] = arith.addi %[[K]], %[[DEEP]] : index
// CHECK-NEXT:    %[[B:.+]] = vector.load %arg1[%[[ROW]], %[[K_B]]] : memref<16x64xf16>, vector<4xf16>
// CHECK-NEXT:    %[[UP1:.+]] = rocdl.mfma.f32.16x16x16f16 %[[A0]], %[[B]], %[[UP]],
// CHECK-NEXT:    %[[DOWN1:.+]] = rocdl.mfma.f32.16x16x16f16 %[[A1]], %[[B]], %[[DOWN]],
// CHECK-NEXT:    scf.yield %[[UP1]], %[[DOWN1]] : vector<4xf32>, vector<4xf32>
// CHECK:       %[[T0:.+]] = arith.mulf %[[SUMS]]#0, %[[C2]] : vector<4xf32>
// CHECK-NEXT:  %[[T1:.+]] = arith.mulf %[[SUMS]]#1, %[[C2]] : vector<4xf32>
// CHECK-NEXT:  %[[R0:.+]] = arith.truncf %[[T0]] : vector<4xf32> to vector<4xf16>
// CHECK-NEXT:  %[[R1:.+]] = arith.truncf %[[T1]] : vector<4xf32> to vector<4xf16>
// What lanes loaded before comes before what others store, and the kernel ends behind.
// CHECK-NEXT:  llvm.fence syncscope("wavefront") acq_rel
// CHECK-NEXT:  %[[FIRST:.+]] = vector.extract %[[R0]][0] : f16 from vector<4xf16>
// CHECK-NEXT:  memref.store %[[FIRST]], %arg2[%[[DEEP]], %[[ROW]]] : memref<32x16xf16>
// CHECK-COUNT-7: memref.store
// CHECK-NEXT:  gpu.return
gpu.module @kernels {
  gpu.func @loop(%A: memref<32x64xf16>, %B: memref<16x64xf16>, %C: memref<32x16xf16>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %step = arith.constant 16 : index
    %end = arith.constant 64 : index
    %none = arith.constant 0.0 : f16
    %zero = arith.constant dense<0.0> : vector<32x16xf32>
    %two = arith.constant dense<2.0> : vector<32x16xf32>
    %sums = scf.for %k = %c0 to %end step %step iter_args(%sum = %zero) -> vector<32x16xf32> {
      %a = vector.transfer_read %A[%c0, %k], %none {in_bounds = [true, true]} : memref<32x64xf16>, vector<32x16xf16>
      %b = vector.transfer_read %B[%c0, %k], %none {in_bounds = [true, true]} : memref<16x64xf16>, vector<16x16xf16>
      %more = vector.contract {indexing_maps = [#rows, #columns, #sums], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %sum : vector<32x16xf16>, vector<16x16xf16> into vector<32x16xf32>
      scf.yield %more : vector<32x16xf32>
    }
    %twice = arith.mulf %sums, %two : vector<32x16xf32>
    %short = arith.truncf %twice : vector<32x16xf32> to vector<32x16xf16>
    vector.transfer_write %short, %C[%c0, %c0] {in_bounds = [true, true]} : vector<32x16xf16>, memref<32x16xf16>
    gpu.return
  }
}
