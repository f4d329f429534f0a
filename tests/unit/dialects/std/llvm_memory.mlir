module {
  llvm.func @f(%arg0: !llvm.ptr, %arg1: i32, %arg2: i32) {
    %0 = llvm.load %arg0 : !llvm.ptr -> i32
    %1 = llvm.load volatile %arg0 {alignment = 4 : i64} : !llvm.ptr -> i32
    %2 = llvm.load %arg0 atomic syncscope("") acquire {alignment = 4 : i64} : !llvm.ptr -> i32
    %3 = llvm.load %arg0 atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
    llvm.store %arg1, %arg0 : i32, !llvm.ptr
    llvm.store volatile %arg1, %arg0 : i32, !llvm.ptr
    llvm.store %arg1, %arg0 atomic syncscope("agent") release {alignment = 4 : i64} : i32, !llvm.ptr
    %4 = llvm.atomicrmw xchg %arg0, %arg1 syncscope("") release : !llvm.ptr, i32
    %5 = llvm.atomicrmw add %arg0, %arg1 acq_rel : !llvm.ptr, i32
    %6 = llvm.atomicrmw volatile umax %arg0, %arg1 seq_cst {alignment = 8 : i64} : !llvm.ptr, i32
    %7 = llvm.cmpxchg %arg0, %arg2, %arg1 acq_rel monotonic : !llvm.ptr, i32
    %8 = llvm.cmpxchg weak volatile %arg0, %arg2, %arg1 syncscope("agent") acq_rel acquire {alignment = 4 : i64} : !llvm.ptr, i32
    llvm.fence syncscope("agent") seq_cst
    llvm.fence release
    llvm.return
  }
}

