module {
  func.func @f() -> i32 {
    %0 = ub.poison : i32
    %1 = ub.poison : vector<4xf32>
    %2 = ub.poison {foo} : memref<4xf32>
    %3 = ub.poison : i32
    cf.br ^bb1
  ^bb1:  // pred: ^bb0
    ub.unreachable
  }
  func.func @g(%arg0: i32) {
    %0 = builtin.unrealized_conversion_cast %arg0 : i32 to i64
    %1:2 = builtin.unrealized_conversion_cast %arg0, %0 : i32, i64 to f32, index
    %2 = builtin.unrealized_conversion_cast to i32
    %3 = builtin.unrealized_conversion_cast %arg0 : i32 to !llvm.ptr {foo}
    return
  }
}
