module {
  func.func @f(%arg0: i1, %arg1: i32, %arg2: f32, %arg3: i64) {
    cf.assert %arg0, "message \22quoted\22"
    cf.assert %arg0, "x" {foo}
    cf.cond_br %arg0, ^bb1, ^bb2(%arg1 : i32) {foo}
  ^bb1:  // 4 preds: ^bb0, ^bb2, ^bb2, ^bb4
    cf.br ^bb3(%arg1, %arg2 : i32, f32)
  ^bb2(%0: i32):  // pred: ^bb0
    cf.cond_br %arg0 weights([10, 20]), ^bb1, ^bb1
  ^bb3(%1: i32, %2: f32):  // pred: ^bb1
    cf.switch %arg1 : i32, [
      default: ^bb4,
      42: ^bb5(%arg1 : i32),
      4294967253: ^bb5(%1 : i32)
    ]
  ^bb4:  // pred: ^bb3
    cf.switch %arg3 : i64, [
      default: ^bb1] {foo}
  ^bb5(%3: i32):  // 2 preds: ^bb3, ^bb3
    cf.br ^bb6 {foo}
  ^bb6:  // pred: ^bb5
    return
  }
}
