"builtin.module"() ({
  "func.func"() <{function_type = (index, index, i64, i1) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: index, %arg1: index, %arg2: i64, %arg3: i1):
    %0 = "index.add"(%arg0, %arg1) : (index, index) -> index
    %1 = "index.sub"(%arg0, %arg1) : (index, index) -> index
    %2 = "index.mul"(%arg0, %arg1) {foo} : (index, index) -> index
    %3 = "index.divs"(%arg0, %arg1) : (index, index) -> index
    %4 = "index.divu"(%arg0, %arg1) : (index, index) -> index
    %5 = "index.ceildivs"(%arg0, %arg1) : (index, index) -> index
    %6 = "index.ceildivu"(%arg0, %arg1) : (index, index) -> index
    %7 = "index.floordivs"(%arg0, %arg1) : (index, index) -> index
    %8 = "index.rems"(%arg0, %arg1) : (index, index) -> index
    %9 = "index.remu"(%arg0, %arg1) : (index, index) -> index
    %10 = "index.maxs"(%arg0, %arg1) : (index, index) -> index
    %11 = "index.maxu"(%arg0, %arg1) : (index, index) -> index
    %12 = "index.mins"(%arg0, %arg1) : (index, index) -> index
    %13 = "index.minu"(%arg0, %arg1) : (index, index) -> index
    %14 = "index.shl"(%arg0, %arg1) : (index, index) -> index
    %15 = "index.shrs"(%arg0, %arg1) : (index, index) -> index
    %16 = "index.shru"(%arg0, %arg1) : (index, index) -> index
    %17 = "index.and"(%arg0, %arg1) : (index, index) -> index
    %18 = "index.or"(%arg0, %arg1) : (index, index) -> index
    %19 = "index.xor"(%arg0, %arg1) : (index, index) -> index
    %20 = "index.casts"(%arg0) : (index) -> i32
    %21 = "index.castu"(%arg2) : (i64) -> index
    %22 = "index.cmp"(%arg0, %arg1) <{pred = #index<cmp_predicate eq>}> : (index, index) -> i1
    %23 = "index.cmp"(%arg0, %arg1) <{pred = #index<cmp_predicate slt>}> {foo} : (index, index) -> i1
    %24 = "index.sizeof"() : () -> index
    %25 = "index.constant"() <{value = 42 : index}> : () -> index
    %26 = "index.constant"() <{value = -1 : index}> {foo} : () -> index
    %27 = "index.bool.constant"() <{value = true}> : () -> i1
    %28 = "index.bool.constant"() <{value = false}> : () -> i1
    %29 = "index.constant"() <{value = 42 : index}> : () -> index
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
