// RUN: tilewright opt --verify-roundtrip %s | filecheck %s
// Blocks of a cluster: which of them this is, their barrier, and memory of others.
llvm.func @clusters(%near: !llvm.ptr<3>, %block: i32, %count: i32, %on: i1) -> i32 {
  nvvm.cluster.arrive
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait
  nvvm.cluster.wait {aligned}
  %there = nvvm.mapa %near, %block : !llvm.ptr<3> -> !llvm.ptr<7>
  nvvm.mbarrier.arrive.expect_tx %there, %count, predicate = %on : !llvm.ptr<7>, i32, i1
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  llvm.return %rank : i32
}
// CHECK:      nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.arrive {aligned}
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: nvvm.cluster.wait {aligned}
// CHECK-NEXT: %0 = nvvm.mapa %arg0, %arg1 : !llvm.ptr<3> -> !llvm.ptr<7>
// CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx %0, %arg2, predicate = %arg3 : !llvm.ptr<7>, i32, i1
// CHECK-NEXT: %1 = nvvm.read.ptx.sreg.cluster.ctarank : i32
