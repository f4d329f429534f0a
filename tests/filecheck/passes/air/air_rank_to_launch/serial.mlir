// RUN: tilewright opt --air-rank-to-launch %s | filecheck %s

// One process runs all ranks, the last dimension first; who waits for the ranks waits for nothing any more.
// CHECK-LABEL: func.func @all
// CHECK:      air.wait_all [%arg1]
// CHECK:      scf.for %[[X:.+]] = %{{.+}} to %c2 step
// CHECK:        scf.for %[[Y:.+]] = %{{.+}} to %c3 step
// CHECK-NEXT:     memref.store %c2, %arg0[%[[X]], %[[Y]]]
// CHECK:      %[[ENDED:.+]] = air.wait_all async
// CHECK-NEXT: return %[[ENDED]]
func.func @all(%m: memref<2x3xindex>, %t: !air.async.token) -> !air.async.token {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %ended = air.rank async [%t] (%x, %y) in (%nx=%c2, %ny=%c3) args(%a=%m) : memref<2x3xindex> {
    memref.store %nx, %a[%x, %y] : memref<2x3xindex>
  }
  return %ended : !air.async.token
}
