#map = affine_map<(d0)[s0] -> (d0 + s0)>
#map1 = affine_map<(d0, d1) -> (d1 * 20 + d0)>
module {
  memref.global "private" @g0 : memref<2xf32>
  memref.global "private" constant @g1 : memref<2x2xf32> = dense<[[0.000000e+00, 1.000000e+00], [2.000000e+00, 3.000000e+00]]>
  memref.global @g2 : memref<4xi32> = uninitialized
  memref.global @g3 : memref<4xi32> = dense<1> {alignment = 64 : i64, foo = "bar"}
  memref.global "nested" @g4 : memref<f32> = dense<1.000000e+00>
  func.func @f(%arg0: index, %arg1: index, %arg2: memref<10x20xf32>, %arg3: memref<?x?xf32>, %arg4: memref<*xf32>, %arg5: f32, %arg6: memref<2048xi8>, %arg7: i1, %arg8: memref<2xindex>) {
    %0 = memref.get_global @g1 : memref<2x2xf32>
    %1 = memref.get_global @g0 : memref<2xf32> {foo = 1 : i32}
    %alloc = memref.alloc() : memref<4xf32>
    %alloc_0 = memref.alloc(%arg0)[%arg1] : memref<?xf32, #map>
    %alloc_1 = memref.alloc(%arg0) {a.attr, alignment = 8 : i64, z.attr = 1 : i32} : memref<?xf32, 1>
    %alloca = memref.alloca() : memref<4xf32, "vmem">
    %alloca_2 = memref.alloca(%arg0, %arg1) {alignment = 16 : i64} : memref<?x?xf32>
    %alloca_3 = memref.alloca()[%arg1] : memref<4xf32, #map>
    %2 = memref.realloc %alloc : memref<4xf32> to memref<8xf32>
    %3 = memref.realloc %2(%arg0) {alignment = 8 : i64} : memref<8xf32> to memref<?xf32>
    memref.dealloc %3 : memref<?xf32>
    memref.copy %arg2, %arg3 : memref<10x20xf32> to memref<?x?xf32>
    memref.copy %arg2, %arg3 {foo} : memref<10x20xf32> to memref<?x?xf32>
    %cast = memref.cast %arg2 : memref<10x20xf32> to memref<?x?xf32>
    %cast_4 = memref.cast %arg4 : memref<*xf32> to memref<?x20xf32>
    %memspacecast = memref.memory_space_cast %arg2 : memref<10x20xf32> to memref<10x20xf32, 3>
    %4 = memref.rank %arg2 : memref<10x20xf32>
    %5 = memref.rank %arg4 : memref<*xf32>
    %dim = memref.dim %arg3, %arg0 : memref<?x?xf32>
    %dim_5 = memref.dim %arg4, %arg0 : memref<*xf32>
    %6 = memref.atomic_rmw addf %arg5, %arg2[%arg0, %arg1] : (f32, memref<10x20xf32>) -> f32
    %c1_i32 = arith.constant 1 : i32
    %alloc_6 = memref.alloc() : memref<4xi32>
    %7 = memref.atomic_rmw assign %c1_i32, %alloc_6[%arg0] : (i32, memref<4xi32>) -> i32
    %8 = memref.atomic_rmw maxs %c1_i32, %alloc_6[%arg0] {foo} : (i32, memref<4xi32>) -> i32
    %9 = memref.generic_atomic_rmw %arg2[%arg0, %arg1] : memref<10x20xf32> {
    ^bb0(%arg9: f32):
      %15 = arith.addf %arg9, %arg5 : f32
      memref.atomic_yield %15 : f32
    }
    %10 = memref.load %arg2[%arg0, %arg1] : memref<10x20xf32>
    %11 = memref.load %arg2[%arg0, %arg1] {nontemporal = true} : memref<10x20xf32>
    %12 = memref.load %arg2[%arg0, %arg1] {alignment = 16 : i64} : memref<10x20xf32>
    memref.store %10, %arg2[%arg0, %arg1] : memref<10x20xf32>
    memref.store %10, %arg2[%arg0, %arg1] {bar, nontemporal = true} : memref<10x20xf32>
    memref.store %10, %arg2[%arg0, %arg1] {alignment = 16 : i64} : memref<10x20xf32>
    %subview = memref.subview %arg2[0, 0] [4, 4] [1, 1] : memref<10x20xf32> to memref<4x4xf32, strided<[20, 1]>>
    %subview_7 = memref.subview %arg2[%arg0, 2] [%arg1, 4] [1, %arg0] : memref<10x20xf32> to memref<?x4xf32, strided<[20, ?], offset: ?>>
    %subview_8 = memref.subview %arg2[2, 0] [1, 20] [1, 1] : memref<10x20xf32> to memref<20xf32, strided<[1], offset: 40>>
    %view = memref.view %arg6[%arg0][] : memref<2048xi8> to memref<64x4xf32>
    %view_9 = memref.view %arg6[%arg0][%arg1, %arg0] : memref<2048xi8> to memref<?x4x?xf32>
    %reinterpret_cast = memref.reinterpret_cast %arg2 to offset: [0], sizes: [200], strides: [1] : memref<10x20xf32> to memref<200xf32>
    %reinterpret_cast_10 = memref.reinterpret_cast %arg4 to offset: [%arg0], sizes: [%arg1, 3], strides: [%arg0, 1] : memref<*xf32> to memref<?x3xf32, strided<[?, 1], offset: ?>>
    %reinterpret_cast_11 = memref.reinterpret_cast %arg2 to offset: [0], sizes: [], strides: [] : memref<10x20xf32> to memref<f32>
    %collapse_shape = memref.collapse_shape %arg2 [[0, 1]] : memref<10x20xf32> into memref<200xf32>
    %expand_shape = memref.expand_shape %collapse_shape [[0, 1, 2]] output_shape [10, 5, 4] : memref<200xf32> into memref<10x5x4xf32>
    %expand_shape_12 = memref.expand_shape %arg3 [[0, 1], [2]] output_shape [%arg0, 5, %arg1] : memref<?x?xf32> into memref<?x5x?xf32>
    %expand_shape_13 = memref.expand_shape %arg3 [[0, 1], [2, 3]] output_shape [%arg0, 5, %arg1, 3] {foo} : memref<?x?xf32> into memref<?x5x?x3xf32>
    %transpose = memref.transpose %arg2 (d0, d1) -> (d1, d0) : memref<10x20xf32> to memref<20x10xf32, #map1>
    %transpose_14 = memref.transpose %arg2 (d0, d1) -> (d1, d0) {foo} : memref<10x20xf32> to memref<20x10xf32, strided<[1, 20]>>
    %assume_align = memref.assume_alignment %arg2, 16 : memref<10x20xf32>
    %base_buffer, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %arg2 : memref<10x20xf32> -> memref<f32>, index, index, index, index, index
    %intptr = memref.extract_aligned_pointer_as_index %arg2 : memref<10x20xf32> -> index
    %intptr_15 = memref.extract_aligned_pointer_as_index %arg4 : memref<*xf32> -> index
    memref.alloca_scope  {
      %alloca_18 = memref.alloca() : memref<4xf32>
    }
    %13:2 = memref.alloca_scope  -> (i32, f32) {
      memref.alloca_scope.return %c1_i32, %arg5 : i32, f32
    }
    memref.alloca_scope  {
    } {foo}
    memref.prefetch %arg2[%arg0, %arg1], write, locality<3>, data : memref<10x20xf32>
    memref.prefetch %arg2[%arg0, %arg1], read, locality<0>, instr : memref<10x20xf32>
    %alloc_16 = memref.alloc() : memref<1xi32>
    %alloc_17 = memref.alloc() : memref<10x20xf32, 2>
    memref.dma_start %arg2[%arg0, %arg1], %alloc_17[%arg0, %arg1], %arg0, %alloc_16[%arg0] : memref<10x20xf32>, memref<10x20xf32, 2>, memref<1xi32>
    memref.dma_start %arg2[%arg0, %arg1], %alloc_17[%arg0, %arg1], %arg0, %alloc_16[%arg0], %arg0, %arg1 : memref<10x20xf32>, memref<10x20xf32, 2>, memref<1xi32>
    memref.dma_wait %alloc_16[%arg0], %arg0 : memref<1xi32>
    %reshape = memref.reshape %arg4(%arg8) : (memref<*xf32>, memref<2xindex>) -> memref<?x?xf32>
    %14:2 = memref.distinct_objects %arg2, %arg3 : memref<10x20xf32>, memref<?x?xf32>
    return
  }
}
