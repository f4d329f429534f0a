"builtin.module"() ({
  "func.func"() <{function_type = () -> i32, sym_name = "f"}> ({
    %4 = "ub.poison"() <{value = #ub.poison}> : () -> i32
    %5 = "ub.poison"() <{value = #ub.poison}> : () -> vector<4xf32>
    %6 = "ub.poison"() <{value = #ub.poison}> {foo} : () -> memref<4xf32>
    %7 = "ub.poison"() <{value = #ub.poison}> : () -> i32
    "cf.br"()[^bb1] : () -> ()
  ^bb1:  // pred: ^bb0
    "ub.unreachable"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (i32) -> (), sym_name = "g"}> ({
  ^bb0(%arg0: i32):
    %0 = "builtin.unrealized_conversion_cast"(%arg0) : (i32) -> i64
    %1:2 = "builtin.unrealized_conversion_cast"(%arg0, %0) : (i32, i64) -> (f32, index)
    %2 = "builtin.unrealized_conversion_cast"() : () -> i32
    %3 = "builtin.unrealized_conversion_cast"(%arg0) {foo} : (i32) -> !llvm.ptr
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
