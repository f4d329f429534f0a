module {
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.func @mgpuInit(!llvm.ptr, !llvm.ptr, i64, i64)
  llvm.func @noargs()
  llvm.mlir.global internal constant @msg("hello %d\0A\00") {addr_space = 0 : i32}
  llvm.mlir.global internal constant @s2("x\00") {addr_space = 0 : i32}
  llvm.mlir.global external @g(42 : i32) {addr_space = 0 : i32, alignment = 4 : i64} : i32
  llvm.mlir.global private unnamed_addr constant @z() {addr_space = 0 : i32} : i32
  func.func @f(%arg0: !llvm.ptr, %arg1: i64, %arg2: i32, %arg3: f64) -> !llvm.ptr {
    %0 = llvm.mlir.constant(0 : i64) : i64
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.mlir.constant(1.000000e+00 : f32) : f32
    %3 = llvm.mlir.constant(true) : i1
    %4 = llvm.mlir.zero : !llvm.ptr
    %5 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %6 = llvm.insertvalue %arg0, %5[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
    %7 = llvm.insertvalue %0, %6[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
    %8 = llvm.extractvalue %7[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
    %9 = llvm.inttoptr %arg1 : i64 to !llvm.ptr
    %10 = llvm.ptrtoint %arg0 : !llvm.ptr to i64
    %11 = llvm.mlir.addressof @msg : !llvm.ptr
    %12 = llvm.call @printf(%11, %arg2, %arg3) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32, f64) -> i32
    llvm.call @mgpuInit(%arg0, %arg0, %arg1, %arg1) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
    %13 = llvm.getelementptr %arg0[%arg1] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %14 = llvm.getelementptr %arg0[0, %arg1] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x i32>
    %15 = llvm.alloca %1 x f32 : (i32) -> !llvm.ptr
    %16 = llvm.alloca %1 x f32 {alignment = 4 : i64} : (i32) -> !llvm.ptr
    %17 = llvm.mlir.undef : i32
    return %9 : !llvm.ptr
  }
  llvm.func @k(%arg0: !llvm.ptr, %arg1: i32) -> i32 attributes {rocdl.kernel} {
    llvm.return %arg1 : i32
  }
  llvm.func internal @priv(%arg0: i32 {llvm.noundef}) {
    llvm.return
  }
}

