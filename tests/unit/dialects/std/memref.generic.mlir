#map = affine_map<(d0)[s0] -> (d0 + s0)>
#map1 = affine_map<(d0, d1) -> (d1 * 20 + d0)>
#map2 = affine_map<(d0, d1) -> (d1, d0)>
"builtin.module"() ({
  "memref.global"() <{sym_name = "g0", sym_visibility = "private", type = memref<2xf32>}> : () -> ()
  "memref.global"() <{constant, initial_value = dense<[[0.000000e+00, 1.000000e+00], [2.000000e+00, 3.000000e+00]]> : tensor<2x2xf32>, sym_name = "g1", sym_visibility = "private", type = memref<2x2xf32>}> : () -> ()
  "memref.global"() <{initial_value, sym_name = "g2", type = memref<4xi32>}> : () -> ()
  "memref.global"() <{alignment = 64 : i64, initial_value = dense<1> : tensor<4xi32>, sym_name = "g3", type = memref<4xi32>}> {foo = "bar"} : () -> ()
  "memref.global"() <{initial_value = dense<1.000000e+00> : tensor<f32>, sym_name = "g4", sym_visibility = "nested", type = memref<f32>}> : () -> ()
  "func.func"() <{function_type = (index, index, memref<10x20xf32>, memref<?x?xf32>, memref<*xf32>, f32, memref<2048xi8>, i1, memref<2xindex>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: index, %arg1: index, %arg2: memref<10x20xf32>, %arg3: memref<?x?xf32>, %arg4: memref<*xf32>, %arg5: f32, %arg6: memref<2048xi8>, %arg7: i1, %arg8: memref<2xindex>):
    %0 = "memref.get_global"() <{name = @g1}> : () -> memref<2x2xf32>
    %1 = "memref.get_global"() <{name = @g0}> {foo = 1 : i32} : () -> memref<2xf32>
    %2 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<4xf32>
    %3 = "memref.alloc"(%arg0, %arg1) <{operandSegmentSizes = array<i32: 1, 1>}> : (index, index) -> memref<?xf32, #map>
    %4 = "memref.alloc"(%arg0) <{alignment = 8 : i64, operandSegmentSizes = array<i32: 1, 0>}> {a.attr, z.attr = 1 : i32} : (index) -> memref<?xf32, 1>
    %5 = "memref.alloca"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<4xf32, "vmem">
    %6 = "memref.alloca"(%arg0, %arg1) <{alignment = 16 : i64, operandSegmentSizes = array<i32: 2, 0>}> : (index, index) -> memref<?x?xf32>
    %7 = "memref.alloca"(%arg1) <{operandSegmentSizes = array<i32: 0, 1>}> : (index) -> memref<4xf32, #map>
    %8 = "memref.realloc"(%2) : (memref<4xf32>) -> memref<8xf32>
    %9 = "memref.realloc"(%8, %arg0) <{alignment = 8 : i64}> : (memref<8xf32>, index) -> memref<?xf32>
    "memref.dealloc"(%9) : (memref<?xf32>) -> ()
    "memref.copy"(%arg2, %arg3) : (memref<10x20xf32>, memref<?x?xf32>) -> ()
    "memref.copy"(%arg2, %arg3) {foo} : (memref<10x20xf32>, memref<?x?xf32>) -> ()
    %10 = "memref.cast"(%arg2) : (memref<10x20xf32>) -> memref<?x?xf32>
    %11 = "memref.cast"(%arg4) : (memref<*xf32>) -> memref<?x20xf32>
    %12 = "memref.memory_space_cast"(%arg2) : (memref<10x20xf32>) -> memref<10x20xf32, 3>
    %13 = "memref.rank"(%arg2) : (memref<10x20xf32>) -> index
    %14 = "memref.rank"(%arg4) : (memref<*xf32>) -> index
    %15 = "memref.dim"(%arg3, %arg0) : (memref<?x?xf32>, index) -> index
    %16 = "memref.dim"(%arg4, %arg0) : (memref<*xf32>, index) -> index
    %17 = "memref.atomic_rmw"(%arg5, %arg2, %arg0, %arg1) <{kind = 0 : i64}> : (f32, memref<10x20xf32>, index, index) -> f32
    %18 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %19 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<4xi32>
    %20 = "memref.atomic_rmw"(%18, %19, %arg0) <{kind = 3 : i64}> : (i32, memref<4xi32>, index) -> i32
    %21 = "memref.atomic_rmw"(%18, %19, %arg0) <{kind = 6 : i64}> {foo} : (i32, memref<4xi32>, index) -> i32
    %22 = "memref.generic_atomic_rmw"(%arg2, %arg0, %arg1) ({
    ^bb0(%arg9: f32):
      %50 = "arith.addf"(%arg9, %arg5) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "memref.atomic_yield"(%50) : (f32) -> ()
    }) : (memref<10x20xf32>, index, index) -> f32
    %23 = "memref.load"(%arg2, %arg0, %arg1) : (memref<10x20xf32>, index, index) -> f32
    %24 = "memref.load"(%arg2, %arg0, %arg1) <{nontemporal = true}> : (memref<10x20xf32>, index, index) -> f32
    %25 = "memref.load"(%arg2, %arg0, %arg1) <{alignment = 16 : i64}> : (memref<10x20xf32>, index, index) -> f32
    "memref.store"(%23, %arg2, %arg0, %arg1) : (f32, memref<10x20xf32>, index, index) -> ()
    "memref.store"(%23, %arg2, %arg0, %arg1) <{nontemporal = true}> {bar} : (f32, memref<10x20xf32>, index, index) -> ()
    "memref.store"(%23, %arg2, %arg0, %arg1) <{alignment = 16 : i64}> : (f32, memref<10x20xf32>, index, index) -> ()
    %26 = "memref.subview"(%arg2) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 4, 4>, static_strides = array<i64: 1, 1>}> : (memref<10x20xf32>) -> memref<4x4xf32, strided<[20, 1]>>
    %27 = "memref.subview"(%arg2, %arg0, %arg1, %arg0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>, static_offsets = array<i64: -9223372036854775808, 2>, static_sizes = array<i64: -9223372036854775808, 4>, static_strides = array<i64: 1, -9223372036854775808>}> : (memref<10x20xf32>, index, index, index) -> memref<?x4xf32, strided<[20, ?], offset: ?>>
    %28 = "memref.subview"(%arg2) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 2, 0>, static_sizes = array<i64: 1, 20>, static_strides = array<i64: 1, 1>}> : (memref<10x20xf32>) -> memref<20xf32, strided<[1], offset: 40>>
    %29 = "memref.view"(%arg6, %arg0) : (memref<2048xi8>, index) -> memref<64x4xf32>
    %30 = "memref.view"(%arg6, %arg0, %arg1, %arg0) : (memref<2048xi8>, index, index, index) -> memref<?x4x?xf32>
    %31 = "memref.reinterpret_cast"(%arg2) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 200>, static_strides = array<i64: 1>}> : (memref<10x20xf32>) -> memref<200xf32>
    %32 = "memref.reinterpret_cast"(%arg4, %arg0, %arg1, %arg0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: -9223372036854775808, 3>, static_strides = array<i64: -9223372036854775808, 1>}> : (memref<*xf32>, index, index, index) -> memref<?x3xf32, strided<[?, 1], offset: ?>>
    %33 = "memref.reinterpret_cast"(%arg2) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64>, static_strides = array<i64>}> : (memref<10x20xf32>) -> memref<f32>
    %34 = "memref.collapse_shape"(%arg2) <{reassociation = [[0, 1]]}> : (memref<10x20xf32>) -> memref<200xf32>
    %35 = "memref.expand_shape"(%34) <{reassociation = [[0, 1, 2]], static_output_shape = array<i64: 10, 5, 4>}> : (memref<200xf32>) -> memref<10x5x4xf32>
    %36 = "memref.expand_shape"(%arg3, %arg0, %arg1) <{reassociation = [[0, 1], [2]], static_output_shape = array<i64: -9223372036854775808, 5, -9223372036854775808>}> : (memref<?x?xf32>, index, index) -> memref<?x5x?xf32>
    %37 = "memref.expand_shape"(%arg3, %arg0, %arg1) <{reassociation = [[0, 1], [2, 3]], static_output_shape = array<i64: -9223372036854775808, 5, -9223372036854775808, 3>}> {foo} : (memref<?x?xf32>, index, index) -> memref<?x5x?x3xf32>
    %38 = "memref.transpose"(%arg2) <{permutation = #map2}> : (memref<10x20xf32>) -> memref<20x10xf32, #map1>
    %39 = "memref.transpose"(%arg2) <{permutation = #map2}> {foo} : (memref<10x20xf32>) -> memref<20x10xf32, strided<[1, 20]>>
    %40 = "memref.assume_alignment"(%arg2) <{alignment = 16 : i32}> : (memref<10x20xf32>) -> memref<10x20xf32>
    %41:6 = "memref.extract_strided_metadata"(%arg2) : (memref<10x20xf32>) -> (memref<f32>, index, index, index, index, index)
    %42 = "memref.extract_aligned_pointer_as_index"(%arg2) : (memref<10x20xf32>) -> index
    %43 = "memref.extract_aligned_pointer_as_index"(%arg4) : (memref<*xf32>) -> index
    "memref.alloca_scope"() ({
      %49 = "memref.alloca"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<4xf32>
      "memref.alloca_scope.return"() : () -> ()
    }) : () -> ()
    %44:2 = "memref.alloca_scope"() ({
      "memref.alloca_scope.return"(%18, %arg5) : (i32, f32) -> ()
    }) : () -> (i32, f32)
    "memref.alloca_scope"() ({
      "memref.alloca_scope.return"() : () -> ()
    }) {foo} : () -> ()
    "memref.prefetch"(%arg2, %arg0, %arg1) <{isDataCache = true, isWrite = true, localityHint = 3 : i32}> : (memref<10x20xf32>, index, index) -> ()
    "memref.prefetch"(%arg2, %arg0, %arg1) <{isDataCache = false, isWrite = false, localityHint = 0 : i32}> : (memref<10x20xf32>, index, index) -> ()
    %45 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<1xi32>
    %46 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<10x20xf32, 2>
    "memref.dma_start"(%arg2, %arg0, %arg1, %46, %arg0, %arg1, %arg0, %45, %arg0) : (memref<10x20xf32>, index, index, memref<10x20xf32, 2>, index, index, index, memref<1xi32>, index) -> ()
    "memref.dma_start"(%arg2, %arg0, %arg1, %46, %arg0, %arg1, %arg0, %45, %arg0, %arg0, %arg1) : (memref<10x20xf32>, index, index, memref<10x20xf32, 2>, index, index, index, memref<1xi32>, index, index, index) -> ()
    "memref.dma_wait"(%45, %arg0, %arg0) : (memref<1xi32>, index, index) -> ()
    %47 = "memref.reshape"(%arg4, %arg8) : (memref<*xf32>, memref<2xindex>) -> memref<?x?xf32>
    %48:2 = "memref.distinct_objects"(%arg2, %arg3) : (memref<10x20xf32>, memref<?x?xf32>) -> (memref<10x20xf32>, memref<?x?xf32>)
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
