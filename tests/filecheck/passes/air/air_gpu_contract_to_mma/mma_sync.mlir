// RUN: tilewright opt --air-gpu-contract-to-mma="chip=sm_90" %s | filecheck %s
// Each of two warps multiplies a part of what lies in the block's memory; all wait for each other behind.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: func.func @warps
// CHECK:       gpu.launch
// A buffer of a block begins at a multiple of 16 bytes: pairs at even places are loaded at once.
// CHECK-COUNT-4: vector.load %{{.+}} {alignment = 4 : i64} : memref<32x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
// CHECK-COUNT-2: vector.load %{{.+}} {alignment = 4 : i64} : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
// CHECK-COUNT-2: vector.load %{{.+}} {alignment = 8 : i64} : memref<32x8xf32, #gpu.address_space<workgroup>>, vector<2xf32>
// CHECK:       nvvm.mma.sync A[%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}]  B[%{{.+}}, %{{.+}}]  C[%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}]
// CHECK-SAME:  shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK:       llvm.fence syncscope("wavefront") acq_rel
// CHECK-COUNT-2: vector.store %{{.+}} {alignment = 8 : i64} : memref<32x8xf32, #gpu.address_space<workgroup>>, vector<2xf32>
// CHECK-NEXT:  gpu.barrier
// CHECK-NOT:   vector.contract
func.func @warps() {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c64, %ny = %c1, %nz = %c1) workgroup(%A : memref<32x16xf16, #gpu.address_space<workgroup>>, %B : memref<8x16xf16, #gpu.address_space<workgroup>>, %C : memref<32x8xf32, #gpu.address_space<workgroup>>) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %none = arith.constant 0.0 : f16
    %zero = arith.constant 0.0 : f32
    %wave = arith.divui %tx, %c32 : index
    %row = arith.muli %wave, %c16 : index
    %a = vector.transfer_read %A[%row, %c0], %none {in_bounds = [true, true]} : memref<32x16xf16, #gpu.address_space<workgroup>>, vector<16x16xf16>
    %b = vector.transfer_read %B[%c0, %c0], %none : memref<8x16xf16, #gpu.address_space<workgroup>>, vector<8x16xf16>
    %c = vector.transfer_read %C[%row, %c0], %zero {in_bounds = [true, true]} : memref<32x8xf32, #gpu.address_space<workgroup>>, vector<16x8xf32>
    %d = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<16x16xf16>, vector<8x16xf16> into vector<16x8xf32>
    vector.transfer_write %d, %C[%row, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<32x8xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    gpu.terminator
  }
  return
}
