"builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{function_type = () -> (), sym_name = "decl", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = (i32, f32) -> i32, sym_name = "decl2", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{arg_attrs = [{lll.noalias}, {}], function_type = (i32, f32) -> (i32, f32), res_attrs = [{x.y = 1 : i32}, {}], sym_name = "decl3", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = (memref<4xf32>) -> (), sym_name = "decl4", sym_visibility = "private"}> ({
  }) {llvm.emit_c_interface} : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "n", sym_visibility = "nested"}> ({
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "pub", sym_visibility = "public"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{a.b = "c"}, {}], function_type = (i32, f32) -> (i32, f32), sym_name = "body"}> ({
  ^bb0(%arg7: i32, %arg8: f32):
    "func.return"(%arg7, %arg8) : (i32, f32) -> ()
  }) {abc = 1 : i64, zed} : () -> ()
  "func.func"() <{function_type = (i32) -> i32, res_attrs = [{a.b}], sym_name = "res"}> ({
  ^bb0(%arg6: i32):
    "func.return"(%arg6) : (i32) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (i32) -> i32, sym_name = "one"}> ({
  ^bb0(%arg5: i32):
    "func.return"(%arg5) {foo} : (i32) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (() -> (), (i32) -> (i32, f32), i32, f32) -> (() -> i32), sym_name = "fn"}> ({
  ^bb0(%arg1: () -> (), %arg2: (i32) -> (i32, f32), %arg3: i32, %arg4: f32):
    "func.call"() <{callee = @decl}> : () -> ()
    %3 = "func.call"(%arg3, %arg4) <{callee = @decl2}> : (i32, f32) -> i32
    %4:2 = "func.call"(%arg3, %arg4) <{callee = @body}> {foo} : (i32, f32) -> (i32, f32)
    %5 = "func.constant"() <{value = @decl}> : () -> (() -> ())
    %6 = "func.constant"() <{value = @one}> : () -> ((i32) -> i32)
    "func.call_indirect"(%5) : (() -> ()) -> ()
    %7:2 = "func.call_indirect"(%arg2, %arg3) {foo} : ((i32) -> (i32, f32), i32) -> (i32, f32)
    "func.call"() <{callee = @"weird name"}> : () -> ()
    "func.call"() <{callee = @decl, no_inline}> : () -> ()
    %8 = "func.constant"() <{value = @ret}> : () -> (() -> i32)
    "func.return"(%8) : (() -> i32) -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> i32, sym_name = "ret", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "weird name", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = () -> (), no_inline, sym_name = "noinline"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = () -> (() -> ()), sym_name = "retfn", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = (i1) -> i32, sym_name = "blocks"}> ({
  ^bb0(%arg0: i1):
    %0 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    "cf.cond_br"(%arg0, %0)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i1, i32) -> ()
  ^bb1(%1: i32):  // pred: ^bb0
    "cf.br"(%1)[^bb3] : (i32) -> ()
  ^bb2:  // pred: ^bb0
    "cf.br"(%0)[^bb3] : (i32) -> ()
  ^bb3(%2: i32):  // 2 preds: ^bb1, ^bb2
    "func.return"(%2) : (i32) -> ()
  }) : () -> ()
  "builtin.module"() ({
  ^bb0:
  }) : () -> ()
  "builtin.module"() <{sym_name = "inner"}> ({
    "func.func"() <{function_type = () -> (), sym_name = "x", sym_visibility = "private"}> ({
    }) : () -> ()
  }) : () -> ()
  "builtin.module"() ({
  ^bb0:
  }) {a.b} : () -> ()
}) {a.foo = "bar", "weird.na-me" = 1 : i32} : () -> ()
