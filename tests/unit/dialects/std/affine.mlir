#map = affine_map<(d0)[s0] -> (d0 + s0)>
#map1 = affine_map<() -> (5)>
#map2 = affine_map<()[s0] -> (s0 * 4)>
#map3 = affine_map<(d0) -> (d0 floordiv 8)>
#map4 = affine_map<(d0, d1) -> (d0 * 2 + d1 floordiv 3, d1 mod 4, d0 ceildiv 2 - 5)>
#map5 = affine_map<(d0)[s0] -> (d0, s0 - 1, 100)>
#map6 = affine_map<(d0) -> (d0, 5)>
#map7 = affine_map<(d0)[s0] -> (d0, s0)>
#map8 = affine_map<(d0) -> (d0 + 1)>
#map9 = affine_map<()[s0] -> (s0 * 2)>
#map10 = affine_map<(d0) -> (d0)>
#set = affine_set<(d0) : (d0 - 10 >= 0)>
#set1 = affine_set<(d0, d1)[s0] : (d0 - 10 >= 0, d1 + s0 == 0)>
#set2 = affine_set<(d0) : (d0 >= 0, -d0 + 5 >= 0)>
#set3 = affine_set<()[s0] : (s0 == 0)>
module {
  func.func @f(%arg0: index, %arg1: index, %arg2: memref<10x20xf32>, %arg3: f32, %arg4: vector<8xf32>, %arg5: memref<1xi32>, %arg6: memref<10x20xf32, 2>) -> f32 {
    %0 = affine.apply #map(%arg0)[%arg1]
    %1 = affine.apply #map1()
    %2 = affine.apply #map2()[%arg0]
    %3 = affine.apply #map3(%arg0) {foo}
    %4 = affine.max #map4(%arg0, %arg1)
    %5 = affine.min #map5(%arg0)[%arg1]
    affine.for %arg7 = 0 to 10 {
    }
    affine.for %arg7 = 0 to 10 step 2 {
      "test.x"(%arg7) : (index) -> ()
    } {foo = "a"}
    affine.for %arg7 = %arg0 to %arg1 {
    }
    affine.for %arg7 = #map(%arg0)[%arg1] to 100 {
    }
    affine.for %arg7 = max #map6(%arg0) to min #map7(%arg0)[%arg1] {
    }
    affine.for %arg7 = #map8(%arg0) to #map9()[%arg1] {
    }
    %6 = affine.for %arg7 = 0 to 10 iter_args(%arg8 = %arg3) -> (f32) {
      affine.yield %arg8 : f32
    }
    %7:2 = affine.for %arg7 = 0 to 10 step 3 iter_args(%arg8 = %arg3, %arg9 = %arg0) -> (f32, index) {
      affine.yield %arg8, %arg9 : f32, index
    } {bar}
    affine.for %arg7 = 0 to 10 {
      %16 = affine.load %arg2[%arg7, %arg7 + 3] : memref<10x20xf32>
      affine.store %16, %arg2[%arg7 * 2, symbol(%arg0) + 1] : memref<10x20xf32>
      %17 = affine.load %arg2[%arg7 + symbol(%arg0), 3] {foo} : memref<10x20xf32>
      affine.store %17, %arg2[%arg7 mod 4, (%arg7 + 1) floordiv 2] {foo} : memref<10x20xf32>
      %18 = affine.vector_load %arg2[%arg7, %arg7] : memref<10x20xf32>, vector<8xf32>
      affine.vector_store %18, %arg2[%arg7, 8] : memref<10x20xf32>, vector<8xf32>
      affine.prefetch %arg2[%arg7, %arg7 + 5], read, locality<3>, data : memref<10x20xf32>
      affine.if #set(%arg7) {
      }
      affine.if #set1(%arg7, %arg7)[%arg0] {
        "test.x"() : () -> ()
      } else {
        "test.y"() : () -> ()
      }
      affine.if #set1(%arg7, %arg7)[%arg0] {
      } {foo}
      %19 = affine.if #set2(%arg7) -> f32 {
        affine.yield %16 : f32
      } else {
        affine.yield %17 : f32
      }
      %20:2 = affine.if #set3()[%arg0] -> (f32, index) {
        affine.yield %16, %arg0 : f32, index
      } else {
        affine.yield %17, %arg1 : f32, index
      }
    }
    affine.parallel (%arg7, %arg8) = (0, 0) to (10, 20) {
    }
    affine.parallel (%arg7, %arg8) = (%arg0, 1) to (%arg1 * 2, 20) step (2, 3) {
      "test.x"() : () -> ()
    } {foo}
    %8 = affine.parallel (%arg7, %arg8) = (0, max(%arg0, %arg1)) to (min(%arg0, %arg1 + 1), 20) reduce ("addf") -> (f32) {
      affine.yield %arg3 : f32
    }
    %9:2 = affine.parallel (%arg7) = (0) to (10) reduce ("maximumf", "muli") -> (f32, i32) {
      %c1_i32 = arith.constant 1 : i32
      affine.yield %arg3, %c1_i32 : f32, i32
    }
    affine.parallel () = () to () {
    }
    affine.parallel (%arg7) = (symbol(%arg0)) to (%arg1) {
    }
    %10:2 = affine.delinearize_index %arg0 into (16, 8) : index, index
    %11:3 = affine.delinearize_index %arg0 into (%arg1, 4, 8) : index, index, index
    %12:3 = affine.delinearize_index %arg0 into (4, 8) : index, index, index
    %13 = affine.linearize_index [%arg0, %arg1, %arg0] by (2, 3, 5) : index
    %14 = affine.linearize_index disjoint [%arg0, %arg1] by (%arg0, 5) : index
    %15 = affine.linearize_index [%arg0, %arg1] by (5) {foo} : index
    affine.dma_start %arg2[%arg0, %arg1 + 1], %arg6[%arg0, 3], %arg5[0], %arg0 : memref<10x20xf32>, memref<10x20xf32, 2>, memref<1xi32>
    affine.dma_start %arg2[%arg0, %arg1], %arg6[%arg0, %arg1], %arg5[%arg0], %arg0, %arg1, %arg1 : memref<10x20xf32>, memref<10x20xf32, 2>, memref<1xi32>
    affine.dma_wait %arg5[%arg0], %arg0 : memref<1xi32>
    return %arg3 : f32
  }
  func.func @g(%arg0: memref<f32>, %arg1: f32, %arg2: memref<4xf32>) {
    %0 = affine.load %arg0[] : memref<f32>
    affine.store %arg1, %arg0[] : memref<f32>
    affine.for %arg3 = 0 to 4 {
      affine.for %arg4 = #map10(%arg3) to #map8(%arg3) {
        %1 = affine.load %arg2[%arg3 + %arg4 * 2 - 1] : memref<4xf32>
      }
    }
    return
  }
}
