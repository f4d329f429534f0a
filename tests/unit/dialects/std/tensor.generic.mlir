"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x4xf32>, tensor<?x?xf32>, index, f32, tensor<2xindex>, tensor<*xf32>, tensor<1x1x2xindex>, tensor<1x1x1x1xf32>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: tensor<4x4xf32>, %arg1: tensor<?x?xf32>, %arg2: index, %arg3: f32, %arg4: tensor<2xindex>, %arg5: tensor<*xf32>, %arg6: tensor<1x1x2xindex>, %arg7: tensor<1x1x1x1xf32>):
    %0 = "tensor.bitcast"(%arg0) : (tensor<4x4xf32>) -> tensor<4x4xi32>
    %1 = "tensor.generate"(%arg2, %arg2) ({
    ^bb0(%arg10: index, %arg11: index):
      "tensor.yield"(%arg3) : (f32) -> ()
    }) : (index, index) -> tensor<?x?xf32>
    %2 = "tensor.generate"() ({
    ^bb0(%arg8: index, %arg9: index):
      "tensor.yield"(%arg3) : (f32) -> ()
    }) {foo} : () -> tensor<4x4xf32>
    %3 = "tensor.rank"(%arg5) : (tensor<*xf32>) -> index
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
