#map = affine_map<(d0, d1) -> (d1, d0)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map4 = affine_map<(d0) -> (d0)>
#map5 = affine_map<(d0) -> ()>
#map6 = affine_map<(d0, d1) -> (0, d1)>
module {
  func.func @f(%arg0: memref<10x20xf32>, %arg1: index, %arg2: vector<8xf32>, %arg3: vector<4x8xf32>, %arg4: f32, %arg5: vector<8xi32>, %arg6: vector<8xi1>, %arg7: vector<4x8xi1>, %arg8: tensor<4x8xf32>, %arg9: vector<[4]xf32>, %arg10: vector<4x4xf32>, %arg11: vector<8xi32>, %arg12: memref<?xf32>, %arg13: vector<f32>, %arg14: vector<2x4x8xf32>, %arg15: memref<4x8xf32>) {
    %0 = vector.load %arg0[%arg1, %arg1] : memref<10x20xf32>, vector<8xf32>
    %1 = vector.load %arg0[%arg1, %arg1] {nontemporal = true} : memref<10x20xf32>, vector<4x8xf32>
    vector.store %arg2, %arg0[%arg1, %arg1] : memref<10x20xf32>, vector<8xf32>
    vector.store %arg2, %arg0[%arg1, %arg1] {alignment = 16 : i64} : memref<10x20xf32>, vector<8xf32>
    %2 = vector.broadcast %arg4 : f32 to vector<8xf32>
    %3 = vector.broadcast %arg2 : vector<8xf32> to vector<4x8xf32>
    %4 = vector.extract %arg3[0] : vector<8xf32> from vector<4x8xf32>
    %5 = vector.extract %arg3[0, %arg1] : f32 from vector<4x8xf32>
    %6 = vector.extract %arg3[] : vector<4x8xf32> from vector<4x8xf32>
    %7 = vector.insert %arg4, %arg2 [3] : f32 into vector<8xf32>
    %8 = vector.insert %arg2, %arg3 [%arg1] : vector<8xf32> into vector<4x8xf32>
    %9 = vector.shape_cast %arg3 : vector<4x8xf32> to vector<32xf32>
    %10 = vector.bitcast %arg5 : vector<8xi32> to vector<16xi16>
    %11 = vector.extract_strided_slice %arg2 {offsets = [2], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
    %12 = vector.insert_strided_slice %11, %arg2 {offsets = [2], strides = [1]} : vector<4xf32> into vector<8xf32>
    %13 = vector.fma %arg2, %arg2, %arg2 : vector<8xf32>
    %14 = vector.reduction <add>, %arg2 : vector<8xf32> into f32
    %15 = vector.reduction <maximumf>, %arg2, %arg4 fastmath<fast> : vector<8xf32> into f32
    %16 = vector.multi_reduction <add>, %arg3, %arg2 [0] : vector<4x8xf32> to vector<8xf32>
    %17 = vector.multi_reduction <mul>, %arg3, %arg4 [0, 1] : vector<4x8xf32> to f32
    %18 = vector.outerproduct %arg2, %arg2 : vector<8xf32>, vector<8xf32>
    %19 = vector.outerproduct %arg2, %arg4 : vector<8xf32>, f32
    %20 = vector.outerproduct %arg2, %arg2, %18 {kind = #vector.kind<maxnumf>} : vector<8xf32>, vector<8xf32>
    vector.print %arg2 : vector<8xf32>
    vector.print %arg4 : f32 punctuation <comma>
    vector.print
    vector.print str "hello"
    vector.print %arg5 : vector<8xi32> punctuation <no_punctuation>
    %21 = vector.shuffle %arg2, %arg2 [0, 1, 2, 15] : vector<8xf32>, vector<8xf32>
    %22 = vector.transpose %arg3, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
    %23 = vector.constant_mask [3] : vector<8xi1>
    %24 = vector.create_mask %arg1, %arg1 : vector<4x8xi1>
    %25 = vector.maskedload %arg12[%arg1], %arg6, %arg2 : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    vector.maskedstore %arg12[%arg1], %arg6, %arg2 : memref<?xf32>, vector<8xi1>, vector<8xf32>
    %26 = vector.from_elements %arg4, %arg4, %arg4 : vector<3xf32>
    %27:8 = vector.to_elements %arg2 : vector<8xf32>
    %28 = vector.transfer_read %arg0[%arg1, %arg1], %arg4 : memref<10x20xf32>, vector<8xf32>
    %29 = vector.transfer_read %arg0[%arg1, %arg1], %arg4 {in_bounds = [true]} : memref<10x20xf32>, vector<8xf32>
    %30 = vector.transfer_read %arg0[%arg1, %arg1], %arg4 {in_bounds = [true, false], permutation_map = #map} : memref<10x20xf32>, vector<4x8xf32>
    %31 = vector.transfer_read %arg0[%arg1, %arg1], %arg4, %arg6 {in_bounds = [true]} : memref<10x20xf32>, vector<8xf32>
    %32 = vector.transfer_read %arg8[%arg1, %arg1], %arg4 {foo} : tensor<4x8xf32>, vector<4x8xf32>
    vector.transfer_write %arg2, %arg0[%arg1, %arg1] : vector<8xf32>, memref<10x20xf32>
    vector.transfer_write %arg2, %arg0[%arg1, %arg1], %arg6 {in_bounds = [true]} : vector<8xf32>, memref<10x20xf32>
    %33 = vector.transfer_write %arg3, %arg8[%arg1, %arg1] {in_bounds = [true, true]} : vector<4x8xf32>, tensor<4x8xf32>
    %34 = vector.contract {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %arg3, %arg3, %arg10 : vector<4x8xf32>, vector<4x8xf32> into vector<4x4xf32>
    %35 = vector.contract {indexing_maps = [#map4, #map4, #map5], iterator_types = ["reduction"], kind = #vector.kind<maxnumf>} %arg2, %arg2, %arg4 : vector<8xf32>, vector<8xf32> into f32
    %36 = vector.gather %arg12[%arg1] [%arg11], %arg6, %arg2 : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    vector.scatter %arg12[%arg1] [%arg11], %arg6, %arg2 : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
    %37 = vector.expandload %arg12[%arg1], %arg6, %arg2 : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    vector.compressstore %arg12[%arg1], %arg6, %arg2 : memref<?xf32>, vector<8xi1>, vector<8xf32>
    %38 = vector.interleave %arg2, %arg2 : vector<8xf32> -> vector<16xf32>
    %res1, %res2 = vector.deinterleave %arg2 : vector<8xf32> -> vector<4xf32>
    %vscale = vector.vscale
    %39 = vector.step : vector<8xindex>
    %40 = vector.mask %arg6 { vector.reduction <add>, %arg2 : vector<8xf32> into f32 } : vector<8xi1> -> f32
    vector.mask %arg6 { vector.transfer_write %arg2, %arg0[%arg1, %arg1] : vector<8xf32>, memref<10x20xf32> } : vector<8xi1>
    %41 = vector.scalable.extract %arg9[0] : vector<4xf32> from vector<[4]xf32>
    %42 = vector.scalable.insert %41, %arg9[0] : vector<4xf32> into vector<[4]xf32>
    %43 = vector.type_cast %arg15 : memref<4x8xf32> to memref<vector<4x8xf32>>
    %44 = vector.extract %arg13[] : f32 from vector<f32>
    %45 = vector.transfer_read %arg0[%arg1, %arg1], %arg4 {permutation_map = #map6} : memref<10x20xf32>, vector<4x8xf32>
    %46 = vector.insert %arg2, %arg14 [0, 1] : vector<8xf32> into vector<2x4x8xf32>
    %47 = vector.extract %arg14[%arg1, 1] {foo} : vector<8xf32> from vector<2x4x8xf32>
    %48 = vector.from_elements %arg4, %arg4, %arg4, %arg4 : vector<2x2xf32>
    %49 = vector.multi_reduction <add>, %arg3, %arg3 [] : vector<4x8xf32> to vector<4x8xf32>
    %50 = vector.shuffle %arg3, %arg3 [0, 4, -1] : vector<4x8xf32>, vector<4x8xf32>
    return
  }
}
