// RUN: tilewright opt --air-gpu-contract-to-mma="chip=sm_90" %s | filecheck %s
// What lanes may have different numbers for, and what no instruction divides or multiplies so exactly, stays as it is.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-NOT: nvvm.mma.sync
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @own_row
  // CHECK:       vector.contract
  gpu.func @own_row(%A: memref<48x16xf16>, %B: memref<16x8xf16>, %C: memref<16x8xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %none = arith.constant 0.0 : f16
    %zero = arith.constant dense<0.0> : vector<16x8xf32>
    %lane = gpu.lane_id
    %a = vector.transfer_read %A[%lane, %c0], %none {in_bounds = [true, true]} : memref<48x16xf16>, vector<16x16xf16>
    %b = vector.transfer_read %B[%c0, %c0], %none {in_bounds = [true, true]} : memref<16x8xf16>, vector<16x8xf16>
    %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %zero : vector<16x16xf16>, vector<16x8xf16> into vector<16x8xf32>
    vector.transfer_write %c, %C[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @odd
  // CHECK:       vector.contract
  gpu.func @odd(%A: memref<12x16xf16>, %B: memref<16x8xf16>, %C: memref<12x8xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %none = arith.constant 0.0 : f16
    %zero = arith.constant dense<0.0> : vector<12x8xf32>
    %a = vector.transfer_read %A[%c0, %c0], %none {in_bounds = [true, true]} : memref<12x16xf16>, vector<12x16xf16>
    %b = vector.transfer_read %B[%c0, %c0], %none {in_bounds = [true, true]} : memref<16x8xf16>, vector<16x8xf16>
    %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %zero : vector<12x16xf16>, vector<16x8xf16> into vector<12x8xf32>
    vector.transfer_write %c, %C[%c0, %c0] {in_bounds = [true, true]} : vector<12x8xf32>, memref<12x8xf32>
    gpu.return
  }
  // Tensor cores would round f32 to 19 bits.
  // CHECK-LABEL: gpu.func @exact
  // CHECK:       vector.contract
  gpu.func @exact(%A: memref<16x16xf32>, %B: memref<16x8xf32>, %C: memref<16x8xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %none = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<16x8xf32>
    %a = vector.transfer_read %A[%c0, %c0], %none {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %b = vector.transfer_read %B[%c0, %c0], %none {in_bounds = [true, true]} : memref<16x8xf32>, vector<16x8xf32>
    %c = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %zero : vector<16x16xf32>, vector<16x8xf32> into vector<16x8xf32>
    vector.transfer_write %c, %C[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    gpu.return
  }
}
