#map = affine_map<(d0, d1) -> (d1)>
#map1 = affine_map<(d0, d1) -> (d1, d0)>
#map2 = affine_map<(d0, d1) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map6 = affine_map<(d0) -> (d0)>
#map7 = affine_map<(d0) -> ()>
#map8 = affine_map<(d0, d1) -> (0, d1)>
"builtin.module"() ({
  "func.func"() <{function_type = (memref<10x20xf32>, index, vector<8xf32>, vector<4x8xf32>, f32, vector<8xi32>, vector<8xi1>, vector<4x8xi1>, tensor<4x8xf32>, vector<[4]xf32>, vector<4x4xf32>, vector<8xi32>, memref<?xf32>, vector<f32>, vector<2x4x8xf32>, memref<4x8xf32>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: memref<10x20xf32>, %arg1: index, %arg2: vector<8xf32>, %arg3: vector<4x8xf32>, %arg4: f32, %arg5: vector<8xi32>, %arg6: vector<8xi1>, %arg7: vector<4x8xi1>, %arg8: tensor<4x8xf32>, %arg9: vector<[4]xf32>, %arg10: vector<4x4xf32>, %arg11: vector<8xi32>, %arg12: memref<?xf32>, %arg13: vector<f32>, %arg14: vector<2x4x8xf32>, %arg15: memref<4x8xf32>):
    %0 = "vector.load"(%arg0, %arg1, %arg1) : (memref<10x20xf32>, index, index) -> vector<8xf32>
    %1 = "vector.load"(%arg0, %arg1, %arg1) <{nontemporal = true}> : (memref<10x20xf32>, index, index) -> vector<4x8xf32>
    "vector.store"(%arg2, %arg0, %arg1, %arg1) : (vector<8xf32>, memref<10x20xf32>, index, index) -> ()
    "vector.store"(%arg2, %arg0, %arg1, %arg1) <{alignment = 16 : i64}> : (vector<8xf32>, memref<10x20xf32>, index, index) -> ()
    %2 = "vector.broadcast"(%arg4) : (f32) -> vector<8xf32>
    %3 = "vector.broadcast"(%arg2) : (vector<8xf32>) -> vector<4x8xf32>
    %4 = "vector.extract"(%arg3) <{static_position = array<i64: 0>}> : (vector<4x8xf32>) -> vector<8xf32>
    %5 = "vector.extract"(%arg3, %arg1) <{static_position = array<i64: 0, -9223372036854775808>}> : (vector<4x8xf32>, index) -> f32
    %6 = "vector.extract"(%arg3) <{static_position = array<i64>}> : (vector<4x8xf32>) -> vector<4x8xf32>
    %7 = "vector.insert"(%arg4, %arg2) <{static_position = array<i64: 3>}> : (f32, vector<8xf32>) -> vector<8xf32>
    %8 = "vector.insert"(%arg2, %arg3, %arg1) <{static_position = array<i64: -9223372036854775808>}> : (vector<8xf32>, vector<4x8xf32>, index) -> vector<4x8xf32>
    %9 = "vector.shape_cast"(%arg3) : (vector<4x8xf32>) -> vector<32xf32>
    %10 = "vector.bitcast"(%arg5) : (vector<8xi32>) -> vector<16xi16>
    %11 = "vector.extract_strided_slice"(%arg2) <{offsets = [2], sizes = [4], strides = [1]}> : (vector<8xf32>) -> vector<4xf32>
    %12 = "vector.insert_strided_slice"(%11, %arg2) <{offsets = [2], strides = [1]}> : (vector<4xf32>, vector<8xf32>) -> vector<8xf32>
    %13 = "vector.fma"(%arg2, %arg2, %arg2) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    %14 = "vector.reduction"(%arg2) <{fastmath = #arith.fastmath<none>, kind = #vector.kind<add>}> : (vector<8xf32>) -> f32
    %15 = "vector.reduction"(%arg2, %arg4) <{fastmath = #arith.fastmath<fast>, kind = #vector.kind<maximumf>}> : (vector<8xf32>, f32) -> f32
    %16 = "vector.multi_reduction"(%arg3, %arg2) <{kind = #vector.kind<add>, reduction_dims = array<i64: 0>}> : (vector<4x8xf32>, vector<8xf32>) -> vector<8xf32>
    %17 = "vector.multi_reduction"(%arg3, %arg4) <{kind = #vector.kind<mul>, reduction_dims = array<i64: 0, 1>}> : (vector<4x8xf32>, f32) -> f32
    %18 = "vector.outerproduct"(%arg2, %arg2) <{kind = #vector.kind<add>}> : (vector<8xf32>, vector<8xf32>) -> vector<8x8xf32>
    %19 = "vector.outerproduct"(%arg2, %arg4) <{kind = #vector.kind<add>}> : (vector<8xf32>, f32) -> vector<8xf32>
    %20 = "vector.outerproduct"(%arg2, %arg2, %18) <{kind = #vector.kind<maxnumf>}> : (vector<8xf32>, vector<8xf32>, vector<8x8xf32>) -> vector<8x8xf32>
    "vector.print"(%arg2) <{punctuation = #vector.punctuation<newline>}> : (vector<8xf32>) -> ()
    "vector.print"(%arg4) <{punctuation = #vector.punctuation<comma>}> : (f32) -> ()
    "vector.print"() <{punctuation = #vector.punctuation<newline>}> : () -> ()
    "vector.print"() <{punctuation = #vector.punctuation<newline>, stringLiteral = "hello"}> : () -> ()
    "vector.print"(%arg5) <{punctuation = #vector.punctuation<no_punctuation>}> : (vector<8xi32>) -> ()
    %21 = "vector.shuffle"(%arg2, %arg2) <{mask = array<i64: 0, 1, 2, 15>}> : (vector<8xf32>, vector<8xf32>) -> vector<4xf32>
    %22 = "vector.transpose"(%arg3) <{permutation = array<i64: 1, 0>}> : (vector<4x8xf32>) -> vector<8x4xf32>
    %23 = "vector.constant_mask"() <{mask_dim_sizes = array<i64: 3>}> : () -> vector<8xi1>
    %24 = "vector.create_mask"(%arg1, %arg1) : (index, index) -> vector<4x8xi1>
    %25 = "vector.maskedload"(%arg12, %arg1, %arg6, %arg2) : (memref<?xf32>, index, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
    "vector.maskedstore"(%arg12, %arg1, %arg6, %arg2) : (memref<?xf32>, index, vector<8xi1>, vector<8xf32>) -> ()
    %26 = "vector.from_elements"(%arg4, %arg4, %arg4) : (f32, f32, f32) -> vector<3xf32>
    %27:8 = "vector.to_elements"(%arg2) : (vector<8xf32>) -> (f32, f32, f32, f32, f32, f32, f32, f32)
    %28 = "vector.transfer_read"(%arg0, %arg1, %arg1, %arg4) <{in_bounds = [false], operandSegmentSizes = array<i32: 1, 2, 1, 0>, permutation_map = #map}> : (memref<10x20xf32>, index, index, f32) -> vector<8xf32>
    %29 = "vector.transfer_read"(%arg0, %arg1, %arg1, %arg4) <{in_bounds = [true], operandSegmentSizes = array<i32: 1, 2, 1, 0>, permutation_map = #map}> : (memref<10x20xf32>, index, index, f32) -> vector<8xf32>
    %30 = "vector.transfer_read"(%arg0, %arg1, %arg1, %arg4) <{in_bounds = [true, false], operandSegmentSizes = array<i32: 1, 2, 1, 0>, permutation_map = #map1}> : (memref<10x20xf32>, index, index, f32) -> vector<4x8xf32>
    %31 = "vector.transfer_read"(%arg0, %arg1, %arg1, %arg4, %arg6) <{in_bounds = [true], operandSegmentSizes = array<i32: 1, 2, 1, 1>, permutation_map = #map}> : (memref<10x20xf32>, index, index, f32, vector<8xi1>) -> vector<8xf32>
    %32 = "vector.transfer_read"(%arg8, %arg1, %arg1, %arg4) <{in_bounds = [false, false], operandSegmentSizes = array<i32: 1, 2, 1, 0>, permutation_map = #map2}> {foo} : (tensor<4x8xf32>, index, index, f32) -> vector<4x8xf32>
    "vector.transfer_write"(%arg2, %arg0, %arg1, %arg1) <{in_bounds = [false], operandSegmentSizes = array<i32: 1, 1, 2, 0>, permutation_map = #map}> : (vector<8xf32>, memref<10x20xf32>, index, index) -> ()
    "vector.transfer_write"(%arg2, %arg0, %arg1, %arg1, %arg6) <{in_bounds = [true], operandSegmentSizes = array<i32: 1, 1, 2, 1>, permutation_map = #map}> : (vector<8xf32>, memref<10x20xf32>, index, index, vector<8xi1>) -> ()
    %33 = "vector.transfer_write"(%arg3, %arg8, %arg1, %arg1) <{in_bounds = [true, true], operandSegmentSizes = array<i32: 1, 1, 2, 0>, permutation_map = #map2}> : (vector<4x8xf32>, tensor<4x8xf32>, index, index) -> tensor<4x8xf32>
    %34 = "vector.contract"(%arg3, %arg3, %arg10) <{indexing_maps = [#map3, #map4, #map5], iterator_types = [#vector.iterator_type<parallel>, #vector.iterator_type<parallel>, #vector.iterator_type<reduction>], kind = #vector.kind<add>}> : (vector<4x8xf32>, vector<4x8xf32>, vector<4x4xf32>) -> vector<4x4xf32>
    %35 = "vector.contract"(%arg2, %arg2, %arg4) <{indexing_maps = [#map6, #map6, #map7], iterator_types = [#vector.iterator_type<reduction>], kind = #vector.kind<maxnumf>}> : (vector<8xf32>, vector<8xf32>, f32) -> f32
    %36 = "vector.gather"(%arg12, %arg1, %arg11, %arg6, %arg2) : (memref<?xf32>, index, vector<8xi32>, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
    "vector.scatter"(%arg12, %arg1, %arg11, %arg6, %arg2) : (memref<?xf32>, index, vector<8xi32>, vector<8xi1>, vector<8xf32>) -> ()
    %37 = "vector.expandload"(%arg12, %arg1, %arg6, %arg2) : (memref<?xf32>, index, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
    "vector.compressstore"(%arg12, %arg1, %arg6, %arg2) : (memref<?xf32>, index, vector<8xi1>, vector<8xf32>) -> ()
    %38 = "vector.interleave"(%arg2, %arg2) : (vector<8xf32>, vector<8xf32>) -> vector<16xf32>
    %39:2 = "vector.deinterleave"(%arg2) : (vector<8xf32>) -> (vector<4xf32>, vector<4xf32>)
    %40 = "vector.vscale"() : () -> index
    %41 = "vector.step"() : () -> vector<8xindex>
    %42 = "vector.mask"(%arg6) ({
      %53 = "vector.reduction"(%arg2) <{fastmath = #arith.fastmath<none>, kind = #vector.kind<add>}> : (vector<8xf32>) -> f32
      "vector.yield"(%53) : (f32) -> ()
    }) : (vector<8xi1>) -> f32
    "vector.mask"(%arg6) ({
      "vector.transfer_write"(%arg2, %arg0, %arg1, %arg1) <{in_bounds = [false], operandSegmentSizes = array<i32: 1, 1, 2, 0>, permutation_map = #map}> : (vector<8xf32>, memref<10x20xf32>, index, index) -> ()
      "vector.yield"() : () -> ()
    }) : (vector<8xi1>) -> ()
    %43 = "vector.scalable.extract"(%arg9) <{pos = 0 : i64}> : (vector<[4]xf32>) -> vector<4xf32>
    %44 = "vector.scalable.insert"(%43, %arg9) <{pos = 0 : i64}> : (vector<4xf32>, vector<[4]xf32>) -> vector<[4]xf32>
    %45 = "vector.type_cast"(%arg15) : (memref<4x8xf32>) -> memref<vector<4x8xf32>>
    %46 = "vector.extract"(%arg13) <{static_position = array<i64>}> : (vector<f32>) -> f32
    %47 = "vector.transfer_read"(%arg0, %arg1, %arg1, %arg4) <{in_bounds = [false, false], operandSegmentSizes = array<i32: 1, 2, 1, 0>, permutation_map = #map8}> : (memref<10x20xf32>, index, index, f32) -> vector<4x8xf32>
    %48 = "vector.insert"(%arg2, %arg14) <{static_position = array<i64: 0, 1>}> : (vector<8xf32>, vector<2x4x8xf32>) -> vector<2x4x8xf32>
    %49 = "vector.extract"(%arg14, %arg1) <{static_position = array<i64: -9223372036854775808, 1>}> {foo} : (vector<2x4x8xf32>, index) -> vector<8xf32>
    %50 = "vector.from_elements"(%arg4, %arg4, %arg4, %arg4) : (f32, f32, f32, f32) -> vector<2x2xf32>
    %51 = "vector.multi_reduction"(%arg3, %arg3) <{kind = #vector.kind<add>, reduction_dims = array<i64>}> : (vector<4x8xf32>, vector<4x8xf32>) -> vector<4x8xf32>
    %52 = "vector.shuffle"(%arg3, %arg3) <{mask = array<i64: 0, 4, -1>}> : (vector<4x8xf32>, vector<4x8xf32>) -> vector<3x8xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
