// RUN: tilewright opt --air-gpu-pipeline-copies %s | filecheck %s
// Contractions read tiles and carry their sums; matrix instructions and shuffles touch no memory at all.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>

func.func @vectors(%a: memref<4x64xf32>, %sums: memref<4x4xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%tile : memref<4x4xf32, 3>) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %none = arith.constant 0.0 : f32
    %lanes = arith.constant 32 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : vector<4x4xf32>
    %total = scf.for %k = %c0 to %c64 step %c4 iter_args(%sum = %zero) -> vector<4x4xf32> {
      %column = arith.addi %k, %tx : index
      %value = memref.load %a[%c0, %column] : memref<4x64xf32>
      memref.store %value, %tile[%c0, %tx] : memref<4x4xf32, 3>
      gpu.barrier
      %av = vector.transfer_read %tile[%c0, %c0], %none {in_bounds = [true, true]} : memref<4x4xf32, 3>, vector<4x4xf32>
      %more = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %av, %av, %sum : vector<4x4xf32>, vector<4x4xf32> into vector<4x4xf32>
      %there, %valid = gpu.shuffle xor %none, %one, %lanes : f32
      gpu.barrier
      scf.yield %more : vector<4x4xf32>
    }
    vector.transfer_write %total, %sums[%c0, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, memref<4x4xf32>
    gpu.terminator
  }
  return
}
// CHECK-LABEL: func.func @vectors
// CHECK:      scf.for %[[K:.+]] = %c0 to %c64 step %c4 iter_args(%[[SUM:.+]] = %{{.+}}) -> (vector<4x4xf32>) {
// CHECK-NEXT:   gpu.barrier
// CHECK:        %[[FOLLOWING:.+]] = arith.minui
// CHECK-NEXT:   %[[COLUMN:.+]] = arith.addi %[[FOLLOWING]], %{{.+}} : index
// CHECK-NEXT:   %[[NEXT:.+]] = memref.load %{{.+}}[%c0, %[[COLUMN]]] : memref<4x64xf32>
// CHECK:        %[[MORE:.+]] = vector.contract {{.+}}, %[[SUM]] :
// CHECK:        gpu.barrier
// CHECK-NEXT:   memref.store %[[NEXT]], %{{.+}}[%c0, %{{.+}}] : memref<4x4xf32, 3>
// CHECK-NEXT:   scf.yield %[[MORE]] : vector<4x4xf32>
