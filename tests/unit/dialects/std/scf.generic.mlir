"builtin.module"() ({
  "func.func"() <{function_type = (index, index, memref<10x20xf32>, f32, i1, i32, tensor<16x16xf32>) -> f32, sym_name = "f"}> ({
  ^bb0(%arg0: index, %arg1: index, %arg2: memref<10x20xf32>, %arg3: f32, %arg4: i1, %arg5: i32, %arg6: tensor<16x16xf32>):
    "scf.for"(%arg0, %arg1, %arg0) ({
    ^bb0(%arg49: index):
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.for"(%arg0, %arg1, %arg0) ({
    ^bb0(%arg48: index):
      "scf.yield"() : () -> ()
    }) : (index, index, index) -> ()
    "scf.for"(%arg5, %arg5, %arg5) ({
    ^bb0(%arg47: i32):
      "scf.yield"() : () -> ()
    }) : (i32, i32, i32) -> ()
    "scf.for"(%arg5, %arg5, %arg5) <{unsignedCmp}> ({
    ^bb0(%arg46: i32):
      "scf.yield"() : () -> ()
    }) : (i32, i32, i32) -> ()
    %0 = "scf.for"(%arg0, %arg1, %arg0, %arg3) ({
    ^bb0(%arg44: index, %arg45: f32):
      "scf.yield"(%arg45) : (f32) -> ()
    }) {loop = "x"} : (index, index, index, f32) -> f32
    %1:2 = "scf.for"(%arg5, %arg5, %arg5, %arg3, %arg4) ({
    ^bb0(%arg41: i32, %arg42: f32, %arg43: i1):
      "scf.yield"(%arg42, %arg43) : (f32, i1) -> ()
    }) : (i32, i32, i32, f32, i1) -> (f32, i1)
    "scf.for"(%arg0, %arg1, %arg0) ({
    ^bb0(%arg40: index):
      "scf.yield"() : () -> ()
    }) {a = 1 : i32, b} : (index, index, index) -> ()
    "scf.if"(%arg4) ({
      "scf.yield"() : () -> ()
    }, {
    }) : (i1) -> ()
    "scf.if"(%arg4) ({
      "scf.yield"() : () -> ()
    }, {
    }) {foo} : (i1) -> ()
    "scf.if"(%arg4) ({
      "scf.yield"() : () -> ()
    }, {
      "scf.yield"() : () -> ()
    }) : (i1) -> ()
    "scf.if"(%arg4) ({
      "test.x"() : () -> ()
      "scf.yield"() : () -> ()
    }, {
      "test.x"() : () -> ()
      "scf.yield"() : () -> ()
    }) {foo} : (i1) -> ()
    %2 = "scf.if"(%arg4) ({
      "scf.yield"(%arg3) : (f32) -> ()
    }, {
      "scf.yield"(%arg3) : (f32) -> ()
    }) : (i1) -> f32
    %3:2 = "scf.if"(%arg4) ({
      "scf.yield"(%arg3, %arg5) : (f32, i32) -> ()
    }, {
      "scf.yield"(%arg3, %arg5) : (f32, i32) -> ()
    }) {foo} : (i1) -> (f32, i32)
    %4 = "scf.while"(%arg3) ({
    ^bb0(%arg39: f32):
      "scf.condition"(%arg4, %arg39) : (i1, f32) -> ()
    }, {
    ^bb0(%arg38: f32):
      "scf.yield"(%arg38) : (f32) -> ()
    }) : (f32) -> f32
    %5:2 = "scf.while"(%arg3, %arg5) ({
    ^bb0(%arg36: f32, %arg37: i32):
      "scf.condition"(%arg4, %arg36, %arg37) {foo} : (i1, f32, i32) -> ()
    }, {
    ^bb0(%arg34: f32, %arg35: i32):
      "scf.yield"(%arg34, %arg35) : (f32, i32) -> ()
    }) {foo} : (f32, i32) -> (f32, i32)
    "scf.while"() ({
      "scf.condition"(%arg4) : (i1) -> ()
    }, {
      "scf.yield"() : () -> ()
    }) : () -> ()
    %6 = "scf.while"() ({
      "scf.condition"(%arg4, %arg5) : (i1, i32) -> ()
    }, {
    ^bb0(%arg33: i32):
      "scf.yield"() : () -> ()
    }) : () -> i32
    "scf.parallel"(%arg0, %arg0, %arg1, %arg1, %arg0, %arg0) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
    ^bb0(%arg31: index, %arg32: index):
      "scf.reduce"() : () -> ()
    }) : (index, index, index, index, index, index) -> ()
    "scf.parallel"(%arg0, %arg1, %arg0) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%arg30: index):
      "scf.reduce"() : () -> ()
    }) {foo} : (index, index, index) -> ()
    %7 = "scf.parallel"(%arg0, %arg1, %arg0, %arg3) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
    ^bb0(%arg27: index):
      "scf.reduce"(%arg3) ({
      ^bb0(%arg28: f32, %arg29: f32):
        %16 = "arith.addf"(%arg28, %arg29) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
        "scf.reduce.return"(%16) : (f32) -> ()
      }) : (f32) -> ()
    }) : (index, index, index, f32) -> f32
    %8:2 = "scf.parallel"(%arg0, %arg0, %arg1, %arg1, %arg0, %arg0, %arg3, %arg3) <{operandSegmentSizes = array<i32: 2, 2, 2, 2>}> ({
    ^bb0(%arg21: index, %arg22: index):
      "scf.reduce"(%arg3, %arg3) ({
      ^bb0(%arg25: f32, %arg26: f32):
        "scf.reduce.return"(%arg25) : (f32) -> ()
      }, {
      ^bb0(%arg23: f32, %arg24: f32):
        "scf.reduce.return"(%arg24) : (f32) -> ()
      }) : (f32, f32) -> ()
    }) {foo} : (index, index, index, index, index, index, f32, f32) -> (f32, f32)
    "scf.execute_region"() ({
      "scf.yield"() : () -> ()
    }) : () -> ()
    "scf.execute_region"() ({
      "cf.br"()[^bb1] : () -> ()
    ^bb1:  // pred: ^bb0
      "scf.yield"() : () -> ()
    }) : () -> ()
    %9 = "scf.execute_region"() ({
      "scf.yield"(%arg3) : (f32) -> ()
    }) : () -> f32
    %10:2 = "scf.execute_region"() ({
      "cf.br"()[^bb1] : () -> ()
    ^bb1:  // pred: ^bb0
      "scf.yield"(%arg3, %arg5) : (f32, i32) -> ()
    }) {foo} : () -> (f32, i32)
    "scf.execute_region"() <{no_inline}> ({
      "scf.yield"() : () -> ()
    }) : () -> ()
    "scf.index_switch"(%arg0) <{cases = array<i64: 1, 2>}> ({
      "scf.yield"() : () -> ()
    }, {
      "scf.yield"() : () -> ()
    }, {
      "scf.yield"() : () -> ()
    }) : (index) -> ()
    "scf.index_switch"(%arg0) <{cases = array<i64>}> ({
      "scf.yield"() : () -> ()
    }) : (index) -> ()
    %11 = "scf.index_switch"(%arg0) <{cases = array<i64: 1, -2>}> ({
      "scf.yield"(%arg5) : (i32) -> ()
    }, {
      "scf.yield"(%arg5) : (i32) -> ()
    }, {
      "scf.yield"(%arg5) : (i32) -> ()
    }) : (index) -> i32
    %12:2 = "scf.index_switch"(%arg0) <{cases = array<i64: 1>}> ({
      "scf.yield"(%arg5, %arg3) : (i32, f32) -> ()
    }, {
      "scf.yield"(%arg5, %arg3) : (i32, f32) -> ()
    }) {foo} : (index) -> (i32, f32)
    "scf.forall"(%arg0) <{operandSegmentSizes = array<i32: 0, 1, 0, 0>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: -9223372036854775808>}> ({
    ^bb0(%arg20: index):
      "scf.forall.in_parallel"() ({
      ^bb0:
      }) : () -> ()
    }) : (index) -> ()
    "scf.forall"(%arg0) <{operandSegmentSizes = array<i32: 0, 1, 0, 0>, staticLowerBound = array<i64: 0, 0>, staticStep = array<i64: 1, 1>, staticUpperBound = array<i64: 4, -9223372036854775808>}> ({
    ^bb0(%arg18: index, %arg19: index):
      "test.x"(%arg18) : (index) -> ()
      "scf.forall.in_parallel"() ({
      ^bb0:
      }) : () -> ()
    }) {mapped} : (index) -> ()
    "scf.forall"(%arg0, %arg1, %arg0) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, staticLowerBound = array<i64: 0, -9223372036854775808>, staticStep = array<i64: 1, -9223372036854775808>, staticUpperBound = array<i64: -9223372036854775808, 64>}> ({
    ^bb0(%arg16: index, %arg17: index):
      "scf.forall.in_parallel"() ({
      ^bb0:
      }) : () -> ()
    }) {foo} : (index, index, index) -> ()
    "scf.forall"(%arg1) <{operandSegmentSizes = array<i32: 0, 1, 0, 0>, staticLowerBound = array<i64: 0, 0>, staticStep = array<i64: 1, 1>, staticUpperBound = array<i64: -9223372036854775808, 64>}> ({
    ^bb0(%arg14: index, %arg15: index):
      "scf.forall.in_parallel"() ({
      ^bb0:
      }) : () -> ()
    }) : (index) -> ()
    %13 = "scf.forall"(%arg6) <{operandSegmentSizes = array<i32: 0, 0, 0, 1>, staticLowerBound = array<i64: 0, 0>, staticStep = array<i64: 1, 1>, staticUpperBound = array<i64: 4, 4>}> ({
    ^bb0(%arg11: index, %arg12: index, %arg13: tensor<16x16xf32>):
      %15 = "tensor.extract_slice"(%arg13, %arg11, %arg12) <{operandSegmentSizes = array<i32: 1, 2, 0, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 4, 4>, static_strides = array<i64: 1, 1>}> : (tensor<16x16xf32>, index, index) -> tensor<4x4xf32>
      "scf.forall.in_parallel"() ({
        "tensor.parallel_insert_slice"(%15, %arg13, %arg11, %arg12) <{operandSegmentSizes = array<i32: 1, 1, 2, 0, 0>, static_offsets = array<i64: -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 4, 4>, static_strides = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<16x16xf32>, index, index) -> ()
      }) : () -> ()
    }) : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %14:2 = "scf.forall"(%arg6, %arg6) <{operandSegmentSizes = array<i32: 0, 0, 0, 2>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 2>, staticUpperBound = array<i64: 4>}> ({
    ^bb0(%arg8: index, %arg9: tensor<16x16xf32>, %arg10: tensor<16x16xf32>):
      "scf.forall.in_parallel"() ({
      ^bb0:
      }) {bar} : () -> ()
    }) : (tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>)
    "scf.forall"(%arg0) <{operandSegmentSizes = array<i32: 0, 1, 0, 0>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: -9223372036854775808>}> ({
    ^bb0(%arg7: index):
      "scf.forall.in_parallel"() ({
      ^bb0:
      }) : () -> ()
    }) : (index) -> ()
    "func.return"(%0) : (f32) -> ()
  }) : () -> ()
}) : () -> ()
