// RUN: tilewright opt --verify-roundtrip %s | filecheck %s
// The copy engine stores boxes of memory of the block, once it may see what lanes have put there.
llvm.func @stores(%from: !llvm.ptr<3>, %map: !llvm.ptr, %x: i32, %mask: i32) {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
  nvvm.bar.warp.sync %mask : i32
  nvvm.cp.async.bulk.tensor.global.shared.cta %map, %from, box[%x, %x] : !llvm.ptr, !llvm.ptr<3>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 1 {read}
  nvvm.cp.async.bulk.wait_group 0
  %one = nvvm.elect.sync -> i1
  %of_some = nvvm.elect.sync %mask -> i1
  llvm.return
}
// CHECK:      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
// CHECK-NEXT: nvvm.bar.warp.sync %arg3 : i32
// CHECK-NEXT: nvvm.cp.async.bulk.tensor.global.shared.cta %arg1, %arg0, box[%arg2, %arg2] : !llvm.ptr, !llvm.ptr<3>
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0
// CHECK-NEXT: %{{.*}} = nvvm.elect.sync -> i1
// CHECK-NEXT: %{{.*}} = nvvm.elect.sync %arg3 -> i1
