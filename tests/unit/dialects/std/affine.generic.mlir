#map = affine_map<(d0)[s0] -> (d0 + s0)>
#map1 = affine_map<() -> (5)>
#map2 = affine_map<()[s0] -> (s0 * 4)>
#map3 = affine_map<(d0) -> (d0 floordiv 8)>
#map4 = affine_map<(d0, d1) -> (d0 * 2 + d1 floordiv 3, d1 mod 4, d0 ceildiv 2 - 5)>
#map5 = affine_map<(d0)[s0] -> (d0, s0 - 1, 100)>
#map6 = affine_map<() -> (0)>
#map7 = affine_map<() -> (10)>
#map8 = affine_map<()[s0] -> (s0)>
#map9 = affine_map<() -> (100)>
#map10 = affine_map<(d0) -> (d0, 5)>
#map11 = affine_map<(d0)[s0] -> (d0, s0)>
#map12 = affine_map<(d0) -> (d0 + 1)>
#map13 = affine_map<()[s0] -> (s0 * 2)>
#map14 = affine_map<(d0) -> (d0, d0 + 3)>
#map15 = affine_map<(d0)[s0] -> (d0 * 2, s0 + 1)>
#map16 = affine_map<(d0)[s0] -> (d0 + s0, 3)>
#map17 = affine_map<(d0) -> (d0 mod 4, (d0 + 1) floordiv 2)>
#map18 = affine_map<(d0) -> (d0, d0)>
#map19 = affine_map<(d0) -> (d0, 8)>
#map20 = affine_map<(d0) -> (d0, d0 + 5)>
#map21 = affine_map<() -> (0, 0)>
#map22 = affine_map<() -> (10, 20)>
#map23 = affine_map<(d0) -> (d0, 1)>
#map24 = affine_map<(d0) -> (d0 * 2, 20)>
#map25 = affine_map<(d0, d1) -> (0, d0, d1)>
#map26 = affine_map<(d0, d1) -> (d0, d1 + 1, 20)>
#map27 = affine_map<() -> ()>
#map28 = affine_map<(d0) -> (d0)>
#map29 = affine_map<(d0) -> (d0, 3)>
#map30 = affine_map<(d0, d1) -> (d0, d1 + 1)>
#map31 = affine_map<(d0, d1) -> (d0, d1)>
#map32 = affine_map<(d0, d1) -> (d0 + d1 * 2 - 1)>
#map33 = affine_map<() -> (4)>
#set = affine_set<(d0) : (d0 - 10 >= 0)>
#set1 = affine_set<(d0, d1)[s0] : (d0 - 10 >= 0, d1 + s0 == 0)>
#set2 = affine_set<(d0) : (d0 >= 0, -d0 + 5 >= 0)>
#set3 = affine_set<()[s0] : (s0 == 0)>
"builtin.module"() ({
  "func.func"() <{function_type = (index, index, memref<10x20xf32>, f32, vector<8xf32>, memref<1xi32>, memref<10x20xf32, 2>) -> f32, sym_name = "f"}> ({
  ^bb0(%arg5: index, %arg6: index, %arg7: memref<10x20xf32>, %arg8: f32, %arg9: vector<8xf32>, %arg10: memref<1xi32>, %arg11: memref<10x20xf32, 2>):
    %2 = "affine.apply"(%arg5, %arg6) <{map = #map}> : (index, index) -> index
    %3 = "affine.apply"() <{map = #map1}> : () -> index
    %4 = "affine.apply"(%arg5) <{map = #map2}> : (index) -> index
    %5 = "affine.apply"(%arg5) <{map = #map3}> {foo} : (index) -> index
    %6 = "affine.max"(%arg5, %arg6) <{map = #map4}> : (index, index) -> index
    %7 = "affine.min"(%arg5, %arg6) <{map = #map5}> : (index, index) -> index
    "affine.for"() <{lowerBoundMap = #map6, operandSegmentSizes = array<i32: 0, 0, 0>, step = 1 : index, upperBoundMap = #map7}> ({
    ^bb0(%arg31: index):
      "affine.yield"() : () -> ()
    }) : () -> ()
    "affine.for"() <{lowerBoundMap = #map6, operandSegmentSizes = array<i32: 0, 0, 0>, step = 2 : index, upperBoundMap = #map7}> ({
    ^bb0(%arg30: index):
      "test.x"(%arg30) : (index) -> ()
      "affine.yield"() : () -> ()
    }) {foo = "a"} : () -> ()
    "affine.for"(%arg5, %arg6) <{lowerBoundMap = #map8, operandSegmentSizes = array<i32: 1, 1, 0>, step = 1 : index, upperBoundMap = #map8}> ({
    ^bb0(%arg29: index):
      "affine.yield"() : () -> ()
    }) : (index, index) -> ()
    "affine.for"(%arg5, %arg6) <{lowerBoundMap = #map, operandSegmentSizes = array<i32: 2, 0, 0>, step = 1 : index, upperBoundMap = #map9}> ({
    ^bb0(%arg28: index):
      "affine.yield"() : () -> ()
    }) : (index, index) -> ()
    "affine.for"(%arg5, %arg5, %arg6) <{lowerBoundMap = #map10, operandSegmentSizes = array<i32: 1, 2, 0>, step = 1 : index, upperBoundMap = #map11}> ({
    ^bb0(%arg27: index):
      "affine.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "affine.for"(%arg5, %arg6) <{lowerBoundMap = #map12, operandSegmentSizes = array<i32: 1, 1, 0>, step = 1 : index, upperBoundMap = #map13}> ({
    ^bb0(%arg26: index):
      "affine.yield"() : () -> ()
    }) : (index, index) -> ()
    %8 = "affine.for"(%arg8) <{lowerBoundMap = #map6, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = #map7}> ({
    ^bb0(%arg24: index, %arg25: f32):
      "affine.yield"(%arg25) : (f32) -> ()
    }) : (f32) -> f32
    %9:2 = "affine.for"(%arg8, %arg5) <{lowerBoundMap = #map6, operandSegmentSizes = array<i32: 0, 0, 2>, step = 3 : index, upperBoundMap = #map7}> ({
    ^bb0(%arg21: index, %arg22: f32, %arg23: index):
      "affine.yield"(%arg22, %arg23) : (f32, index) -> ()
    }) {bar} : (f32, index) -> (f32, index)
    "affine.for"() <{lowerBoundMap = #map6, operandSegmentSizes = array<i32: 0, 0, 0>, step = 1 : index, upperBoundMap = #map7}> ({
    ^bb0(%arg20: index):
      %19 = "affine.load"(%arg7, %arg20) <{map = #map14}> : (memref<10x20xf32>, index) -> f32
      "affine.store"(%19, %arg7, %arg20, %arg5) <{map = #map15}> : (f32, memref<10x20xf32>, index, index) -> ()
      %20 = "affine.load"(%arg7, %arg20, %arg5) <{map = #map16}> {foo} : (memref<10x20xf32>, index, index) -> f32
      "affine.store"(%20, %arg7, %arg20) <{map = #map17}> {foo} : (f32, memref<10x20xf32>, index) -> ()
      %21 = "affine.vector_load"(%arg7, %arg20) <{map = #map18}> : (memref<10x20xf32>, index) -> vector<8xf32>
      "affine.vector_store"(%21, %arg7, %arg20) <{map = #map19}> : (vector<8xf32>, memref<10x20xf32>, index) -> ()
      "affine.prefetch"(%arg7, %arg20) <{isDataCache = true, isWrite = false, localityHint = 3 : i32, map = #map20}> : (memref<10x20xf32>, index) -> ()
      "affine.if"(%arg20) <{condition = #set}> ({
        "affine.yield"() : () -> ()
      }, {
      }) : (index) -> ()
      "affine.if"(%arg20, %arg20, %arg5) <{condition = #set1}> ({
        "test.x"() : () -> ()
        "affine.yield"() : () -> ()
      }, {
        "test.y"() : () -> ()
        "affine.yield"() : () -> ()
      }) : (index, index, index) -> ()
      "affine.if"(%arg20, %arg20, %arg5) <{condition = #set1}> ({
        "affine.yield"() : () -> ()
      }, {
      }) {foo} : (index, index, index) -> ()
      %22 = "affine.if"(%arg20) <{condition = #set2}> ({
        "affine.yield"(%19) : (f32) -> ()
      }, {
        "affine.yield"(%20) : (f32) -> ()
      }) : (index) -> f32
      %23:2 = "affine.if"(%arg5) <{condition = #set3}> ({
        "affine.yield"(%19, %arg5) : (f32, index) -> ()
      }, {
        "affine.yield"(%20, %arg6) : (f32, index) -> ()
      }) : (index) -> (f32, index)
      "affine.yield"() : () -> ()
    }) : () -> ()
    "affine.parallel"() <{lowerBoundsGroups = dense<1> : tensor<2xi32>, lowerBoundsMap = #map21, reductions = [], steps = [1, 1], upperBoundsGroups = dense<1> : tensor<2xi32>, upperBoundsMap = #map22}> ({
    ^bb0(%arg18: index, %arg19: index):
      "affine.yield"() : () -> ()
    }) : () -> ()
    "affine.parallel"(%arg5, %arg6) <{lowerBoundsGroups = dense<1> : tensor<2xi32>, lowerBoundsMap = #map23, reductions = [], steps = [2, 3], upperBoundsGroups = dense<1> : tensor<2xi32>, upperBoundsMap = #map24}> ({
    ^bb0(%arg16: index, %arg17: index):
      "test.x"() : () -> ()
      "affine.yield"() : () -> ()
    }) {foo} : (index, index) -> ()
    %10 = "affine.parallel"(%arg5, %arg6, %arg5, %arg6) <{lowerBoundsGroups = dense<[1, 2]> : tensor<2xi32>, lowerBoundsMap = #map25, reductions = [0], steps = [1, 1], upperBoundsGroups = dense<[2, 1]> : tensor<2xi32>, upperBoundsMap = #map26}> ({
    ^bb0(%arg14: index, %arg15: index):
      "affine.yield"(%arg8) : (f32) -> ()
    }) : (index, index, index, index) -> f32
    %11:2 = "affine.parallel"() <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = #map6, reductions = [4, 13], steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = #map7}> ({
    ^bb0(%arg13: index):
      %18 = "arith.constant"() <{value = 1 : i32}> : () -> i32
      "affine.yield"(%arg8, %18) : (f32, i32) -> ()
    }) : () -> (f32, i32)
    "affine.parallel"() <{lowerBoundsGroups = dense<> : tensor<0xi32>, lowerBoundsMap = #map27, reductions = [], steps = [], upperBoundsGroups = dense<> : tensor<0xi32>, upperBoundsMap = #map27}> ({
      "affine.yield"() : () -> ()
    }) : () -> ()
    "affine.parallel"(%arg5, %arg6) <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = #map8, reductions = [], steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = #map28}> ({
    ^bb0(%arg12: index):
      "affine.yield"() : () -> ()
    }) : (index, index) -> ()
    %12:2 = "affine.delinearize_index"(%arg5) <{static_basis = array<i64: 16, 8>}> : (index) -> (index, index)
    %13:3 = "affine.delinearize_index"(%arg5, %arg6) <{static_basis = array<i64: -9223372036854775808, 4, 8>}> : (index, index) -> (index, index, index)
    %14:3 = "affine.delinearize_index"(%arg5) <{static_basis = array<i64: 4, 8>}> : (index) -> (index, index, index)
    %15 = "affine.linearize_index"(%arg5, %arg6, %arg5) <{disjoint = false, operandSegmentSizes = array<i32: 3, 0>, static_basis = array<i64: 2, 3, 5>}> : (index, index, index) -> index
    %16 = "affine.linearize_index"(%arg5, %arg6, %arg5) <{disjoint, operandSegmentSizes = array<i32: 2, 1>, static_basis = array<i64: -9223372036854775808, 5>}> : (index, index, index) -> index
    %17 = "affine.linearize_index"(%arg5, %arg6) <{disjoint = false, operandSegmentSizes = array<i32: 2, 0>, static_basis = array<i64: 5>}> {foo} : (index, index) -> index
    "affine.dma_start"(%arg7, %arg5, %arg6, %arg11, %arg5, %arg10, %arg5) {dst_map = #map29, src_map = #map30, tag_map = #map6} : (memref<10x20xf32>, index, index, memref<10x20xf32, 2>, index, memref<1xi32>, index) -> ()
    "affine.dma_start"(%arg7, %arg5, %arg6, %arg11, %arg5, %arg6, %arg10, %arg5, %arg5, %arg6, %arg6) {dst_map = #map31, src_map = #map31, tag_map = #map28} : (memref<10x20xf32>, index, index, memref<10x20xf32, 2>, index, index, memref<1xi32>, index, index, index, index) -> ()
    "affine.dma_wait"(%arg10, %arg5, %arg5) {tag_map = #map28} : (memref<1xi32>, index, index) -> ()
    "func.return"(%arg8) : (f32) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (memref<f32>, f32, memref<4xf32>) -> (), sym_name = "g"}> ({
  ^bb0(%arg0: memref<f32>, %arg1: f32, %arg2: memref<4xf32>):
    %0 = "affine.load"(%arg0) <{map = #map27}> : (memref<f32>) -> f32
    "affine.store"(%arg1, %arg0) <{map = #map27}> : (f32, memref<f32>) -> ()
    "affine.for"() <{lowerBoundMap = #map6, operandSegmentSizes = array<i32: 0, 0, 0>, step = 1 : index, upperBoundMap = #map33}> ({
    ^bb0(%arg3: index):
      "affine.for"(%arg3, %arg3) <{lowerBoundMap = #map28, operandSegmentSizes = array<i32: 1, 1, 0>, step = 1 : index, upperBoundMap = #map12}> ({
      ^bb0(%arg4: index):
        %1 = "affine.load"(%arg2, %arg3, %arg4) <{map = #map32}> : (memref<4xf32>, index, index) -> f32
        "affine.yield"() : () -> ()
      }) : (index, index) -> ()
      "affine.yield"() : () -> ()
    }) : () -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
