"builtin.module"() ({
  "func.func"() <{function_type = (i1, i32, f32, i64) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: i1, %arg1: i32, %arg2: f32, %arg3: i64):
    "cf.assert"(%arg0) <{msg = "message \22quoted\22"}> : (i1) -> ()
    "cf.assert"(%arg0) <{msg = "x"}> {foo} : (i1) -> ()
    "cf.cond_br"(%arg0, %arg1)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 1>}> {foo} : (i1, i32) -> ()
  ^bb1:  // 4 preds: ^bb0, ^bb2, ^bb2, ^bb4
    "cf.br"(%arg1, %arg2)[^bb3] : (i32, f32) -> ()
  ^bb2(%0: i32):  // pred: ^bb0
    "cf.cond_br"(%arg0)[^bb1, ^bb1] <{branch_weights = array<i32: 10, 20>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
  ^bb3(%1: i32, %2: f32):  // pred: ^bb1
    "cf.switch"(%arg1, %arg1, %1)[^bb4, ^bb5, ^bb5] <{case_operand_segments = array<i32: 1, 1>, case_values = dense<[42, -43]> : vector<2xi32>, operandSegmentSizes = array<i32: 1, 0, 2>}> : (i32, i32, i32) -> ()
  ^bb4:  // pred: ^bb3
    "cf.switch"(%arg3)[^bb1] <{case_operand_segments = array<i32>, operandSegmentSizes = array<i32: 1, 0, 0>}> {foo} : (i64) -> ()
  ^bb5(%3: i32):  // 2 preds: ^bb3, ^bb3
    "cf.br"()[^bb6] {foo} : () -> ()
  ^bb6:  // pred: ^bb5
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
