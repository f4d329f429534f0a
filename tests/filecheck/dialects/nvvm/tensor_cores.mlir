// RUN: tilewright opt --verify-roundtrip %s | filecheck %s
// What the tensor cores and the copy engine of Hopper GPUs do, written as MLIR writes it.
llvm.func @hopper(%bar: !llvm.ptr<3>, %n: i32, %to: !llvm.ptr<7>, %map: !llvm.ptr, %x: i32, %a: i64, %b: i64, %mask: i16, %on: i1) {
  nvvm.mbarrier.init %bar, %n : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nvvm.mbarrier.arrive.expect_tx %bar, %n : !llvm.ptr<3>, i32
  nvvm.mbarrier.arrive.expect_tx %bar, %n, predicate = %on : !llvm.ptr<3>, i32, i1
  %state = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, box[%x, %x] : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, box[%x, %x, %n] multicast_mask = %mask : !llvm.ptr<7>, !llvm.ptr
  nvvm.mbarrier.try_wait.parity %bar, %n, %n : !llvm.ptr<3>, i32, i32
  nvvm.wgmma.fence.aligned
  %sums = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
  %next = nvvm.wgmma.mma_async %a, %b, %sums, #nvvm.shape<m = 64, n = 8, k = 16>, D [#nvvm.wgmma_type<f32>, #nvvm.wgmma_scale_out<one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 1
  nvvm.setmaxregister  increase 232
  llvm.return
}
// CHECK:      nvvm.mbarrier.init %arg0, %arg1 : !llvm.ptr<3>, i32
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx %arg0, %arg1 : !llvm.ptr<3>, i32
// CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx %arg0, %arg1, predicate = %arg8 : !llvm.ptr<3>, i32, i1
// CHECK-NEXT: %0 = nvvm.mbarrier.arrive %arg0 : !llvm.ptr<3> -> i64
// CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %arg2, %arg3, %arg0, box[%arg4, %arg4] : !llvm.ptr<7>, !llvm.ptr
// CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %arg2, %arg3, %arg0, box[%arg4, %arg4, %arg1] multicast_mask = %arg7 : !llvm.ptr<7>, !llvm.ptr
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %arg0, %arg1, %arg1 : !llvm.ptr<3>, i32, i32
// CHECK-NEXT: nvvm.wgmma.fence.aligned
// CHECK:      nvvm.wgmma.mma_async %arg5, %arg6, %1, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
// CHECK-NEXT: nvvm.wgmma.commit.group.sync.aligned
// CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK-NEXT: nvvm.setmaxregister  increase 232

llvm.func @ampere(%h: vector<2xf16>, %t: i32, %f: f32) {
  %0 = nvvm.mma.sync A[%h, %h, %h, %h]  B[%h, %h]  C[%f, %f, %f, %f]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %1 = nvvm.mma.sync A[%t, %t, %t, %t]  B[%t, %t]  C[%f, %f, %f, %f]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}
// CHECK: nvvm.mma.sync A[%arg0, %arg0, %arg0, %arg0]  B[%arg0, %arg0]  C[%arg2, %arg2, %arg2, %arg2]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
// CHECK: nvvm.mma.sync A[%arg1, %arg1, %arg1, %arg1]  B[%arg1, %arg1]  C[%arg2, %arg2, %arg2, %arg2]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
