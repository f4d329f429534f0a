// RUN: tilewright opt --air-opt-shim-dma-bds="device=npu1 empty-tile=auto" %s | filecheck %s
// RUN: tilewright opt --air-shim-explain=device=npu1 --verify-diagnostics %s

// Twelve transfers on one channel whose queue holds four: the host waits for the oldest of them, whose descriptors are
// free then. Only what is waited for issues a token.
// CHECK-LABEL: func.func @too_many
// CHECK-COUNT-4: air.channel.put async @c[]
// CHECK:         air.wait_all [%{{.+}}]
// CHECK:         air.channel.put async @c[]
// CHECK:         air.wait_all [{{.+}}] {air.launch_end}
// CHECK-NOT:     scf.for
func.func @too_many(%a: memref<384xi32>, %b: memref<384xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c6 step %c1 {
    %row = arith.muli %i, %c64 : index
    // expected-remark @+1 {{12 descriptors, at most 4 under way on a channel}}
    air.channel.put @c[] (%a[%row] [%c64] [%c1]) : (memref<384xi32>)
    air.channel.put @c[] (%b[%row] [%c64] [%c1]) : (memref<384xi32>)
  }
  return
}

// What folds needs no waits but the last.
// CHECK-LABEL: func.func @folds
// CHECK:       %[[ALL:.+]] = air.channel.put async @d[] (%arg0[] [] []) {air.await_completion = true}
// CHECK-NEXT:  air.wait_all [%[[ALL]]] {air.launch_end}
func.func @folds(%a: memref<384xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c6 step %c1 {
    %row = arith.muli %i, %c64 : index
    // expected-remark @+1 {{1 descriptors, all fit into queues and descriptors at once}}
    air.channel.put @d[] (%a[%row] [%c64] [%c1]) : (memref<384xi32>)
  }
  return
}

// What one channel has written another one may send only when it is there.
// CHECK-LABEL: func.func @back_again
// CHECK:       %[[IN:.+]] = air.channel.get async @from[] (%arg0[] [] []) {air.await_completion = true}
// CHECK-NEXT:  air.wait_all [%[[IN]]]
// CHECK-NEXT:  %[[OUT:.+]] = air.channel.put async @to[] (%arg0[] [] []) {air.await_completion = true}
// CHECK-NEXT:  air.wait_all [%[[OUT]]] {air.launch_end}
func.func @back_again(%a: memref<384xi32>) {
  // expected-remark @+1 {{2 descriptors}}
  %0 = air.channel.get async @from[] (%a[] [] []) : (memref<384xi32>)
  %1 = air.channel.put async [%0] @to[] (%a[] [] []) : (memref<384xi32>)
  return
}
