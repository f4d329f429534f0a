// RUN: tilewright opt --air-to-nvvm %s | filecheck %s
// RUN: tilewright opt --air-to-nvvm --air-gpu-outlining %s | filecheck %s --check-prefix=KERNEL

// A launch may say how many neighbours of its grid run together.
// CHECK-LABEL: func.func @pairs
// CHECK:      gpu.launch clusters(%arg14, %arg15, %arg16) in (%arg17 = %c2, %arg18 = %c4, %arg19 = %c1{{(_[0-9]+)?}})
// CHECK-SAME:   blocks(%arg2, %arg3, %arg4) in (%arg8 = %arg0, %arg9 = %arg1, %arg10 = %c1{{(_[0-9]+)?}}) threads(
// KERNEL:     gpu.launch_func @pairs_module::@pairs_module blocks in (%arg0, %arg1, %c1{{.*}}) threads in
// KERNEL:     gpu.func @pairs_module
// KERNEL-SAME:  known_cluster_size = array<i32: 2, 4, 1>
func.func @pairs(%gx: index, %gy: index) {
  air.launch (%bx, %by) in (%nx=%gx, %ny=%gy) attributes {gpu.known_cluster_size = array<i32: 2, 4, 1>} {
    air.segment {
      %c1 = arith.constant 1 : index
      air.herd tile (%x) in (%hx=%c1) { }
    }
  }
  return
}

// CHECK-LABEL:  func.func @alone
// CHECK-NOT:    clusters
// KERNEL-LABEL: gpu.func @alone_module
// KERNEL-NOT:   known_cluster_size
func.func @alone(%gx: index) {
  air.launch (%bx) in (%nx=%gx) { }
  return
}
