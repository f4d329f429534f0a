module {
  func.func @f(%arg0: tensor<4x4xf32>, %arg1: tensor<?x?xf32>, %arg2: index, %arg3: f32, %arg4: tensor<2xindex>, %arg5: tensor<*xf32>, %arg6: tensor<1x1x2xindex>, %arg7: tensor<1x1x1x1xf32>) {
    %0 = tensor.bitcast %arg0 : tensor<4x4xf32> to tensor<4x4xi32>
    %generated = tensor.generate %arg2, %arg2 {
    ^bb0(%arg8: index, %arg9: index):
      tensor.yield %arg3 : f32
    } : tensor<?x?xf32>
    %generated_0 = tensor.generate  {
    ^bb0(%arg8: index, %arg9: index):
      tensor.yield %arg3 : f32
    } {foo} : tensor<4x4xf32>
    %rank = tensor.rank %arg5 : tensor<*xf32>
    return
  }
}
