module {
  func.func @f(%arg0: index, %arg1: index, %arg2: memref<10x20xf32>, %arg3: f32, %arg4: i1, %arg5: i32, %arg6: tensor<16x16xf32>) -> f32 {
    scf.for %arg7 = %arg0 to %arg1 step %arg0 {
    }
    scf.for %arg7 = %arg0 to %arg1 step %arg0 {
    }
    scf.for %arg7 = %arg5 to %arg5 step %arg5  : i32 {
    }
    scf.for unsigned %arg7 = %arg5 to %arg5 step %arg5  : i32 {
    }
    %0 = scf.for %arg7 = %arg0 to %arg1 step %arg0 iter_args(%arg8 = %arg3) -> (f32) {
      scf.yield %arg8 : f32
    } {loop = "x"}
    %1:2 = scf.for %arg7 = %arg5 to %arg5 step %arg5 iter_args(%arg8 = %arg3, %arg9 = %arg4) -> (f32, i1)  : i32 {
      scf.yield %arg8, %arg9 : f32, i1
    }
    scf.for %arg7 = %arg0 to %arg1 step %arg0 {
    } {a = 1 : i32, b}
    scf.if %arg4 {
    }
    scf.if %arg4 {
    } {foo}
    scf.if %arg4 {
    } else {
    }
    scf.if %arg4 {
      "test.x"() : () -> ()
    } else {
      "test.x"() : () -> ()
    } {foo}
    %2 = scf.if %arg4 -> (f32) {
      scf.yield %arg3 : f32
    } else {
      scf.yield %arg3 : f32
    }
    %3:2 = scf.if %arg4 -> (f32, i32) {
      scf.yield %arg3, %arg5 : f32, i32
    } else {
      scf.yield %arg3, %arg5 : f32, i32
    } {foo}
    %4 = scf.while (%arg7 = %arg3) : (f32) -> f32 {
      scf.condition(%arg4) %arg7 : f32
    } do {
    ^bb0(%arg7: f32):
      scf.yield %arg7 : f32
    }
    %5:2 = scf.while (%arg7 = %arg3, %arg8 = %arg5) : (f32, i32) -> (f32, i32) {
      scf.condition(%arg4) {foo} %arg7, %arg8 : f32, i32
    } do {
    ^bb0(%arg7: f32, %arg8: i32):
      scf.yield %arg7, %arg8 : f32, i32
    } attributes {foo}
    scf.while : () -> () {
      scf.condition(%arg4)
    } do {
      scf.yield
    }
    %6 = scf.while : () -> i32 {
      scf.condition(%arg4) %arg5 : i32
    } do {
    ^bb0(%arg7: i32):
      scf.yield
    }
    scf.parallel (%arg7, %arg8) = (%arg0, %arg0) to (%arg1, %arg1) step (%arg0, %arg0) {
      scf.reduce 
    }
    scf.parallel (%arg7) = (%arg0) to (%arg1) step (%arg0) {
      scf.reduce 
    } {foo}
    %7 = scf.parallel (%arg7) = (%arg0) to (%arg1) step (%arg0) init (%arg3) -> f32 {
      scf.reduce(%arg3 : f32) {
      ^bb0(%arg8: f32, %arg9: f32):
        %15 = arith.addf %arg8, %arg9 : f32
        scf.reduce.return %15 : f32
      }
    }
    %8:2 = scf.parallel (%arg7, %arg8) = (%arg0, %arg0) to (%arg1, %arg1) step (%arg0, %arg0) init (%arg3, %arg3) -> (f32, f32) {
      scf.reduce(%arg3, %arg3 : f32, f32) {
      ^bb0(%arg9: f32, %arg10: f32):
        scf.reduce.return %arg9 : f32
      }, {
      ^bb0(%arg9: f32, %arg10: f32):
        scf.reduce.return %arg10 : f32
      }
    } {foo}
    scf.execute_region {
      scf.yield
    }
    scf.execute_region {
      cf.br ^bb1
    ^bb1:  // pred: ^bb0
      scf.yield
    }
    %9 = scf.execute_region -> f32 {
      scf.yield %arg3 : f32
    }
    %10:2 = scf.execute_region -> (f32, i32) {
      cf.br ^bb1
    ^bb1:  // pred: ^bb0
      scf.yield %arg3, %arg5 : f32, i32
    } {foo}
    scf.execute_region no_inline {
      scf.yield
    }
    scf.index_switch %arg0 
    case 1 {
      scf.yield
    }
    case 2 {
      scf.yield
    }
    default {
    }
    scf.index_switch %arg0 
    default {
    }
    %11 = scf.index_switch %arg0 -> i32 
    case 1 {
      scf.yield %arg5 : i32
    }
    case -2 {
      scf.yield %arg5 : i32
    }
    default {
      scf.yield %arg5 : i32
    }
    %12:2 = scf.index_switch %arg0 {foo} -> i32, f32 
    case 1 {
      scf.yield %arg5, %arg3 : i32, f32
    }
    default {
      scf.yield %arg5, %arg3 : i32, f32
    }
    scf.forall (%arg7) in (%arg0) {
    }
    scf.forall (%arg7, %arg8) in (4, %arg0) {
      "test.x"(%arg7) : (index) -> ()
    } {mapped}
    scf.forall (%arg7, %arg8) = (0, %arg0) to (%arg1, 64) step (1, %arg0) {
    } {foo}
    scf.forall (%arg7, %arg8) in (%arg1, 64) {
    }
    %13 = scf.forall (%arg7, %arg8) in (4, 4) shared_outs(%arg9 = %arg6) -> (tensor<16x16xf32>) {
      %extracted_slice = tensor.extract_slice %arg9[%arg7, %arg8] [4, 4] [1, 1] : tensor<16x16xf32> to tensor<4x4xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %extracted_slice into %arg9[%arg7, %arg8] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<16x16xf32>
      }
    }
    %14:2 = scf.forall (%arg7) = (0) to (4) step (2) shared_outs(%arg8 = %arg6, %arg9 = %arg6) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
      scf.forall.in_parallel {
      } {bar}
    }
    scf.forall (%arg7) in (%arg0) {
    }
    return %0 : f32
  }
}
