module @m attributes {a.foo = "bar", "weird.na-me" = 1 : i32} {
  func.func private @decl()
  func.func private @decl2(i32, f32) -> i32
  func.func private @decl3(i32 {lll.noalias}, f32) -> (i32 {x.y = 1 : i32}, f32)
  func.func private @decl4(memref<4xf32>) attributes {llvm.emit_c_interface}
  func.func nested @n()
  func.func public @pub() {
    return
  }
  func.func @body(%arg0: i32 {a.b = "c"}, %arg1: f32) -> (i32, f32) attributes {abc = 1 : i64, zed} {
    return %arg0, %arg1 : i32, f32
  }
  func.func @res(%arg0: i32) -> (i32 {a.b}) {
    return %arg0 : i32
  }
  func.func @one(%arg0: i32) -> i32 {
    return {foo} %arg0 : i32
  }
  func.func @fn(%arg0: () -> (), %arg1: (i32) -> (i32, f32), %arg2: i32, %arg3: f32) -> (() -> i32) {
    call @decl() : () -> ()
    %0 = call @decl2(%arg2, %arg3) : (i32, f32) -> i32
    %1:2 = call @body(%arg2, %arg3) {foo} : (i32, f32) -> (i32, f32)
    %f = constant @decl : () -> ()
    %f_0 = constant @one : (i32) -> i32
    call_indirect %f() : () -> ()
    %2:2 = call_indirect %arg1(%arg2) {foo} : (i32) -> (i32, f32)
    call @"weird name"() : () -> ()
    call @decl() {no_inline} : () -> ()
    %f_1 = constant @ret : () -> i32
    return %f_1 : () -> i32
  }
  func.func private @ret() -> i32
  func.func private @"weird name"()
  func.func @noinline() attributes {no_inline} {
    return
  }
  func.func private @retfn() -> (() -> ())
  func.func @blocks(%arg0: i1) -> i32 {
    %c1_i32 = arith.constant 1 : i32
    cf.cond_br %arg0, ^bb1(%c1_i32 : i32), ^bb2
  ^bb1(%0: i32):  // pred: ^bb0
    cf.br ^bb3(%0 : i32)
  ^bb2:  // pred: ^bb0
    cf.br ^bb3(%c1_i32 : i32)
  ^bb3(%1: i32):  // 2 preds: ^bb1, ^bb2
    return %1 : i32
  }
  module {
  }
  module @inner {
    func.func private @x()
  }
  module attributes {a.b} {
  }
}
