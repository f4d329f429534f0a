"builtin.module"() ({
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, function_type = !llvm.func<void (ptr, i32, i32)>, linkage = #llvm.linkage<external>, sym_name = "f", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  ^bb0(%arg0: !llvm.ptr, %arg1: i32, %arg2: i32):
    %0 = "llvm.load"(%arg0) <{ordering = 0 : i64}> : (!llvm.ptr) -> i32
    %1 = "llvm.load"(%arg0) <{alignment = 4 : i64, ordering = 0 : i64, volatile_}> : (!llvm.ptr) -> i32
    %2 = "llvm.load"(%arg0) <{alignment = 4 : i64, ordering = 4 : i64, syncscope = ""}> : (!llvm.ptr) -> i32
    %3 = "llvm.load"(%arg0) <{alignment = 4 : i64, ordering = 2 : i64}> : (!llvm.ptr) -> i32
    "llvm.store"(%arg1, %arg0) <{ordering = 0 : i64}> : (i32, !llvm.ptr) -> ()
    "llvm.store"(%arg1, %arg0) <{ordering = 0 : i64, volatile_}> : (i32, !llvm.ptr) -> ()
    "llvm.store"(%arg1, %arg0) <{alignment = 4 : i64, ordering = 5 : i64, syncscope = "agent"}> : (i32, !llvm.ptr) -> ()
    %4 = "llvm.atomicrmw"(%arg0, %arg1) <{bin_op = 0 : i64, ordering = 5 : i64, syncscope = ""}> : (!llvm.ptr, i32) -> i32
    %5 = "llvm.atomicrmw"(%arg0, %arg1) <{bin_op = 1 : i64, ordering = 6 : i64}> : (!llvm.ptr, i32) -> i32
    %6 = "llvm.atomicrmw"(%arg0, %arg1) <{alignment = 8 : i64, bin_op = 9 : i64, ordering = 7 : i64, volatile_}> : (!llvm.ptr, i32) -> i32
    %7 = "llvm.cmpxchg"(%arg0, %arg2, %arg1) <{failure_ordering = 2 : i64, success_ordering = 6 : i64}> : (!llvm.ptr, i32, i32) -> !llvm.struct<(i32, i1)>
    %8 = "llvm.cmpxchg"(%arg0, %arg2, %arg1) <{alignment = 4 : i64, failure_ordering = 4 : i64, success_ordering = 6 : i64, syncscope = "agent", volatile_, weak}> : (!llvm.ptr, i32, i32) -> !llvm.struct<(i32, i1)>
    "llvm.fence"() <{ordering = 7 : i64, syncscope = "agent"}> : () -> ()
    "llvm.fence"() <{ordering = 5 : i64}> : () -> ()
    "llvm.return"() : () -> ()
  }) : () -> ()
}) : () -> ()

