module {
  func.func private @t(!llvm.ptr, !llvm.ptr<1>, !llvm.array<4 x i32>, !llvm.array<4 x ptr>, !llvm.struct<(i32, ptr)>, !llvm.struct<(ptr, array<4 x struct<(i8, f32)>>)>, !llvm.func<void (i32, ptr)>, !llvm.struct<"named", (i32)>, !llvm.struct<()>, !llvm.array<2 x array<3 x f32>>, !llvm.array<2 x vector<4xf32>>, !llvm.struct<"rec", (ptr, i32)>, !llvm.func<i32 (...)>, !llvm.func<ptr (ptr<2>, struct<(i8)>, ...)>)
}
